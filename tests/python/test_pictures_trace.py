# SPDX-License-Identifier: Apache-2.0
"""The trace file: valid, sorted, nested, and the same figures as the plan."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from pictures_data import MIB, REAL, by_hand, by_rule, events_by_hand, picture_of
from tflms.pictures import _source, _trace

OPERATIONS = _trace.FIRST_TRACK
Trace = list[dict[str, Any]]


def events_of(picture: _source.Picture) -> Trace:
    parsed: Trace = json.loads(_trace.trace_text(picture))["traceEvents"]
    return parsed


PICTURES = {
    "by hand": lambda: picture_of(by_hand()),
    "measured": lambda: picture_of(by_hand(), {"one": events_by_hand(), "two": events_by_hand()}),
    "real": lambda: _source.from_file(REAL),
    "large": lambda: picture_of(by_rule(2000)),
}


@pytest.fixture(params=PICTURES, scope="module")
def picture(request: pytest.FixtureRequest) -> _source.Picture:
    made: _source.Picture = PICTURES[request.param]()
    return made


def test_sorted_by_time(picture: _source.Picture) -> None:
    events = events_of(picture)
    kinds = [e["ph"] for e in events]
    first = next(i for i, kind in enumerate(kinds) if kind != "M")
    assert "M" not in kinds[first:]  # names first
    times = [e["ts"] for e in events[first:]]
    assert times == sorted(times)
    assert all(isinstance(t, int) and t >= 0 for t in times)


def test_every_track_has_one_name(picture: _source.Picture) -> None:
    events = events_of(picture)
    names = [(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"]
    assert len(names) == len(set(names))
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"} == set(names)
    processes = [e["pid"] for e in events if e["name"] == "process_name"]
    assert len(processes) == len(set(processes)) == 1 + len(picture.measured)


def test_slices_of_a_track_do_not_overlap(picture: _source.Picture) -> None:
    tracks = defaultdict(list)
    for e in events_of(picture):
        if e["ph"] == "X":
            assert e["dur"] >= 0
            tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for spans in tracks.values():
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))


def value_at(events: Trace, name: str, time: int) -> int:
    """What a counter shows: the last value written at or before `time`."""
    values = [e["args"]["bytes"] for e in events if e["name"] == name and e["ts"] <= time]
    return int(values[-1])


def test_counters_equal_the_timeline(picture: _source.Picture) -> None:
    plan = picture.plan
    counters = [e for e in events_of(picture) if e["ph"] == "C" and e["pid"] == 1]
    steps = range(0, len(plan.points), max(1, len(plan.points) // 150))
    for i in {*steps, plan.peak_after, plan.peak_before, len(plan.points) - 1}:
        point, begin = plan.points[i], i * 1000
        assert value_at(counters, "device, with tflms", begin) == point.waiting_bytes
        assert value_at(counters, "device, with tflms", begin + 400) == point.running_bytes
        assert value_at(counters, "device, with tflms", begin + 999) == point.running_bytes
        assert value_at(counters, "device, without swaps", begin + 500) == point.unswapped_bytes
        assert value_at(counters, "host, swapped tensors", begin + 500) == point.host_bytes
        assert value_at(counters, "budget", begin) == plan.budget_bytes
    largest = max(e["args"]["bytes"] for e in counters if e["name"] == "device, with tflms")
    assert largest == max(plan.running)


def test_operations_in_order(picture: _source.Picture) -> None:
    events = [
        e for e in events_of(picture) if e["ph"] == "X" and (e["pid"], e["tid"]) == (1, OPERATIONS)
    ]
    assert [e["name"] for e in events] == [p.node for p in picture.plan.points]
    assert [e["ts"] for e in events] == [i * 1000 + 400 for i in range(len(events))]


def test_arrows_go_from_leaving_to_coming_back(picture: _source.Picture) -> None:
    events = events_of(picture)
    slices = defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            slices[e["pid"], e["tid"], e["ts"]].append(e["name"])
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len([e for e in starts.values() if e["pid"] == 1]) == len(picture.plan.swaps)
    for number, start in starts.items():
        end = ends[number]
        assert end["bp"] == "e"
        assert start["ts"] < end["ts"]
        for e in (start, end):
            assert e["name"] in slices[e["pid"], e["tid"], e["ts"]]


def test_copies_by_hand() -> None:
    events = events_of(picture_of(by_hand()))
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    copies = [
        (tracks[e["tid"]], e["name"], e["ts"], e["ts"] + e["dur"])
        for e in events
        if e["ph"] == "X" and e["tid"] != OPERATIONS
    ]
    assert sorted(copies) == [
        ("copies back", "a/x:0", 3000, 3400),
        ("copies back", "a/x:0", 5000, 5400),
        ("copies back (2)", "b/<y>&:1", 5000, 5400),
        ("copies out", "a/x:0", 1000, 1400),
        ("copies out", "b/<y>&:1", 2000, 3400),
        ("leaving without a copy", "a/x:0", 4000, 4400),
    ]


def test_measured_by_hand() -> None:
    events = [e for e in events_of(picture_of(by_hand(), events_by_hand())) if e["pid"] == 2]
    used = [(e["ts"], e["args"]["bytes"] // MIB) for e in events if e["ph"] == "C"]
    assert used == [(15, 10), (60, 0), (75, 30), (85, 0), (90, 10), (105, 10)]
    copies = [(e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert copies == [("feed", 0, 9), ("a/x", 25, 30), ("a/x", 91, 14)]
    assert [(e["ph"], e["ts"]) for e in events if e["ph"] in "sf"] == [("s", 25), ("f", 91)]
