# SPDX-License-Identifier: Apache-2.0
"""What the simulated GPU tells about itself: its figures, and the events of its log.

The log replays: of one device, `in_use_bytes` of an allocation or free is that of the one before it
plus `bytes`. Cost of decoding: a few dictionary look-ups per event.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable
from typing import Any


@dataclasses.dataclass(frozen=True)
class SimulatedGpuStats:
    """Figures of one simulated device since the start (peaks: since `reset_peak`)."""

    limit_bytes: int
    in_use_bytes: int
    peak_in_use_bytes: int
    largest_allocation_bytes: int
    num_allocations: int
    num_failed_allocations: int
    num_waits: int
    wait_us: int
    scratch_bytes: int
    peak_scratch_bytes: int
    num_scratch_allocations: int
    copied_out_bytes: int
    num_copies_out: int
    copy_out_busy_us: int
    copied_in_bytes: int
    num_copies_in: int
    copy_in_busy_us: int
    same_device_bytes: int
    moved_output_bytes: int
    num_moved_outputs: int


class EventKind(enum.IntEnum):
    """What an event of the log is."""

    ALLOCATE = 0
    FREE = 1
    COPY_OUT = 2
    COPY_IN = 3
    SCRATCH = 4
    SCRATCH_FREE = 5
    MOVE = 6
    COMPUTE = 7


@dataclasses.dataclass(frozen=True)
class MemoryEvent:
    """One event of the log.

    `bytes` is positive for what is taken, negative for what is given back, and the bytes moved of a
    copy. `in_use_bytes` is the device's memory in use after the event. `offset` is where in the
    device's memory, -1 outside it. `op` is the operation that took the memory, or the copied edge;
    for a free it is the operation that had taken it, where the log saw that. `time_us` counts from the
    start of the log; of a copy or a kernel's run it is the begin, below 0 when it was under way by
    then. A kernel's `duration_us` is without the time it waited for memory; `op_type` is its type,
    `""` for other events.
    """

    time_us: int
    duration_us: int
    kind: EventKind
    device: int
    op: str
    bytes: int
    requested_bytes: int
    offset: int
    in_use_bytes: int
    op_type: str = ""


def decode_events(raw: Iterable[Any], name_of: Callable[[int], str]) -> list[MemoryEvent]:
    """The events, in order, with the operations' names.

    Args:
      raw: events as the library lays them out, with a number in place of the name.
      name_of: the name with that number; asked once for each.
    """
    names: dict[int, str] = {}
    # By device and offset, of what is taken at the moment: who took it, and by which event.
    owners: dict[tuple[int, int], str] = {}
    taken: dict[tuple[int, int], int] = {}
    events: list[MemoryEvent] = []
    for event in raw:
        for index in (event.name, event.op_type):
            if index not in names:
                names[index] = name_of(index) if index >= 0 else ""
        op = names[event.name]
        place = (event.device, event.offset)
        if event.kind == EventKind.ALLOCATE:
            owners[place] = op
            taken[place] = len(events)
        elif event.kind == EventKind.FREE:
            op = owners.pop(place, "")
        elif event.kind == EventKind.COPY_IN and place in owners:
            # Memory for a received value is taken before its receiver is known to the allocator.
            owners[place] = op
            events[taken[place]] = dataclasses.replace(events[taken[place]], op=op)
        events.append(_event(event, op, names[event.op_type]))
    return events


def _event(raw: Any, op: str, op_type: str) -> MemoryEvent:
    return MemoryEvent(
        time_us=raw.time_us,
        duration_us=raw.duration_us,
        kind=EventKind(raw.kind),
        device=raw.device,
        op=op,
        bytes=raw.bytes,
        requested_bytes=raw.requested_bytes,
        offset=raw.offset,
        in_use_bytes=raw.in_use_bytes,
        op_type=op_type,
    )
