# SPDX-License-Identifier: Apache-2.0
"""A training loop of one's own with `tf.function`, and tflms switched on for it."""

import tflms

tflms.simulate_gpu(memory_limit_bytes=40 << 20)
tflms.enable()

import tensorflow as tf  # noqa: E402

with tf.device("/device:GPU:0"):
    x = tf.random.stateless_normal((2048, 256), [1, 2])
    matrices = [
        tf.Variable(tf.random.stateless_normal((256, 256), [3, i], stddev=0.06)) for i in range(16)
    ]


@tf.function
def train() -> tf.Tensor:
    with tf.GradientTape() as tape:
        y = x
        for matrix in matrices:
            y = tf.tanh(y @ matrix)
        loss = tf.reduce_mean(tf.square(y - x))
    for matrix, gradient in zip(matrices, tape.gradient(loss, matrices)):
        matrix.assign_sub(0.1 * gradient)
    return loss


for step in range(5):
    with tf.device("/device:GPU:0"):
        print(f"step {step}: loss {float(train()):.6f}")

print(tflms.report())
print(tflms.stats())
