# SPDX-License-Identifier: Apache-2.0
"""Keras `train_on_batch` with tflms, with Adam, whose two slots a weight stay on the device.

    python examples/train_on_batch.py
    python examples/train_on_batch.py --without    # the same without tflms: runs out of memory

Nothing has to be set: what a step may use is the memory of the device.
"""

import sys

import numpy as np
import tflms

tflms.simulate_gpu(memory_limit_bytes=44 << 20)
if "--without" not in sys.argv:
    tflms.enable()

import tensorflow as tf  # noqa: E402

layers = tf.keras.layers
model = tf.keras.Sequential(
    [tf.keras.Input((256,))]
    + [layers.Dense(256, activation="relu") for _ in range(16)]
    + [layers.Dense(10)]
)
model.compile(
    tf.keras.optimizers.Adam(0.001),
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
random = np.random.default_rng(1)
for step in range(4):
    x = random.standard_normal((2048, 256), np.float32)
    y = random.integers(0, 10, 2048)
    print(f"step {step}: loss {float(model.train_on_batch(x, y)):.6f}")

print(tflms.report())
print(tflms.stats())
