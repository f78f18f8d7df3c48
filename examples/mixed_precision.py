# SPDX-License-Identifier: Apache-2.0
"""Mixed precision with tflms: half-size activations, whole-size weights, and a scaled loss.

    python examples/mixed_precision.py
    python examples/mixed_precision.py --without    # the same without tflms: runs out of memory

With `mixed_float16` Keras scales the loss by itself, and leaves out the update after a step whose
gradients are not finite: the update is a branch of the graph, which tflms leaves as it is.
"""

import sys

import numpy as np
import tflms

tflms.simulate_gpu(memory_limit_bytes=10 << 20)
if "--without" not in sys.argv:
    tflms.enable()

import tensorflow as tf  # noqa: E402

tf.keras.mixed_precision.set_global_policy("mixed_float16")
layers = tf.keras.layers
model = tf.keras.Sequential(
    [tf.keras.Input((128,))]
    + [layers.Dense(128, activation="relu") for _ in range(16)]
    + [layers.Dense(10, dtype="float32")]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
random = np.random.default_rng(1)
x = random.standard_normal((2048, 128), np.float32)
y = random.integers(0, 10, 2048)
for step in range(4):
    print(f"step {step}: loss {float(model.train_on_batch(x, y)):.6f}")

print(f"weights {model.layers[0].variable_dtype}, activations {model.layers[0].compute_dtype}")
print(f"{type(model.optimizer).__name__}, scale {float(model.optimizer.dynamic_scale):.0f}")
print(tflms.report())
print(tflms.stats())
