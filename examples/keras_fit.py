# SPDX-License-Identifier: Apache-2.0
"""Keras `fit` with tflms: two lines more than without, and a callback that keeps statistics.

    python examples/keras_fit.py
    python examples/keras_fit.py --without    # the same without tflms: runs out of memory

The simulated GPU stands in for a real one; leave that line out on a machine that has one.
"""

import sys

import numpy as np
import tflms

tflms.simulate_gpu(memory_limit_bytes=42 << 20)
if "--without" not in sys.argv:
    # Keras keeps the arrays that `fit` gets, and the next batches, on the device as well: these
    # are in no graph, so leave room for them.
    tflms.enable(budget_bytes=28 << 20)

import tensorflow as tf  # noqa: E402

layers = tf.keras.layers
model = tf.keras.Sequential(
    [tf.keras.Input((256,))]
    + [layers.Dense(256, activation="relu") for _ in range(16)]
    + [layers.Dense(10)]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
random = np.random.default_rng(1)
x = random.standard_normal((8192, 256), np.float32)
y = random.integers(0, 10, 8192)

callback = tflms.KerasCallback(per_batch=True)
model.fit(x, y, batch_size=2048, epochs=2, verbose=0, callbacks=[callback])

for record in callback.records:
    part = f"batch {record.batch}" if record.batch is not None else "whole epoch"
    peak = record.stats.device().peak_bytes / 2**20
    print(f"epoch {record.epoch}, {part}: loss {record.logs['loss']:.6f}, peak {peak:.1f} MiB")
print(tflms.report())
print(tflms.stats())
