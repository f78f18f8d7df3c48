# SPDX-License-Identifier: Apache-2.0
"""Plan files, choices and curves of the command, and their pictures. No TensorFlow in here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from test_cli import SMALL, ok, run, small
from tflms import TflmsError
from tflms.pictures import __main__ as command
from tflms.pictures import _budget
from tflms.pictures._plan import read_plans

__all__ = ["small"]  # a fixture
BUDGET = ("--budget-bytes", "3.8MiB")


@pytest.fixture
def plan(small: Path, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    ok("plan", small, *BUDGET, "-o", path)
    return path


def test_a_plan_file_is_used_whatever_the_planner_would_do(
    small: Path, plan: Path, tmp_path: Path
) -> None:
    ok("rewrite", small, *BUDGET, "-o", tmp_path / "planned.txt")
    said = ok(
        "rewrite", small, *BUDGET, "--n-tensors", "0", "--plan", plan, "-o", tmp_path / "b.txt"
    )
    assert "  planned               from the file\n" in said
    assert (tmp_path / "b.txt").read_text() == (tmp_path / "planned.txt").read_text()
    simulated = ok("simulate", small, *BUDGET, "--plan", plan)
    assert "  planned               from the file\n" in simulated


def test_an_edited_plan_is_used_as_it_is_now(small: Path, plan: Path) -> None:
    content = json.loads(plan.read_text())
    assert content["format"] == 1
    content["plans"][0]["swaps"] = []
    plan.write_text(json.dumps(content))
    answer = json.loads(ok("plan", small, "--json", "--plan", plan))
    assert answer["graphs"][0]["devices"][0]["swaps"] == []
    assert answer["graphs"][0]["devices"][0]["plan_source"] == "file"


def test_a_plan_that_does_not_fit_says_why_and_is_not_used(small: Path, plan: Path) -> None:
    small.write_text(SMALL.replace("a1 = Layer(a0) : f32[262144]", "a1 = Layer(a0) : f32[262145]"))
    said = ok("plan", small, *BUDGET, "--plan", plan)
    assert "planned anew, since the plan given does not fit" in said
    assert "tensor `a1:0` has 1048580 bytes, and had 1048576 when the plan was made" in said


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 9, "plans": []}', '{"plans": 1}'])
def test_what_is_no_plan_file_is_an_error(small: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    result = run("plan", small, "--plan", path)
    assert result.returncode == 3
    assert result.stderr.startswith(f"tflms: {path}: ")
    assert result.stderr.count("\n") == 1


def test_a_plan_file_is_compared_and_drawn(small: Path, plan: Path, tmp_path: Path) -> None:
    assert "the plans are the same" in ok("diff", plan, plan)
    drawn = read_plans(plan)
    assert [p.graph for p in drawn] == ["graph"]
    assert [s.tensor for s in drawn[0].swaps] == ["a0:0"]
    assert command.main([str(plan), "-o", str(tmp_path / "plan.html")]) == 0


def test_explain_says_what_the_other_choices_cost(small: Path) -> None:
    said = ok("explain", small, "a0", *BUDGET)
    assert "    if kept             peak 4.0 MiB (1.0 MiB more), " in said
    assert "    if recomputed       cannot be: its operation may not run a second time\n" in said
    assert "swapped: kept instead, the step would not fit the budget\n" in said
    node = json.loads(ok("explain", small, "a0", *BUDGET, "--json"))["nodes"][0]["outputs"][0]
    assert node["fate"] == "swapped"
    assert [c["fate"] for c in node["choices"]] == ["kept", "recomputed"]
    assert node["choices"][0]["figures"]["peak_bytes"] == node["now"]["peak_bytes"] + (1 << 20)


def test_explain_without_a_node_is_about_the_plan(small: Path) -> None:
    said = ok("explain", small, *BUDGET)
    assert "  bottleneck            a2, at the peak\n" in said
    assert "1 GiB more" in said
    device = json.loads(ok("explain", small, *BUDGET, "--json"))["graphs"][0]["devices"][0]
    now, _, much = device["more"]
    assert (now["swap_in_bytes"], much["swap_in_bytes"]) == (1 << 20, 0)


@pytest.fixture
def curve(small: Path, tmp_path: Path) -> Path:
    path = tmp_path / "curve.json"
    ok("curve", small, "--budgets", "2MiB:5MiB:4", "-o", path)
    return path


def test_curve_goes_from_the_floor_to_the_peak(small: Path) -> None:
    answer = json.loads(ok("curve", small, "--budgets", "::5", "--json"))["curves"][0]
    budgets = [point["budget_bytes"] for point in answer["points"]]
    assert budgets[0] == answer["floor_bytes"]
    assert budgets[-1] == answer["unswapped_peak_bytes"]
    assert len(budgets) == 5
    copies = [point["swap_in_bytes"] for point in answer["points"]]
    assert copies == sorted(copies, reverse=True)


@pytest.mark.parametrize("text", ["a", "1:2:3:4", "4MiB:2MiB:3", "1:2:1", "1:2:9999", "-1::"])
def test_budgets_that_make_no_sense_are_refused(small: Path, text: str) -> None:
    result = run("curve", small, f"--budgets={text}")
    assert result.returncode == 2
    assert "expected FROM:TO:COUNT" in result.stderr


def test_a_curve_is_drawn(curve: Path, tmp_path: Path) -> None:
    svg, page = tmp_path / "c.svg", tmp_path / "c.html"
    assert command.main([str(curve), "-o", str(svg), "-o", str(page)]) == 0
    root = ElementTree.fromstring(svg.read_text())
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(circles) == 2 * 4
    hollow = [c for c in circles if c.get("fill") == "#fff"]
    assert len(hollow) == 2, "2 MiB is under the floor"
    text = page.read_text()
    assert "What memory buys: graph on gpu" in text
    assert "no rate of the link is known" in text
    assert command.main([str(curve), "-o", str(tmp_path / "c.png")]) == 1


def curve_row(**changes: Any) -> dict[str, Any]:
    point = dict.fromkeys(
        (
            "budget_bytes",
            "peak_bytes",
            "time_us",
            "stall_us",
            "recompute_us",
            "swap_out_bytes",
            "swap_in_bytes",
        ),
        5,
    )
    row = {
        "graph": "<b>",
        "device": "GPU:0",
        "floor_bytes": 1,
        "unswapped_peak_bytes": 9,
        "link_known": True,
        "points": [{**point, "fits": True}],
    }
    return {**row, **changes}


def test_names_are_no_markup_and_one_point_is_a_curve() -> None:
    (curve,) = _budget.parse_curves({"curves": [curve_row()]})
    ElementTree.fromstring(_budget.curve_svg(curve))
    assert "<b>" not in _budget.curve_page(curve)


@pytest.mark.parametrize(
    "changes", [{"points": 1}, {"points": [{}]}, {"floor_bytes": -1}, {"link_known": "x"}]
)
def test_damaged_curves_are_errors(changes: dict[str, Any]) -> None:
    with pytest.raises(TflmsError):
        _budget.parse_curves({"curves": [curve_row(**changes)]})
    with pytest.raises(TflmsError, match="no such curve"):
        _budget.pick_curve([], None, None)
