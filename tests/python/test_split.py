# SPDX-License-Identifier: Apache-2.0
"""Splitting: an operation that does not fit the device by itself runs in pieces, with equal bits."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from scripts import run_ok

# Of 24 rows: x, a, b and what is made of a and b have 12 MiB each.
STEPS = """
import json
import tflms
import tensorflow as tf

MIB = 1 << 20
gpu = tflms.simulate_gpu({memory} * MIB, link_bytes_per_s={link})
tf.config.threading.set_inter_op_parallelism_threads({threads})
tflms.enable(min_swap_bytes=0, split={split!r})
weight = tf.Variable([1.25, -0.75], name="w")


@tf.function
def step(x):
    a = x * weight[0]
    b = x * weight[1]
    both = {both}
    loss = tf.reduce_sum(both) + tf.reduce_sum(a) - tf.reduce_sum(b)
    weight.assign_add([1e-7, 2e-7] * loss)
    return loss


x = tf.random.stateless_uniform([24, 2048, 64], [3, 4], -1, 1)
error, losses = "", []
try:
    for _ in range(4):
        losses.append(float(step(x)).hex())
except tf.errors.ResourceExhaustedError as fault:
    error = str(fault)
report = max(tflms.report(), key=lambda r: r.peak_bytes_before)
print("RESULT", json.dumps({{
    "losses": losses, "error": error[:200], "peak": gpu.stats().peak_in_use_bytes,
    "weight": weight.numpy().tobytes().hex() if not error else "",
    "outcome": report.outcome, "split": report.split_operations, "notes": " ".join(report.notes),
    "floor_node": report.floor_node, "fits": report.fits, "text": str(report),
}}))
"""

MIB = 1 << 20
# One operation of each kind that may be split, and one that reads a whole input beside rows.
KINDS = {
    "maximum": "tf.maximum(a, b)",
    "concat": "tf.concat([a[:, :, :32], b[:, :, :32]], -1) * 1",
    "select": "tf.where(a > 0.1, a, b)",
    "add": "a + b",
    "bias": "tf.nn.bias_add(tf.maximum(a, b), tf.ones([64]))",
}


@functools.cache
def result(
    both: str, memory: int, split: bool = True, link: str = "None", threads: int = 1
) -> dict[str, Any]:
    output = run_ok(
        STEPS.format(both=KINDS[both], memory=memory, split=split, link=link, threads=threads)
    )
    return dict(json.loads(next(li for li in output.splitlines() if li.startswith("RESULT"))[6:]))


def test_without_splitting_the_operation_is_named() -> None:
    found = result("maximum", 45, split=False)
    assert found["error"] and found["split"] == 0
    assert "cannot fit by swapping: Maximum alone needs" in found["notes"]


@pytest.mark.parametrize("kind", list(KINDS))
def test_in_pieces_it_runs_and_gives_the_same_bits(kind: str) -> None:
    whole = result(kind, 200, split=False)
    found = result(kind, 45)
    assert found["error"] == ""
    assert found["outcome"] == "rewritten" and found["split"] >= 1 and found["fits"]
    assert found["losses"] == whole["losses"] and found["weight"] == whole["weight"]
    assert found["peak"] <= 45 * MIB < whole["peak"]
    assert "pieces" in found["notes"] and "in pieces" in found["text"]


@pytest.mark.parametrize(("link", "threads"), [("100e6", 1), ("(400e6, 50e6)", 4)])
def test_slow_copies_and_more_threads_change_nothing(link: str, threads: int) -> None:
    whole = result("maximum", 200, split=False)
    found = result("maximum", 45, link=link, threads=threads)
    assert found["error"] == "" and found["split"] == 1
    assert found["losses"] == whole["losses"] and found["weight"] == whole["weight"]


def test_nothing_is_split_where_it_fits() -> None:
    found = result("maximum", 64)
    assert found["error"] == "" and found["split"] == 0
