# SPDX-License-Identifier: Apache-2.0
"""The fluid bound T3 (bench/lp_bound.py): above the bound in closed form, below every plan."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

pytest.importorskip("highspy")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bench"))

import lp_bound
from lp_bound import NO_PLAN, fluid_bound
from lp_plans import clone_problems, random_problem, simulate, swap_plans
from lp_problem import Buffer, Op, Problem, accesses, live_bytes, positions

EPS = 1e-5
RATES = ((1, 1), (0.5, 2), (2, 0.5), (5, 5), (0, 1))


def swap_bound(problem: Problem, budget: int, out_rate: float, in_rate: float) -> float:
    """T1 by its formula in docs/bounds.md, with the first candidate's p and the last one's q."""
    position = positions(problem)
    times = [problem.ops[op].time_us for op in problem.order]
    total, bound = sum(times), float(sum(times))
    for place, live in enumerate(live_bytes(problem, clones=False)):
        candidates = []
        for buffer in problem.buffers:
            touches = sorted(position[op] for op in accesses(buffer))
            held = any(position[op] > place for op in buffer.holds)
            if touches[0] < place < touches[-1] and place not in touches:
                back = min(touch for touch in touches if touch > place)
                if buffer.swappable and not held:
                    candidates.append((touches[0], back, buffer.size_bytes))
        excess = live - budget
        if excess <= 0:
            continue
        if excess > sum(size for _, _, size in candidates):
            return NO_PLAN
        made = sum(times[: min(c[0] for c in candidates) + 1])
        rest = sum(times[max(c[1] for c in candidates) :])
        before, behind = sum(times[:place]), sum(times[place + 1 :])
        out = max(before, made + (excess / out_rate if out_rate else 0))
        into = max(behind, rest + (excess / in_rate if in_rate else 0))
        bound = max(bound, out + times[place] + into)
    assert bound >= total
    return bound


def best_times(outcomes: list[tuple[int, int]], budgets: range) -> dict[int, float]:
    return {
        budget: min((t for peak, t in outcomes if peak <= budget), default=NO_PLAN)
        for budget in budgets
    }


@pytest.mark.parametrize("part", range(4))
def test_between_the_closed_form_and_the_best_swap_plan(part: int) -> None:
    for seed in range(part, 160, 4):
        problem, rates = random_problem(seed), RATES[seed % len(RATES)]
        outcomes = [simulate(problem, plan, *rates) for plan in swap_plans(problem, 2000, seed)]
        budgets = range(max(outcomes[0][0] - 12, 0), outcomes[0][0] + 1)
        for budget, best in best_times(outcomes, budgets).items():
            bound = fluid_bound(problem, budget, *rates).time_us
            closed = swap_bound(problem, budget, *rates)
            assert bound <= best + EPS, f"seed {seed} budget {budget}"
            assert bound >= closed - EPS or closed == NO_PLAN == bound, f"seed {seed} {budget}"


@pytest.mark.parametrize("part", range(4))
def test_no_plan_with_a_clone_is_below_it(part: int) -> None:
    for seed in range(part, 160, 4):
        problem, rates = random_problem(seed), RATES[seed % len(RATES)]
        outcomes = [simulate(problem, plan, *rates) for plan in swap_plans(problem, 300, seed)]
        before = outcomes[0][0]
        for cloned in clone_problems(problem):
            outcomes += [simulate(cloned, plan, *rates) for plan in swap_plans(cloned, 60, seed)]
        for budget, best in best_times(outcomes, range(max(before - 12, 0), before + 1)).items():
            bound = fluid_bound(problem, budget, *rates, recompute=True).time_us
            assert bound <= best + EPS, f"seed {seed} budget {budget}"
            assert bound <= fluid_bound(problem, budget, *rates).time_us + EPS


def test_looking_at_fewer_operations_only_lowers_it() -> None:
    for seed in range(60):
        problem, rates = random_problem(seed), RATES[seed % len(RATES)]
        budget = max(live_bytes(problem, clones=False)) - 3
        for recompute in (False, True):
            whole = fluid_bound(problem, budget, *rates, recompute).time_us
            for checks in (1, 2, 3):
                assert (
                    fluid_bound(problem, budget, *rates, recompute, checks).time_us <= whole + EPS
                )


def chain() -> Problem:
    """x -> a (8 bytes, 2 us) -> b (8, 8) -> c (2, 4) -> g reads c and a (2, 2)."""
    times, sizes = (1, 2, 8, 4, 2), (4, 8, 8, 2, 2)
    uses = ((1,), (2, 4), (3,), (4,), ())
    return Problem(
        [Op(time) for time in times],
        [Buffer(sizes[i], i, uses[i], swappable=True) for i in range(5)],
        list(range(5)),
    )


def test_by_hand() -> None:
    # 2 of a's bytes are away while c runs and come back in 2 us before g.
    assert fluid_bound(chain(), 16, 1, 1).time_us == pytest.approx(19)
    assert fluid_bound(chain(), 18, 1, 1).time_us == pytest.approx(17)
    assert fluid_bound(chain(), 16, 0, 0).time_us == pytest.approx(17)
    assert fluid_bound(chain(), 9, 1, 1).time_us == NO_PLAN


def test_reads_what_the_command_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = chain()
    row = {
        "graph": "main",
        "device": "gpu",
        "ops": [vars(op) for op in problem.ops],
        "buffers": [vars(buffer) for buffer in problem.buffers],
        "order": problem.order,
        "persistent_bytes": 0,
    }
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({"problems": [row]}))
    arguments = [str(path), "--budget-bytes", "16", "--out-rate", "1", "--in-rate", "1"]
    assert lp_bound.main(arguments) == 0
    assert "bound T3       19 us" in capsys.readouterr().out
    assert math.isinf(NO_PLAN)
