# SPDX-License-Identifier: Apache-2.0
"""Keras `fit` with `steps_per_execution`: several steps between two looks of the callbacks.

    python examples/steps_per_execution.py
    python examples/steps_per_execution.py --without    # without tflms: runs out of memory

Keras 3 puts these steps into a loop in one graph, and tensors inside loops are not swapped. While
tflms is on, it calls the step once for each of them instead, with the same results; callbacks still
run after every four steps. With Keras 2 (TensorFlow 2.13 to 2.15) the loop stays, and the report
counts the tensors in it as `in-loop-or-branch`: use `steps_per_execution=1` there.
"""

import sys

import numpy as np
import tflms

tflms.simulate_gpu(memory_limit_bytes=38 << 20)
if "--without" not in sys.argv:
    tflms.enable(budget_bytes=32 << 20)  # leaves room for the batches that Keras fetches ahead

import tensorflow as tf  # noqa: E402

layers = tf.keras.layers
model = tf.keras.Sequential(
    [tf.keras.Input((256,))]
    + [layers.Dense(256, activation="relu") for _ in range(16)]
    + [layers.Dense(10)]
)
model.compile(
    "sgd",
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    steps_per_execution=4,
)
random = np.random.default_rng(1)
with tf.device("/device:CPU:0"):  # else all data would lie on the device
    data = tf.data.Dataset.from_tensor_slices(
        (random.standard_normal((8 * 2048, 256), np.float32), random.integers(0, 10, 8 * 2048))
    ).batch(2048, drop_remainder=True)

callback = tflms.KerasCallback(per_batch=True)
model.fit(data, epochs=1, verbose=0, callbacks=[callback])

for record in callback.records[:-1]:
    print(f"after batch {record.batch}: loss {record.logs['loss']:.6f}")
print(tflms.report())
print(tflms.stats())
