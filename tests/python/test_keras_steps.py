# SPDX-License-Identifier: Apache-2.0
"""Keras `steps_per_execution` over 1: the same training, with the step outside of a loop."""

from __future__ import annotations

from scripts import run_ok

MODEL = """
import numpy as np
import tflms
tflms.simulate_gpu(64 << 20)
import tensorflow as tf

def train(steps, batches, **fit):
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential(
        [tf.keras.Input((128,))]
        + [tf.keras.layers.Dense(128, activation="tanh") for _ in range(12)]
        + [tf.keras.layers.Dense(10)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  jit_compile=False, steps_per_execution=steps)
    seen = []
    callback = tf.keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append((batch, float(logs["loss"]).hex())))
    random = np.random.default_rng(1)
    with tf.device("/device:CPU:0"):
        data = tf.data.Dataset.from_tensor_slices((
            random.standard_normal((batches * 1024, 128), np.float32),
            random.integers(0, 10, batches * 1024))).batch(1024, drop_remainder=True)
        if "steps_per_epoch" in fit:
            data = data.repeat()
    model.fit(data, epochs=2, verbose=0, callbacks=[callback], **fit)
    return seen, [w.tobytes() for w in model.get_weights()]

CASES = [dict(batches=8), dict(batches=7), dict(batches=3, steps_per_epoch=5)]
"""


def test_same_training_as_in_a_loop() -> None:
    """Also where the number of batches is no multiple, and where an epoch ends within the data."""
    out = run_ok(
        f"""
{MODEL}
in_a_loop = [train(4, **case) for case in CASES]
tflms.enable(budget_bytes=5 << 20)
for case, expected in zip(CASES, in_a_loop):
    found = train(4, **case)
    print(found == expected, [batch for batch, _ in found[0]])
reports = tflms.report(history=True)
print(any("in-loop-or-branch" == s.reason for r in reports for s in r.skipped))
print(min(r.swapped_tensors for r in reports.rewritten) > 0)
"""
    )
    assert out.splitlines() == [
        "True [3, 7, 3, 7]",
        "True [3, 7, 3, 7]",
        "True [3, 7, 3, 7]",
        "False",
        "True",
    ]


def test_disable_leaves_the_loop() -> None:
    out = run_ok(
        f"""
{MODEL}
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
before = TensorFlowTrainer._make_function
tflms.enable()
tflms.enable()
print(TensorFlowTrainer._make_function is before)
tflms.disable()
print(TensorFlowTrainer._make_function is before)
"""
    )
    assert out.split() == ["False", "True"]
