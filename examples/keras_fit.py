# SPDX-License-Identifier: Apache-2.0
"""Keras `fit` with tflms: two lines more than without.

The simulated GPU stands in for a real one; leave that line out on a machine that has one.
"""

import numpy as np
import tflms

tflms.simulate_gpu(memory_limit_bytes=64 << 20)
# Keras keeps the arrays that `fit` gets on the device as well: leave room for them.
tflms.enable(budget_bytes=36 << 20)

import tensorflow as tf  # noqa: E402

layers = tf.keras.layers
model = tf.keras.Sequential(
    [tf.keras.Input((256,))]
    + [layers.Dense(256, activation="relu") for _ in range(16)]
    + [layers.Dense(10)]
)
model.compile(
    "sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False
)
random = np.random.default_rng(1)
x = random.standard_normal((8192, 256), np.float32)
y = random.integers(0, 10, 8192)

callback = tflms.KerasCallback()
model.fit(x, y, batch_size=2048, epochs=2, callbacks=[callback])

print(tflms.report())
print(callback.records[-1].stats)
