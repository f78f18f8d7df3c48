# SPDX-License-Identifier: Apache-2.0
"""A plan as the plugin writes it: memory at each operation of the planned order, and every swap.

Read from JSON (`PlanToJson` of include/tflms/report.h) with every field checked, so that what draws
it may trust it. Operation i fills [i, i + 1) of the horizontal axis; its first part is the wait for
copies, see WAIT. Cost: one pass over the plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tflms._errors import TflmsError

# The part of an operation's place in which it waits for copies to land; it runs in the rest.
WAIT = 0.4

# What no XML and no UTF-8 text may hold.
_NOT_TEXT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Point:
    """Predicted memory at one operation; see `TimelinePoint` of report.h."""

    node: str
    waiting_bytes: int
    running_bytes: int
    unswapped_bytes: int
    host_bytes: int


@dataclass(frozen=True)
class Swap:
    """One stay of a tensor on the host; operations by their place in the timeline, -1 = none.

    `copied` is False for a later stay of a tensor that the host has a copy of: it leaves at once.
    """

    tensor: str
    size_bytes: int
    leave_after: int
    sync: int
    trigger: int
    back_for: int
    copied: bool


@dataclass(frozen=True)
class Span:
    """When a swap's tensor is on its way out, away, and on its way back, in operations.

    begin <= out_end <= in_begin <= end; it is on its way out until out_end at the latest, and on
    its way back from in_begin.
    """

    begin: float
    out_end: float
    in_begin: float
    end: float


@dataclass(frozen=True)
class Plan:
    """The plan of one graph on one device; never empty."""

    graph: str
    device: str
    budget_bytes: int  # 0 = not known
    persistent_bytes: int
    points: tuple[Point, ...]
    swaps: tuple[Swap, ...]

    @property
    def running(self) -> list[int]:
        return [p.running_bytes for p in self.points]

    @property
    def unswapped(self) -> list[int]:
        return [p.unswapped_bytes for p in self.points]

    @property
    def host(self) -> list[int]:
        return [p.host_bytes for p in self.points]

    @property
    def peak_after(self) -> int:
        """Where the peak with swaps is, the first of equals."""
        return _first_largest(self.running)

    @property
    def peak_before(self) -> int:
        """Where the peak without swaps is, the first of equals."""
        return _first_largest(self.unswapped)

    @property
    def title(self) -> str:
        """Graph and device in short, e.g. ``"graph 2 on GPU:0"``."""
        return f"{self.graph or 'graph'} on {short_device(self.device)}"

    def span(self, swap: Swap) -> Span:
        """Where the swap lies on the horizontal axis."""
        end = swap.back_for + WAIT if swap.back_for >= 0 else float(len(self.points))
        begin = min(float(swap.leave_after + 1), end)
        out_end = begin
        if swap.copied:
            out_end = min(max(begin, swap.sync) + WAIT, end)
        in_begin = swap.trigger + 1.0 if swap.trigger >= 0 else end - WAIT
        return Span(begin, out_end, min(max(in_begin, out_end), end), end)


def short_device(device: str) -> str:
    """``"/job:localhost/replica:0/task:0/device:GPU:0"`` -> ``"GPU:0"``."""
    return device.rsplit("device:", 1)[-1] or "the device"


def device_number(device: str) -> int:
    """The number at the end of a device's name; 0 when there is none."""
    found = re.search(r":(\d+)$", device)
    return int(found.group(1)) if found else 0


def printable(text: str) -> str:
    """The text, with a replacement for what neither XML nor UTF-8 can hold."""
    return _NOT_TEXT.sub("\ufffd", text)


def parse_plan(row: Any, where: str = "plan") -> Plan | None:
    """The plan in a JSON object; None for that of a graph that was left as it came.

    Raises:
        TflmsError: something is missing or wrong; the message says where, and what was expected.
    """
    reader = Reader(where)
    row = reader.mapping(row, "")
    points = tuple(
        Point(
            node=reader.text(entry, "node", place),
            waiting_bytes=reader.size(entry, "waiting_bytes", place),
            running_bytes=reader.size(entry, "running_bytes", place),
            unswapped_bytes=reader.size(entry, "unswapped_bytes", place),
            host_bytes=reader.size(entry, "host_bytes", place),
        )
        for place, entry in reader.rows(row, "timeline")
    )
    swaps = [_parse_swap(reader, place, e, len(points)) for place, e in reader.rows(row, "swaps")]
    if not points:
        return None
    return Plan(
        graph=reader.text(row, "graph", ""),
        device=reader.text(row, "device", ""),
        budget_bytes=reader.size(row, "budget_bytes", ""),
        persistent_bytes=reader.size(row, "persistent_bytes", ""),
        points=points,
        swaps=_mark_copied(swaps),
    )


