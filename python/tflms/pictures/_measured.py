# SPDX-License-Identifier: Apache-2.0
"""What the simulated GPU's event log says about one step: memory over time, and the copies.

Takes `MemoryEvent`s, or the dictionaries they are written to files as. Cost: a sort of the events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from tflms._errors import TflmsError
from tflms._simulated_gpu_log import EventKind, MemoryEvent
from tflms.pictures._curve import Step, envelope_over_time
from tflms.pictures._plan import Plan, printable

Event = Union[MemoryEvent, Mapping[str, Any]]
# The log of one step, or several with a label each.
Events = Union[Iterable[Event], Mapping[str, Iterable[Event]]]

_OUT_EDGE = re.compile(r"^edge_\d+_")
_IN_EDGE = re.compile(r"^tflms/swap_in/(.*)/_\d+$")


@dataclass(frozen=True)
class Copy:
    """One copy over the link; times in microseconds from the begin of the log."""

    begin_us: int
    end_us: int
    out: bool  # device to host
    edge: str  # what the log calls it
    size_bytes: int


@dataclass(frozen=True)
class Measured:
    """The log of one step on one device; times from its first event, in order."""

    label: str
    times_us: tuple[int, ...]
    in_use_bytes: tuple[int, ...]
    ops: tuple[str, ...]  # who took or gave back the memory
    copies: tuple[Copy, ...]

    @property
    def end_us(self) -> int:
        """When the last event is over."""
        return max([*self.times_us[-1:], *(c.end_us for c in self.copies), 1])

    @property
    def peak(self) -> int:
        """The event with the most memory in use; only of a log with memory events."""
        return max(range(len(self.in_use_bytes)), key=self.in_use_bytes.__getitem__)

    def steps(self, columns: int) -> list[Step]:
        """The curve of memory in use, maxima kept."""
        return envelope_over_time(self.times_us, self.in_use_bytes, self.end_us, columns)


def measure(events: Events | None, device: int) -> list[Measured]:
    """The logs given, of the device with that number.

    Raises:
        TflmsError: there are events, but none of this device; or an event is not one.
    """
    if events is None:
        return []
    logs = events.items() if isinstance(events, Mapping) else [("measured", events)]
    return [_measure_one(label, [_fields(e) for e in log], device) for label, log in logs]


def _fields(event: Any) -> dict[str, Any]:
    try:
        row = dict(event) if isinstance(event, Mapping) else dict(vars(event))
        kind = row["kind"]
        row["kind"] = EventKind[kind] if isinstance(kind, str) else EventKind(kind)
        for key in ("time_us", "duration_us", "device", "bytes", "in_use_bytes"):
            row[key] = int(row[key])
        row["op"] = printable(str(row["op"]))
    except (KeyError, ValueError, TypeError) as error:
        raise TflmsError(
            f"events: expected what SimulatedGpu.stop_log() returns, found {event!r:.80} ({error})"
        ) from error
    return row


def _measure_one(label: str, rows: list[dict[str, Any]], device: int) -> Measured:
    own = [row for row in rows if row["device"] == device]
    if not own:
        raise TflmsError(
            f"events: the log {label!r} has {len(rows)} events and none of device {device}. Record "
            "a step between start_log() and stop_log(), and choose a graph of the device that ran it."
        )
    start = min(row["time_us"] for row in own)
    memory = [r for r in own if r["kind"] in (EventKind.ALLOCATE, EventKind.FREE)]
    memory.sort(key=lambda row: row["time_us"])  # stable: events of one time keep their order
    copies = [
        Copy(
            row["time_us"] - start,
            row["time_us"] - start + max(0, row["duration_us"]),
            row["kind"] == EventKind.COPY_OUT,
            row["op"],
            row["bytes"],
        )
        for row in own
        if row["kind"] in (EventKind.COPY_OUT, EventKind.COPY_IN)
    ]
    return Measured(
        label=printable(label),
        times_us=tuple(row["time_us"] - start for row in memory),
        in_use_bytes=tuple(row["in_use_bytes"] for row in memory),
        ops=tuple(row["op"] for row in memory),
        copies=tuple(sorted(copies, key=lambda copy: (copy.begin_us, copy.end_us))),
    )


def swapped_nodes(plan: Plan, copies: Iterable[Copy]) -> list[str]:
    """For each copy the node of the plan whose tensor it moves, ``""`` for other copies.

    A copy out is called ``edge_<number>_<node>``, one back ``tflms/swap_in/<node>[_<n>]/_<number>``.
    """
    nodes = {swap.tensor.rpartition(":")[0] for swap in plan.swaps}
    return [_swapped_node(copy, nodes) for copy in copies]


def _swapped_node(copy: Copy, nodes: set[str]) -> str:
    if copy.out:
        name = _OUT_EDGE.sub("", copy.edge)
        return name if name in nodes else ""
    found = _IN_EDGE.match(copy.edge)
    if found is None:
        return ""
    name = found.group(1)
    # The longest node wins: "a/Relu_1" may be a node, or the second way back of "a/Relu".
    return (
        name if name in nodes else next((n for n in (name.rpartition("_")[0],) if n in nodes), "")
    )
