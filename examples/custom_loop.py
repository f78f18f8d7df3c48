# SPDX-License-Identifier: Apache-2.0
"""A training loop of one's own with `tf.function`, and tflms switched on for it.

    python examples/custom_loop.py
    python examples/custom_loop.py --without    # the same without tflms: runs out of memory

`enable()` comes before the function first runs; nothing else changes.
"""

import sys

import tflms

tflms.simulate_gpu(memory_limit_bytes=32 << 20)
if "--without" not in sys.argv:
    tflms.enable()

import tensorflow as tf  # noqa: E402

x = tf.random.stateless_normal((2048, 256), [1, 2])
matrices = [
    tf.Variable(tf.random.stateless_normal((256, 256), [3, i], stddev=0.06)) for i in range(16)
]


@tf.function
def train(batch: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        y = batch
        for matrix in matrices:
            y = tf.tanh(y @ matrix)
        loss = tf.reduce_mean(tf.square(y - batch))
    for matrix, gradient in zip(matrices, tape.gradient(loss, matrices)):
        matrix.assign_sub(0.1 * gradient)
    return loss


for step in range(5):
    print(f"step {step}: loss {float(train(x)):.6f}")

print(tflms.report())
print(tflms.stats())
