# SPDX-License-Identifier: Apache-2.0
"""The plan as a trace in Chrome's JSON format, which Perfetto and chrome://tracing open.

A plan has places, not times: operation i has the millisecond [i, i + 1), of which it waits for copies
in the first 0.4 and runs in the rest. So counters show `waiting_bytes` at i and `running_bytes` at
i + 0.4. Measured logs keep their own time, in a process of their own.

Events are sorted by time. Slices of one track never overlap: copies that do are spread over as many
tracks as they need. O(events log events).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tflms.pictures._curve import pack_rows
from tflms.pictures._measured import Copy, Measured, swapped_nodes
from tflms.pictures._plan import WAIT, Plan, Swap
from tflms.pictures._source import Picture

Event = dict[str, Any]

OP_US = 1000
WAIT_US = round(WAIT * OP_US)
PLAN_PROCESS = 1
FIRST_TRACK = 101  # a track with its process's number would be shown as "main thread"
WITH, WITHOUT, ON_HOST = "device, with tflms", "device, without swaps", "host, swapped tensors"
IN_USE = "device, in use"


def trace_text(picture: Picture) -> str:
    """The trace as JSON."""
    return json.dumps(trace(picture), separators=(",", ":"), ensure_ascii=False) + "\n"


def trace(picture: Picture) -> dict[str, Any]:
    """The trace: ``traceEvents`` with names first, then all else by time."""
    plan = picture.plan
    named = _Tracks()
    events = [*_operations(plan, named), *_counters(plan), *_swaps(plan, named)]
    for number, log in enumerate(picture.measured):
        events += _measured(log, plan, PLAN_PROCESS + 1 + number, named)
    # At one time: the end of a flow after the slice it ends at, an outer slice before an inner one.
    events.sort(key=lambda e: (e["ts"], e["ph"] in "sf", -e.get("dur", 0)))
    return {
        "traceEvents": [*named.events, *events],
        "displayTimeUnit": "ms",
        "otherData": {
            "graph": plan.graph,
            "device": plan.device,
            "time": "predicted: 1 ms for each operation, in the planned order, of which the first "
            "0.4 ms wait for copies; measured: as it was",
        },
    }


class _Tracks:
    """Names of processes and of their tracks, which are numbered as they come."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._last: dict[int, int] = {}

    def process(self, pid: int, name: str) -> None:
        self._add("process_name", pid, 0, {"name": name})
        self._add("process_sort_index", pid, 0, {"sort_index": pid})

    def track(self, pid: int, name: str) -> int:
        tid = self._last[pid] = self._last.get(pid, FIRST_TRACK - 1) + 1
        self._add("thread_name", pid, tid, {"name": name})
        self._add("thread_sort_index", pid, tid, {"sort_index": tid})
        return tid

    def _add(self, what: str, pid: int, tid: int, args: Event) -> None:
        self.events.append({"name": what, "ph": "M", "pid": pid, "tid": tid, "args": args})


def _slice(name: str, pid: int, tid: int, begin: int, end: int, args: Event) -> Event:
    return {
        "name": name,
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "ts": begin,
        "dur": end - begin,
        "args": args,
    }


def _flow(number: int, name: str, pid: int, leaving: Event, coming: Event) -> list[Event]:
    """An arrow from one slice to another."""
    common = {"name": name, "cat": "swap", "id": number, "pid": pid}
    return [
        {**common, "ph": "s", "tid": leaving["tid"], "ts": leaving["ts"]},
        {**common, "ph": "f", "bp": "e", "tid": coming["tid"], "ts": coming["ts"]},
    ]


def _operations(plan: Plan, named: _Tracks) -> Iterable[Event]:
    named.process(PLAN_PROCESS, f"plan: {plan.title}")
    track = named.track(PLAN_PROCESS, "operations")
    for i, point in enumerate(plan.points):
        args = {
            "place": i,
            "waiting_bytes": point.waiting_bytes,
            "running_bytes": point.running_bytes,
            "unswapped_bytes": point.unswapped_bytes,
            "host_bytes": point.host_bytes,
        }
        begin, end = i * OP_US + WAIT_US, (i + 1) * OP_US
        yield _slice(point.node, PLAN_PROCESS, track, begin, end, args)