def parse_plans(rows: Any, where: str = "plans") -> list[Plan]:
    """The plans in a JSON list, or in one object; those of graphs left as they came are dropped."""
    if isinstance(rows, Mapping):
        rows = rows["pictures"] if "format" in rows and "pictures" in rows else [rows]
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise TflmsError(
            f"{where}: expected a plan or a list of plans, found {type(rows).__name__}. Plans are "
            "the files *.plan.json that the option dump_dir writes."
        )
    plans = [parse_plan(row, f"{where}[{i}]") for i, row in enumerate(rows)]
    return [plan for plan in plans if plan is not None]


def read_plans(path: str | Path) -> list[Plan]:
    """The plans in a file; see `parse_plans`.

    Raises:
        TflmsError: it cannot be read or holds something else.
    """
    return parse_plans(read_json(path), str(path))


def read_json(path: str | Path) -> Any:
    """What the file holds.

    Raises:
        TflmsError: it cannot be read, or is no JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise TflmsError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise TflmsError(f"{path}: expected JSON: {error}") from error


def _first_largest(values: Sequence[int]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def _parse_swap(reader: Reader, place: str, entry: Mapping[str, Any], ops: int) -> Swap:
    at = {
        key: reader.whole(entry, key, place, -1, ops - 1)
        for key in ("leave_after", "sync", "trigger", "back_for")
    }
    return Swap(
        tensor=reader.text(entry, "tensor", place),
        size_bytes=reader.size(entry, "size_bytes", place),
        copied=True,
        **at,
    )


def _mark_copied(swaps: list[Swap]) -> tuple[Swap, ...]:
    """Only the first stay of a tensor needs a copy out."""
    first: dict[str, Swap] = {}
    for swap in swaps:
        seen = first.setdefault(swap.tensor, swap)
        if swap.leave_after < seen.leave_after:
            first[swap.tensor] = swap
    return tuple(Swap(**{**vars(swap), "copied": first[swap.tensor] is swap}) for swap in swaps)


_WHAT = (
    "Plans are the files *.plan.json that the option dump_dir writes, and those of `tflms plan -o`; "
    "those of tflms.save_plan() have nothing to draw."
)


class Reader:
    """Checked access to the fields of parsed JSON; errors name file, place and field."""

    def __init__(self, where: str, what: str = _WHAT) -> None:
        self.where = where
        self.what = what

    def mapping(self, value: Any, place: str) -> Mapping[str, Any]:
        if isinstance(value, Mapping):
            return value
        raise self.error(place, "an object", value)

    def field(self, row: Mapping[str, Any], key: str, place: str) -> Any:
        if key in row:
            return row[key]
        raise TflmsError(f"{self.where}: {place}{key} is missing. {self.what}")

    def rows(self, row: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
        value = self.field(row, key, "")
        if not isinstance(value, list):
            raise self.error(key, "a list", value)
        return [
            (f"{key}[{i}].", self.mapping(entry, f"{key}[{i}]")) for i, entry in enumerate(value)
        ]

    def text(self, row: Mapping[str, Any], key: str, place: str) -> str:
        value = self.field(row, key, place)
        if isinstance(value, str):
            return printable(value)
        raise self.error(place + key, "a text", value)

    def truth(self, row: Mapping[str, Any], key: str, place: str) -> bool:
        value = self.field(row, key, place)
        if isinstance(value, bool):
            return value
        raise self.error(place + key, "true or false", value)

    def size(self, row: Mapping[str, Any], key: str, place: str) -> int:
        return self.whole(row, key, place, 0, 1 << 63)

    def whole(self, row: Mapping[str, Any], key: str, place: str, low: int, high: int) -> int:
        value = self.field(row, key, place)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise self.error(place + key, f"a whole number from {low} to {high}", value)

    def error(self, place: str, expected: str, found: Any) -> TflmsError:
        return TflmsError(
            f"{self.where}: {place or 'the plan'}: expected {expected}, found {found!r:.60}"
        )
