# SPDX-License-Identifier: Apache-2.0
"""Profiles of real steps on the simulated GPU, from its event log."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from sim_gpu import case, result


def _step() -> Any:
    import tensorflow as tf

    w = tf.Variable(tf.random.stateless_normal([512, 512], [1, 2]))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(tf.tanh(x @ w, name="inner"), name="outer"))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    return step


@case("training")
def logged_kernels(gpu: Any) -> Any:
    import time

    import tensorflow as tf

    step = _step()
    x = tf.ones([512, 512])
    step(x).numpy()
    gpu.start_log()
    began = time.perf_counter()
    step(x).numpy()
    wall_us = (time.perf_counter() - began) * 1e6
    events = [e for e in gpu.stop_log() if e.kind.name == "COMPUTE"]
    return {
        "wall_us": wall_us,
        "events": [[e.op, e.op_type, e.time_us, e.duration_us, e.bytes] for e in events],
    }


def test_each_kernel_of_a_step_is_logged_once_and_none_at_the_same_time() -> None:
    r = result(logged_kernels)
    names = [op for op, *_ in r["events"]]
    assert len(names) == len(set(names))
    types = {op: op_type for op, op_type, *_ in r["events"]}
    assert types["inner"] == types["outer"] == "Tanh"
    assert {"MatMul", "AssignSubVariableOp"} <= set(types.values())
    # One thread runs the operations, so their times add up to no more than the step.
    total_us = sum(duration for *_, duration, _ in r["events"])
    assert 0 < total_us <= r["wall_us"]
    ends = sorted((begin, begin + duration) for _, _, begin, duration, _ in r["events"])
    for (_, end), (begin, _) in zip(ends, ends[1:]):
        assert begin >= end - 2  # whole microseconds, rounded
    assert all(size == 0 for *_, size in r["events"])


@case("training")
def recorded_profile(gpu: Any) -> Any:
    import time

    import tflms

    import tensorflow as tf

    step = _step()
    x = tf.ones([512, 512])
    walls_us = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.json"
        with tflms.record_profile(path, steps=3):
            for _ in range(4):
                began = time.perf_counter()
                step(x).numpy()
                walls_us.append((time.perf_counter() - began) * 1e6)
        profile = json.loads(path.read_text())
        tflms.enable(profile=path, log_level="warning")
        try:
            _step()(x).numpy()
            options = {row.name: row.value for row in tflms.options()}
            report = tflms.report()[-1]
        finally:
            tflms.disable()
    return {
        "profile": profile,
        "wall_us": max(walls_us[1:]),
        "machine": report.machine,
        "measured": report.costs.measured + report.costs.by_shape,
        "compute_us": report.compute_us,
        "options": options["machine"],
        "files": folder and Path(folder).exists(),
    }


def test_a_profile_of_a_step_is_within_its_wall_time_and_planned_with() -> None:
    r = result(recorded_profile)
    ops = r["profile"]["ops"]
    assert ops["inner"]["op"] == "Tanh" and ops["inner"]["n"] == 3
    assert ops["inner"]["key"] == "Tanh|f32[512,512]->f32[512,512]"
    assert ops["inner"]["key"] in r["profile"]["shapes"]
    assert 0 < sum(row["time_us"] for row in ops.values()) <= r["wall_us"]
    # With tflms off while it was recorded, the plan for the same step knows every kernel's time.
    assert r["measured"] >= 5
    assert r["machine"] == r["options"] == "simulated"
    assert 0.3 * r["wall_us"] < r["compute_us"] < 2 * r["wall_us"]


@case("link")
def link_rates(gpu: Any) -> Any:
    import tflms

    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.json"
        with tflms.record_profile(path):
            for _ in range(3):
                with tf.device("GPU:0"):
                    y = tf.identity(tf.constant(1.0, shape=[1 << 20])) + 1.0
                with tf.device("CPU:0"):
                    tf.identity(y)
        profile = json.loads(path.read_text())
    from tflms._machine import find_machine

    return {"link": profile["link"], "machine": find_machine("GPU")}


def test_the_link_is_measured_and_told() -> None:
    r = result(link_rates)
    assert 0.8 * 160 <= r["link"]["out_bytes_per_us"] <= 1.01 * 160
    assert r["machine"] == {
        "machine": "simulated",
        "link_out_bytes_per_s": 160_000_000,
        "link_in_bytes_per_s": 80_000_000,
    }