def _counters(plan: Plan) -> Iterable[Event]:
    """Memory over the step; a value is written where it changes, and at the end."""
    end = len(plan.points) * OP_US
    with_tflms = []
    for i, point in enumerate(plan.points):
        with_tflms.append((i * OP_US, point.waiting_bytes))
        with_tflms.append((i * OP_US + WAIT_US, point.running_bytes))
    yield from _counter(WITH, PLAN_PROCESS, with_tflms, end)
    for name, values in (
        (WITHOUT, plan.unswapped),
        (ON_HOST, plan.host),
    ):
        yield from _counter(name, PLAN_PROCESS, [(i * OP_US, v) for i, v in enumerate(values)], end)
    if plan.budget_bytes:
        yield from _counter("budget", PLAN_PROCESS, [(0, plan.budget_bytes)], end)


def _counter(name: str, pid: int, values: Sequence[tuple[int, int]], end: int) -> Iterable[Event]:
    last = None
    for at, value in [*values, (end, values[-1][1])]:
        if value != last or at == end:
            yield {
                "name": name,
                "ph": "C",
                "pid": pid,
                "tid": 0,
                "ts": at,
                "args": {"bytes": value},
            }
        last = value


def _swaps(plan: Plan, named: _Tracks) -> Iterable[Event]:
    """Per swap: its way out, its way back, and an arrow between them."""
    leaving: list[Event] = []
    coming: list[Event] = []
    for swap in plan.swaps:
        span = plan.span(swap)
        begin, back = round(span.begin * OP_US), round(span.in_begin * OP_US)
        # A stay without a copy out is shown as long as the wait it begins in.
        out_end = max(round(span.out_end * OP_US), min(begin + WAIT_US, back))
        end = round(span.end * OP_US)
        args = _swap_args(plan, swap)
        leaving.append(_slice(swap.tensor, PLAN_PROCESS, 0, begin, out_end, args))
        coming.append(_slice(swap.tensor, PLAN_PROCESS, 0, back, end, args))
    copied = [e for e, swap in zip(leaving, plan.swaps) if swap.copied]
    dropped = [e for e, swap in zip(leaving, plan.swaps) if not swap.copied]
    _spread(copied, "copies out", PLAN_PROCESS, named)
    _spread(dropped, "leaving without a copy", PLAN_PROCESS, named)
    _spread(coming, "copies back", PLAN_PROCESS, named)
    for number, (out, back_in) in enumerate(zip(leaving, coming)):
        yield from (out, back_in)
        yield from _flow(number + 1, out["name"], PLAN_PROCESS, out, back_in)


def _swap_args(plan: Plan, swap: Swap) -> Event:
    def op(place: int) -> str:
        return plan.points[place].node if place >= 0 else ""

    return {
        "size_bytes": swap.size_bytes,
        "copied_out": swap.copied,
        "leaves_after": op(swap.leave_after),
        "waited_for_by": op(swap.sync),
        "starts_back_after": op(swap.trigger),
        "back_for": op(swap.back_for),
    }


def _spread(slices: Sequence[Event], name: str, pid: int, named: _Tracks) -> None:
    """Gives the slices as many tracks as it takes that none overlap."""
    rows = pack_rows([(e["ts"], e["ts"] + e["dur"]) for e in slices], 0)
    tracks = [
        named.track(pid, name if row == 0 else f"{name} ({row + 1})")
        for row in range(max(rows, default=-1) + 1)
    ]
    for event, row in zip(slices, rows):
        event["tid"] = tracks[row]


def _measured(log: Measured, plan: Plan, pid: int, named: _Tracks) -> Iterable[Event]:
    """Memory in use and copies as they were; arrows where a copy back is of a tensor that left."""
    named.process(pid, f"{log.label}: {plan.title}")
    if log.times_us:
        values = list(zip(log.times_us, log.in_use_bytes))
        yield from _counter(IN_USE, pid, values, log.end_us)
    nodes = swapped_nodes(plan, log.copies)
    slices = [_copy_slice(copy, node, pid) for copy, node in zip(log.copies, nodes)]
    for out, name in ((True, "copies out"), (False, "copies back")):
        _spread([e for e, c in zip(slices, log.copies) if c.out == out], name, pid, named)
    yield from slices
    left: dict[str, Event] = {}
    number = pid * 1_000_000  # ids of arrows are the trace's, not the process's
    for copy, node, event in zip(log.copies, nodes, slices):
        if node and copy.out:
            left[node] = event
        elif node in left:
            number += 1
            yield from _flow(number, node, pid, left[node], event)


def _copy_slice(copy: Copy, node: str, pid: int) -> Event:
    args = {"size_bytes": copy.size_bytes, "edge": copy.edge}
    return _slice(node or copy.edge, pid, 0, copy.begin_us, copy.end_us, args)
