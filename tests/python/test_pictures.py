# SPDX-License-Identifier: Apache-2.0
"""What pictures are made from: plans read and checked, the plan that is picked, curves, the command."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pictures_data import (
    GPU,
    MIB,
    REAL,
    by_hand,
    by_rule,
    event,
    events_by_hand,
    plan_of,
    write_plans,
)
from tflms import Report, TflmsError
from tflms.pictures import _curve, _measured, _source, _style
from tflms.pictures._plan import parse_plans, read_plans


def test_plan_by_hand() -> None:
    plan = plan_of(by_hand())
    assert plan.title == "step on GPU:0"
    assert (plan.peak_before, plan.unswapped[2]) == (2, 150 * MIB)
    assert (plan.peak_after, plan.running[3]) == (3, 130 * MIB)
    # Only the first stay of a tensor has a copy out.
    assert [swap.copied for swap in plan.swaps] == [True, False, True]
    first, second, third = (plan.span(swap) for swap in plan.swaps)
    assert (first.begin, first.out_end, first.in_begin, first.end) == (1, 1.4, 3, 3.4)
    assert (second.begin, second.out_end, second.in_begin, second.end) == (4, 4, 5, 5.4)
    assert (third.begin, third.out_end, third.in_begin, third.end) == (2, 3.4, 5, 5.4)


def test_spans_are_in_order_whatever_is_unknown() -> None:
    for seed in range(300):
        rand = random.Random(seed)
        row = by_hand()
        for swap in row["swaps"]:
            for key in ("leave_after", "sync", "trigger", "back_for"):
                swap[key] = rand.randint(-1, 5)
        plan = plan_of(row)
        for swap in plan.swaps:
            span = plan.span(swap)
            assert 0 <= span.begin <= span.out_end <= span.in_begin <= span.end <= 6


def test_real_plan() -> None:
    (plan,) = read_plans(REAL)
    rows = json.loads(REAL.read_text())[0]
    assert [p.node for p in plan.points] == [row["node"] for row in rows["timeline"]]
    picture = _source.from_file(REAL)
    assert picture.report is not None
    assert picture.report.peak_bytes_after == plan.running[plan.peak_after]
    assert picture.report.host_peak_bytes == max(plan.host)
    assert picture.report.swap_out_bytes == sum(s.size_bytes for s in plan.swaps if s.copied)
    assert picture.report.swap_in_bytes == sum(s.size_bytes for s in plan.swaps)


def _broken(change: Any) -> dict[str, Any]:
    row = by_hand()
    change(row)
    return row


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("timeline"), "timeline is missing"),
        (lambda r: r.update(swaps={}), "swaps: expected a list, found {}"),
        (lambda r: r.update(graph=3), "graph: expected a text, found 3"),
        (
            lambda r: r["timeline"][1].update(running_bytes="1"),
            r"timeline\[1\].running_bytes: expected a whole",
        ),
        (
            lambda r: r["timeline"][1].update(host_bytes=-1),
            r"timeline\[1\].host_bytes: .* found -1",
        ),
        (lambda r: r["timeline"].__setitem__(2, 7), r"timeline\[2\]: expected an object, found 7"),
        (
            lambda r: r["swaps"][0].update(back_for=6),
            r"swaps\[0\].back_for: .* from -1 to 5, found 6",
        ),
        (lambda r: r["swaps"][2].pop("tensor"), r"swaps\[2\].tensor is missing"),
        (lambda r: r["swaps"][2].update(sync=True), r"swaps\[2\].sync: .* found True"),
    ],
)
def test_wrong_plans_are_refused(change: Any, message: str) -> None:
    with pytest.raises(TflmsError, match=message):
        parse_plans([_broken(change)], "file")


def test_files_that_are_no_plans(tmp_path: Path) -> None:
    path = tmp_path / "x.plan.json"
    with pytest.raises(TflmsError, match="cannot be read"):
        read_plans(path)
    path.write_text("{")
    with pytest.raises(TflmsError, match="expected JSON"):
        read_plans(path)
    path.write_text("3")
    with pytest.raises(TflmsError, match="expected a plan or a list of plans, found int"):
        read_plans(path)


def test_names_become_printable() -> None:
    plan = plan_of(_broken(lambda r: r["timeline"][0].update(node="a\x00\ud800b")))
    assert plan.points[0].node == "a\ufffd\ufffdb"


def _plan(graph: str, device: str = GPU, scale: int = 1) -> Any:
    row = by_hand()
    row.update(graph=graph, device=device)
    for point in row["timeline"]:
        point["unswapped_bytes"] *= scale
    return plan_of(row)


def test_which_plan_is_drawn() -> None:
    other_gpu = GPU[:-1] + "1"
    plans = [_plan("small"), _plan("step", scale=2), _plan("step", other_gpu), _plan("late")]
    assert _source.pick_plan(plans, None, None) is plans[1]
    assert _source.pick_plan(plans, "late", None) is plans[3]
    assert _source.pick_plan(plans, "step", "GPU:1") is plans[2]
    assert _source.pick_plan(plans, None, other_gpu) is plans[2]
    # Of equals the last one.
    assert _source.pick_plan([plans[0], plans[3]], None, None) is plans[3]
    with pytest.raises(
        TflmsError, match=r"no plan of nought is kept.*small on GPU:0, step on GPU:0"
    ):
        _source.pick_plan(plans, "nought", None)


def test_report_that_goes_with_a_plan() -> None:
    plan = _plan("step")
    peak = plan.running[plan.peak_after]

    def report(graph: str, outcome: str, bytes_after: int) -> Report:
        return Report(graph=graph, outcome=outcome, device=GPU, peak_bytes_after=bytes_after)

    wanted = report("step", "rewritten", peak)
    others = [
        report("other", "rewritten", peak),
        report("step", "declined", peak),
        report("step", "rewritten", 1),
    ]
    assert _source.make_picture([plan], [wanted, *others], None, None, None).report is wanted
    assert _source.make_picture([plan], others[:2], None, None, None).report is None


class _FakeLibrary:
    """Stands in for the plugin."""

    def __init__(self, plans: list[Any]) -> None:
        self._plans = plans

    def plans(self) -> list[Any]:
        return self._plans


@pytest.mark.parametrize("write", ["plot", "write_html", "write_trace"])
def test_nothing_rewritten_says_why(
    write: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tflms

    if write == "plot":
        pytest.importorskip("matplotlib")
    reason = "the predicted peak is within the budget"
    reports = [Report(graph="main", outcome="not-needed", reason=reason)]
    monkeypatch.setattr(_source, "library", lambda: _FakeLibrary([]))
    monkeypatch.setattr(_source, "report", lambda history: reports)
    out = tmp_path / "x.png"
    with pytest.raises(TflmsError, match=f"no graph was rewritten.*main: not-needed: {reason}"):
        getattr(tflms, write)(out)
    reports.clear()
    with pytest.raises(TflmsError, match=r"no graph was rewritten.*seen no graph"):
        getattr(tflms, write)(out)
    assert not out.exists()


def test_a_plan_without_operations_is_of_a_graph_left_alone(tmp_path: Path) -> None:
    path = write_plans(tmp_path / "a.plan.json", _broken(lambda r: r.update(timeline=[], swaps=[])))
    with pytest.raises(TflmsError, match="no graph was rewritten"):
        _source.from_file(path)
    (tmp_path / "a.report.json").write_text(
        '[{"graph": "g", "outcome": "nothing-to-swap", "reason": "all are small"}]'
    )
    with pytest.raises(TflmsError, match="g: nothing-to-swap: all are small"):
        _source.from_file(path)


# ---- curves -------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 1000, 12345])
def test_envelope_keeps_maxima(count: int) -> None:
    rand = random.Random(count)
    values = [rand.randint(0, 1000) for _ in range(count)]
    steps = _curve.envelope(values, 100)
    assert len(steps) == min(count, 100)
    assert (steps[0].begin, steps[-1].end) == (0, count)
    for step in steps:
        assert step.value == max(values[int(step.begin) : int(step.end)])
    assert all(a.end == b.begin for a, b in zip(steps, steps[1:]))


def test_envelope_over_time_keeps_maxima() -> None:
    rand = random.Random(5)
    times = sorted(rand.randint(0, 10_000) for _ in range(3000))
    values = [rand.randint(0, 1000) for _ in times]
    end = 10_100
    steps = _curve.envelope_over_time(times, values, end, 64)
    assert len(steps) <= 64
    assert max(s.value for s in steps) == max(values)
    for begin, until, value in zip(times, [*times[1:], end], values):
        middle = (begin + until) / 2
        (step,) = [s for s in steps if s.begin <= middle < s.end]
        assert step.value >= value


def test_axes() -> None:
    axis = _curve.byte_axis(300 * MIB, headroom=1.0)
    assert (axis.unit, [label for _, label in axis.ticks]) == ("MiB", ["0", "100", "200", "300"])
    axis = _curve.byte_axis(2 << 30, headroom=1.0)
    assert (axis.unit, [label for _, label in axis.ticks][:3]) == ("GiB", ["0.0", "0.5", "1.0"])
    assert _curve.byte_axis(0).ticks[0] == (0, "0")
    assert _curve.count_ticks(0, 100) == list(range(0, 101, 10))
    assert _curve.count_ticks(3.5, 7.2) == [4, 5, 6, 7]


def test_shorten() -> None:
    assert _curve.shorten("a/b", 10) == "a/b"
    assert _curve.shorten("first/second/third", 14) == "…/second/third"
    assert len(_curve.shorten("x" * 99, 14)) == 14


def test_rows_never_overlap() -> None:
    rand = random.Random(2)
    spans = [(b, b + rand.random() * 30) for b in (rand.random() * 100 for _ in range(400))]
    rows = _curve.pack_rows(spans, 0.5)
    for row in set(rows):
        own = sorted(s for s, r in zip(spans, rows) if r == row)
        assert all(a[1] + 0.5 <= b[0] for a, b in zip(own, own[1:]))


def test_the_largest_swaps_are_drawn() -> None:
    plan = plan_of(by_rule(3000))
    bars = _style.lay_out_bars(plan)
    assert bars.rows <= _style.MOST_ROWS
    assert len(bars.bars) + bars.hidden == len(plan.swaps)
    assert bars.hidden > 0
    drawn = {bar.number for bar in bars.bars}
    least = min(bar.swap.size_bytes for bar in bars.bars)
    assert all(s.size_bytes <= least for i, s in enumerate(plan.swaps) if i not in drawn)
    few = _style.lay_out_bars(plan_of(by_hand()))
    assert (len(few.bars), few.hidden) == (3, 0)


# ---- measured -----------------------------------------------------------------------------------


def test_measured_log() -> None:
    (log,) = _measured.measure(events_by_hand(), 0)
    assert log.times_us == (15, 60, 75, 85, 90)  # from the first event, a copy that began at -5
    assert (log.in_use_bytes[log.peak], log.ops[log.peak]) == (30 * MIB, "large")
    assert log.end_us == 105
    assert [(c.begin_us, c.end_us, c.out) for c in log.copies] == [
        (0, 9, False),
        (25, 55, True),
        (91, 105, False),
    ]
    assert _measured.swapped_nodes(plan_of(by_hand()), log.copies) == ["", "a/x", "a/x"]


def test_events_of_the_simulated_gpu_are_taken_as_they_are() -> None:
    from tflms import EventKind, MemoryEvent

    row = event(1, "ALLOCATE", 5, 5)
    as_object = MemoryEvent(**{**row, "kind": EventKind.ALLOCATE})
    assert _measured.measure([as_object], 0) == _measured.measure([row], 0)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "'measured' has 0 events and none of device 0"),
        ([event(0, "FREE", 1, 1, device=1)], "has 1 events and none of device 0"),
        ([{"time_us": 1}], "expected what SimulatedGpu.stop_log"),
        ([event(0, "NOTHING", 1, 1)], "expected what SimulatedGpu.stop_log"),
        ([5], "expected what SimulatedGpu.stop_log"),
    ],
)
def test_events_that_cannot_be_drawn(events: Any, message: str) -> None:
    with pytest.raises(TflmsError, match=message):
        _measured.measure(events, 0)


# ---- the command --------------------------------------------------------------------------------


def _command(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tflms.pictures", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command(tmp_path: Path) -> None:
    events = tmp_path / "events.json"
    events.write_text(json.dumps(events_by_hand()))
    page, trace = tmp_path / "a.html", tmp_path / "a.json"
    result = _command(REAL, "-o", page, "-o", trace, "--events", f"a run={events}")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert "a run: peak 30.0 MiB at large" in page.read_text(encoding="utf-8")
    assert json.loads(trace.read_text(encoding="utf-8"))["otherData"]["graph"] == "graph 2"


def test_command_errors(tmp_path: Path) -> None:
    result = _command(tmp_path / "none.json", "-o", tmp_path / "a.html")
    assert result.returncode == 1
    assert result.stderr.startswith("tflms.pictures: ")
    assert "cannot be read" in result.stderr and "Traceback" not in result.stderr
    result = _command(REAL, "-o", tmp_path / "a.gif")
    assert result.returncode == 2
    assert "expected a name that ends in .html, .json, .png, .svg" in result.stderr
    result = _command(REAL, "-o", tmp_path / "a.html", "--graph", "other")
    assert (result.returncode, "Kept are: graph 2 on GPU:0" in result.stderr) == (1, True)
    result = _command(REAL, "-o", tmp_path / "no" / "a.html")
    assert (result.returncode, "Traceback" in result.stderr) == (1, False)
