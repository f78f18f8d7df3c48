# SPDX-License-Identifier: Apache-2.0
"""Models of ``models.py`` that are trained by a loop of their own in ``tf.function``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from training import Training, random_values


def while_loop(batch: int = 256, width: int = 256, iterations: int = 6, depth: int = 6) -> Training:
    """A custom loop: dense layers before and after a ``tf.while_loop``, gradients through both."""
    import tensorflow as tf

    with tf.device("/device:GPU:0"):
        x = tf.constant(random_values(batch, width))
        matrices = [
            tf.Variable(
                random_values(width, width, seed=20 + i) / np.sqrt(width).astype(np.float32)
            )
            for i in range(2 * depth + 1)
        ]

    @tf.function
    def train() -> Any:
        with tf.GradientTape() as tape:
            y = x
            for matrix in matrices[:depth]:
                y = tf.nn.relu(y @ matrix) + 0.5 * y
            _, y = tf.while_loop(
                lambda i, _: i < iterations,
                lambda i, z: (i + 1, tf.tanh(z @ matrices[depth])),
                (tf.constant(0), y),
            )
            for matrix in matrices[depth + 1 :]:
                y = tf.nn.relu(y @ matrix) + 0.5 * y
            loss = tf.reduce_mean(tf.square(y))
        for matrix, gradient in zip(matrices, tape.gradient(loss, matrices)):
            matrix.assign_sub(0.01 * gradient)
        return loss

    def step() -> float:
        with tf.device("/device:GPU:0"):
            return float(train())

    return Training(step, lambda: [m.numpy() for m in matrices])


def convolutions(
    batch: int = 16, size: int = 32, channels: int = 16, blocks: int = 8, remat: bool = False
) -> Training:
    """A custom loop: residual blocks of two convolutions, `size` pixels a side.

    `remat` wraps each block in ``tf.recompute_grad``: it runs again in the backward pass.
    """
    import tensorflow as tf

    deviation = np.float32(0.5 / np.sqrt(9 * channels))
    with tf.device("/device:GPU:0"):
        x = tf.constant(random_values(batch, size, size, channels))
        kernels = [
            tf.Variable(random_values(3, 3, channels, channels, seed=20 + i) * deviation)
            for i in range(2 * blocks)
        ]

    def block(index: int) -> Callable[[Any], Any]:
        def run(y: Any) -> Any:
            z = tf.nn.relu(tf.nn.conv2d(y, kernels[2 * index], 1, "SAME"))
            return y + tf.tanh(tf.nn.conv2d(z, kernels[2 * index + 1], 1, "SAME"))

        return tf.recompute_grad(run) if remat else run

    @tf.function
    def train() -> Any:
        with tf.GradientTape() as tape:
            y = x
            for index in range(blocks):
                y = block(index)(y)
            loss = tf.reduce_mean(tf.square(y))
        for kernel, gradient in zip(kernels, tape.gradient(loss, kernels)):
            kernel.assign_sub(0.1 * gradient)
        return loss

    def step() -> float:
        with tf.device("/device:GPU:0"):
            return float(train())

    return Training(step, lambda: [kernel.numpy() for kernel in kernels])
