# SPDX-License-Identifier: Apache-2.0
"""Training with tflms gives the same losses and weights, to the last bit, in less memory.

Each case runs twice in processes of their own: without tflms on a device with room enough, and with
tflms on one that is smaller than what the first run needed. What tflms may use is then the device's
own limit, which it finds out for itself, unless the case says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from harness import MIB, OFF, Job, Outcome, run_child

ROOM = 2048 * MIB
# Device memory comes in multiples of this.
GRAIN = 256


@dataclass(frozen=True)
class Case:
    """One model; all parts are of the peak without tflms.

    Attributes:
        device_part: what the small device has.
        budget_part: what tflms is told to keep to; 0: it is told nothing, the budget is the device.
    """

    model: str
    device_part: float
    params: dict[str, Any] = field(default_factory=dict)
    budget_part: float = 0.0
    devices: int = 1
    steps: int = 5


CASES = [
    Case("resnet50_session", 0.8, {"batch": 16}),
    Case("resnet50_keras", 0.85, {"batch": 16}),
    Case("unet3d", 0.75, {"batch": 2}),
    Case("mlp_adam", 0.75, {"batch": 2048}),
    Case("lstm", 0.8, {"batch": 256}),
    Case("transformer", 0.8, {"batch": 16}),
    # What a loop's body and each replica hold is predicted too low for the budget to be the device.
    Case("while_loop", 0.95, {"batch": 1024}, budget_part=0.65),
    Case("mirrored", 0.95, {"batch": 2048}, budget_part=0.65, devices=2),
]


def train(case: Case, limit_bytes: int, tflms: dict[str, Any] | str | None) -> Outcome:
    return run_child(
        Job(
            case.model,
            case.params,
            steps=case.steps,
            sim={"memory_limit_bytes": limit_bytes, "count": case.devices},
            tflms=tflms,
        )
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.model)
def test_same_bits_in_less_memory(case: Case) -> None:
    plain = train(case, ROOM, OFF)
    assert plain.error == ""
    limit = int(plain.peak_bytes * case.device_part) // GRAIN * GRAIN
    budget = int(plain.peak_bytes * case.budget_part) or limit

    swapped = train(case, limit, {"budget_bytes": budget} if case.budget_part else {})
    assert swapped.error == "", swapped.output[-3000:]
    assert swapped.losses == plain.losses
    assert swapped.fingerprint == plain.fingerprint
    assert len(set(plain.losses)) == case.steps, "the model does not learn: a weak comparison"

    # It really was smaller, and because tensors really went out and came back.
    assert swapped.peak_bytes <= limit < plain.peak_bytes
    report = swapped.rewritten[-1]
    assert report["budget_bytes"] == budget
    assert report["swapped_tensors"] > 0
    for device in range(case.devices):
        moved = swapped.stats[device]["copied_out_bytes"] - plain.stats[device]["copied_out_bytes"]
        assert moved >= report["swap_out_bytes"] * case.steps * 0.9
    assert all(r["outcome"] != "declined" for r in swapped.reports), swapped.reports


def test_what_runs_out_of_memory_without_runs_with() -> None:
    """The point of it all: a batch that fails without tflms trains with it."""
    case = Case("resnet50_session", 0.0, {"batch": 44}, steps=2)
    plain = train(case, 360 * MIB, None)
    assert plain.out_of_memory, plain.error
    swapped = train(case, 360 * MIB, {})
    assert swapped.error == ""
    assert len(swapped.losses) == 2
    assert swapped.peak_bytes <= 360 * MIB


def test_a_graph_that_needs_nothing_gets_nothing() -> None:
    case = Case("mlp_adam", 0.0, {"batch": 32, "width": 64, "depth": 3}, steps=2)
    plain = train(case, ROOM, OFF)
    outcome = train(case, ROOM, {})
    assert outcome.losses == plain.losses
    assert outcome.reports, "the graph has been looked at"
    assert {r["outcome"] for r in outcome.reports} <= {"not-needed", "nothing-to-swap"}
    assert sum(r["nodes_added"] for r in outcome.reports) == 0
    assert sum(r["control_edges_added"] for r in outcome.reports) == 0
    assert all(r["reason"] for r in outcome.reports)
