# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 as a session graph of plain operations, without Keras.

Conv2D, FusedBatchNormV3, Relu, AddV2, MaxPool, Mean, MatMul, sparse softmax cross entropy, gradients
by ``tf.gradients`` and plain gradient descent. The graph of the published comparisons.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))


class Network:
    """Builds the graph; variables are started from their number, so that every run is equal."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.variables: list[Any] = []

    def variable(self, shape: tuple[int, ...], deviation: float, mean: float = 0.0) -> Any:
        tf = self.tf
        seed = [17, len(self.variables)]
        # Made on the host: temporary tensors of the start would leave each variable in a chunk of
        # up to twice its size on the device, with tflms and without. Random also where a constant
        # is usual: TensorFlow merges equal constants, and the variables that started from one share
        # its memory until the first step copies it for each of them.
        with tf.device("/device:CPU:0"):
            value = tf.random.stateless_truncated_normal(shape, seed, mean, deviation)
        variable = tf.compat.v1.Variable(
            value, use_resource=True, name=f"variable_{len(self.variables)}"
        )
        self.variables.append(variable)
        return variable

    def conv(self, x: Any, filters: int, kernel: int, stride: int = 1) -> Any:
        channels = int(x.shape[-1])
        weights = self.variable(
            (kernel, kernel, channels, filters), math.sqrt(2.0 / (kernel * kernel * channels))
        )
        return self.tf.nn.conv2d(x, weights, strides=stride, padding="SAME")

    def norm(self, x: Any) -> Any:
        channels = int(x.shape[-1])
        scale = self.variable((channels,), 0.01, 1.0)
        offset = self.variable((channels,), 0.01)
        return self.tf.compat.v1.nn.fused_batch_norm(x, scale, offset, is_training=True)[0]

    def block(self, x: Any, filters: int, stride: int) -> Any:
        """A bottleneck: 1x1, 3x3, 1x1 beside a shortcut."""
        relu = self.tf.nn.relu
        shortcut = x
        if stride != 1 or int(x.shape[-1]) != 4 * filters:
            shortcut = self.norm(self.conv(x, 4 * filters, 1, stride))
        y = relu(self.norm(self.conv(x, filters, 1, stride)))
        y = relu(self.norm(self.conv(y, filters, 3)))
        y = self.norm(self.conv(y, 4 * filters, 1))
        return relu(y + shortcut)

    def logits(self, images: Any, classes: int) -> Any:
        tf = self.tf
        x = tf.nn.relu(self.norm(self.conv(images, 64, 7, 2)))
        x = tf.nn.max_pool2d(x, ksize=3, strides=2, padding="SAME")
        for stage, (blocks, filters) in enumerate(STAGES):
            for number in range(blocks):
                x = self.block(x, filters, 2 if stage > 0 and number == 0 else 1)
        x = tf.reduce_mean(x, axis=[1, 2])
        weights = self.variable((int(x.shape[-1]), classes), 0.01)
        bias = self.variable((classes,), 0.01)
        return tf.matmul(x, weights) + bias


def build(
    batch: int, image: int = 64, classes: int = 1000, device: str = "/device:GPU:0"
) -> tuple[Any, Any, Any, dict[Any, np.ndarray], list[Any]]:
    """The graph, its training operation, loss, feeds and variables."""
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default(), graph.device(device):
        images = tf.compat.v1.placeholder(tf.float32, (batch, image, image, 3), "images")
        labels = tf.compat.v1.placeholder(tf.int32, (batch,), "labels")
        network = Network(tf)
        logits = network.logits(images, classes)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
        gradients = tf.gradients(loss, network.variables)
        train = tf.group(
            *[
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=variable.handle, alpha=0.001, delta=gradient
                )
                for variable, gradient in zip(network.variables, gradients)
            ]
        )
    random = np.random.default_rng(7)
    feeds = {
        images: random.standard_normal((batch, image, image, 3), np.float32),
        labels: random.integers(0, classes, batch).astype(np.int32),
    }
    return graph, train, loss, feeds, network.variables
