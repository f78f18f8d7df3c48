# SPDX-License-Identifier: Apache-2.0
"""Feedback: what the runs of one graph took corrects the costs of the next one."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from scripts import run_ok

# The link has a quarter of the rate that the machine's file says, and no processor is as fast.
STEPS = """
import hashlib, json
import tflms
import tensorflow as tf

MIB = 1 << 20
gpu = tflms.simulate_gpu(96 * MIB, link_bytes_per_s=200e6)
tf.config.threading.set_inter_op_parallelism_threads(1)
options = dict(machine={machine!r}, budget_bytes=40 * MIB, recompute="never", cache_dir="off")
tflms.enable(**options, **{more!r})
weights = [
    tf.Variable(tf.random.stateless_normal([512, 512], [i, 7]) / 16, name=f"w{{i}}")
    for i in range(8)
]


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        for weight in weights:
            x = tf.nn.tanh(x @ weight)
        loss = tf.reduce_sum(x)
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(1e-3 * gradient)
    return loss


def run(rows, steps):
    return [float(step(tf.ones([rows, 512]))).hex() for _ in range(steps)]


losses = run(2048, {steps})
losses += run(2304, 2)
{then}
FACTORS = ("compute_factor", "link_out_factor", "link_in_factor", "step_us", "outcome")
reports = tflms.report(history=True)
print("RESULT", json.dumps({{
    "losses": losses,
    "text": str(reports),
    "reports": [{{name: getattr(r, name) for name in FACTORS}} for r in reports],
}}))
"""


@functools.cache
def result(steps: int, more: str = "{}", then: str = "") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        machine = Path(folder) / "machine.json"
        machine.write_text(
            json.dumps(
                {
                    "name": "dreamt",
                    "flops_per_us": 1e7,
                    "memory_bytes_per_us": 1e6,
                    "launch_us": 1,
                    "out_bytes_per_us": 800,
                    "in_bytes_per_us": 800,
                }
            )
        )
        script = STEPS.format(machine=str(machine), more=json.loads(more), steps=steps, then=then)
        output = run_ok(script)
    found = json.loads(next(li for li in output.splitlines() if li.startswith("RESULT"))[6:])
    found["rewritten"] = [r for r in found["reports"] if r["outcome"] == "rewritten"]
    return dict(found)


def factors(report: dict[str, Any]) -> tuple[float, float, float]:
    return (report["compute_factor"], report["link_out_factor"], report["link_in_factor"])


def test_what_runs_took_corrects_the_next_graph() -> None:
    found = result(4)
    first, second = found["rewritten"]
    assert factors(first) == (1, 1, 1)
    compute, out, back = factors(second)
    # The link is simulated: never faster than its rate, slower when the processor is busy.
    assert 0.1 <= out <= 0.27 and 0.1 <= back <= 0.27
    assert 1.5 < compute <= 10.1
    assert second["step_us"] > 2 * first["step_us"]
    assert "corrected for earlier runs" in found["text"]


def test_switched_off_nothing_is_corrected() -> None:
    found = result(4, '{"feedback": false}')
    assert [factors(report) for report in found["rewritten"]] == [(1, 1, 1)] * 2
    assert "corrected" not in found["text"]


def test_results_are_the_same_to_the_bit() -> None:
    assert result(4)["losses"] == result(4, '{"feedback": false}')["losses"]


def test_another_machine_starts_from_nothing() -> None:
    again = 'tflms.enable(**{**options, "machine": "neutral"}); run(2560, 1)'
    last = result(4, then=again)["rewritten"][-1]
    assert factors(last) == (1, 1, 1)


@pytest.mark.parametrize("value", ["maybe", 3])
def test_a_wrong_value_is_refused(value: object) -> None:
    import tflms

    with pytest.raises(ValueError, match=r"option feedback: expected yes \| no"):
        tflms._library.library().configure(False, {"feedback": value})
