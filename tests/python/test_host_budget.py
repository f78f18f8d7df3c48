# SPDX-License-Identifier: Apache-2.0
"""Option host_budget_bytes: training under a limit on the host, and a refusal with both numbers."""

from __future__ import annotations

from typing import Any

from harness import MIB, OFF, Job, Outcome, run_child

SIM = {"memory_limit_bytes": 1024 * MIB}
PARAMS = {"batch": 2048, "width": 128, "depth": 12}


def train(options: dict[str, Any] | str) -> Outcome:
    outcome = run_child(Job("mlp_adam", PARAMS, steps=2, sim=SIM, tflms=options))
    assert outcome.error == "", outcome.output[-3000:]
    return outcome


def test_the_limit_is_kept_or_the_step_is_left_alone() -> None:
    plain = train(OFF)
    swaps_only = {"recompute": "never", "min_swap_bytes": 0, "cache_dir": "off", "safety": 1.0}
    free = {**swaps_only, "budget_bytes": int(plain.peak_bytes * 0.6)}
    unlimited = train(free)
    (report,) = unlimited.rewritten
    needed = report["host_peak_bytes"]
    assert needed > 0
    assert report["host_budget_bytes"] == 0
    assert report["recomputed_tensors"] == 0

    # As much as that plan takes will do; less than any tensor will not, and both numbers are there.
    enough = train({**free, "host_budget_bytes": needed})
    (report,) = enough.rewritten
    assert 0 < report["host_peak_bytes"] <= needed == report["host_budget_bytes"]
    assert enough.peak_bytes < plain.peak_bytes
    too_little = train({**free, "host_budget_bytes": 1000})
    assert too_little.rewritten == []
    (refused,) = [r for r in too_little.reports if r["outcome"] == "declined"]
    assert refused["nodes_added"] == 0
    assert refused["host_needed_bytes"] == needed
    assert refused["device_needed_bytes"] > free["budget_bytes"]
    assert "the budgets of device and host cannot both hold" in too_little.output
    for outcome in (unlimited, enough, too_little):
        assert outcome.losses == plain.losses
        assert outcome.fingerprint == plain.fingerprint
