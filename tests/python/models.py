# SPDX-License-Identifier: Apache-2.0
"""Small and large models for tests and benchmarks.

A builder gets its parameters, builds the model on ``/device:GPU:0`` (or wherever TensorFlow puts
it) and returns a ``Training``. Weights and data come from fixed seeds: two processes that build
the same model see the same numbers. Called in a child process only, see ``harness.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Training:
    """A model that can be trained on.

    Attributes:
        step: runs one training step and gives the loss.
        weights: the present values of all that is trained.
    """

    step: Callable[[], float]
    weights: Callable[[], list[np.ndarray]]

    def fingerprint(self) -> str:
        """A hash of all weights, to the last bit."""
        digest = hashlib.sha256()
        for value in self.weights():
            digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()[:32]


def _random(*shape: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def _classes(batch: int, classes: int, seed: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, classes, batch).astype(np.int32)


def _keras() -> Any:
    import tensorflow as tf

    tf.keras.utils.set_random_seed(11)
    return tf.keras


def _keras_training(
    model: Any, optimizer: Any, loss: Any, x: Any, y: Any, **compile: Any
) -> Training:
    model.compile(optimizer, loss, jit_compile=False, **compile)

    def step() -> float:
        return float(np.asarray(model.train_on_batch(x, y)).ravel()[0])

    return Training(step, lambda: [np.asarray(w) for w in model.get_weights()])


def resnet50_session(batch: int = 8, image: int = 64, classes: int = 1000) -> Training:
    """ResNet-50 of plain operations in a session."""
    import resnet_session
    from harness import session_config

    import tensorflow as tf

    graph, train, loss, feeds, variables = resnet_session.build(batch, image, classes)
    with graph.as_default():
        start = tf.compat.v1.global_variables_initializer()
    session = tf.compat.v1.Session(graph=graph, config=session_config())
    session.run(start)

    def step() -> float:
        return float(session.run([loss, train], feeds)[0])

    return Training(step, lambda: session.run(variables))


def resnet50_keras(batch: int = 8, image: int = 64, classes: int = 1000) -> Training:
    """``keras.applications.ResNet50``, trained with ``train_on_batch``."""
    keras = _keras()
    model = keras.applications.ResNet50(
        weights=None, input_shape=(image, image, 3), classes=classes
    )
    return _keras_training(
        model,
        keras.optimizers.SGD(0.001),
        keras.losses.SparseCategoricalCrossentropy(),
        _random(batch, image, image, 3),
        _classes(batch, classes),
    )


def resnet50_digits(batch: int = 64, image: int = 64) -> Training:
    """``keras.applications.ResNet50`` on scikit-learn's handwritten digits, resized, in colour."""
    from sklearn.datasets import load_digits

    import tensorflow as tf

    keras = _keras()
    digits = load_digits()
    count = len(digits.images) // batch * batch
    if not count:
        raise ValueError(f"batch: expected at most {len(digits.images)}, found {batch}")
    with tf.device("/device:CPU:0"):
        images = tf.image.resize(digits.images[:count, ..., None] / 8.0 - 1.0, (image, image))
        images = tf.repeat(images, 3, axis=3).numpy().astype(np.float32)
    labels = digits.target[:count].astype(np.int32)
    model = keras.applications.ResNet50(weights=None, input_shape=(image, image, 3), classes=10)
    model.compile(
        keras.optimizers.SGD(0.01), keras.losses.SparseCategoricalCrossentropy(), jit_compile=False
    )
    place = 0

    def step() -> float:
        nonlocal place
        part = slice(place, place + batch)
        place = (place + batch) % count
        return float(np.asarray(model.train_on_batch(images[part], labels[part])).ravel()[0])

    return Training(step, lambda: [np.asarray(w) for w in model.get_weights()])


def unet3d(
    batch: int = 2, size: int = 32, base: int = 8, levels: int = 3, data: str = ""
) -> Training:
    """A 3D U-Net: two convolutions a level, skips from the way down to the way up.

    `data` names a file of numpy's with ``images`` and ``labels``; without it images are random.
    """
    keras = _keras()
    layers = keras.layers

    def double(x: Any, filters: int) -> Any:
        for _ in range(2):
            x = layers.Conv3D(filters, 3, padding="same", use_bias=False)(x)
            x = layers.BatchNormalization()(x)
            x = layers.ReLU()(x)
        return x

    inputs = keras.Input((size, size, size, 1))
    x = inputs
    skips = []
    for level in range(levels - 1):
        x = double(x, base << level)
        skips.append(x)
        x = layers.MaxPooling3D(2)(x)
    x = double(x, base << (levels - 1))
    for level in reversed(range(levels - 1)):
        x = layers.UpSampling3D(2)(x)
        x = layers.Concatenate()([x, skips[level]])
        x = double(x, base << level)
    model = keras.Model(inputs, layers.Conv3D(1, 1, activation="sigmoid")(x))
    if data:
        with np.load(data) as arrays:
            images, labels = arrays["images"], arrays["labels"]
    else:
        images = _random(batch, size, size, size, 1)
        labels = (images > 0.5).astype(np.float32)
    return _keras_training(
        model, keras.optimizers.SGD(0.01), keras.losses.BinaryCrossentropy(), images, labels
    )


def mlp_adam(batch: int = 512, width: int = 512, depth: int = 12) -> Training:
    """A deep perceptron with Adam."""
    keras = _keras()
    model = keras.Sequential(
        [keras.Input((width,))]
        + [keras.layers.Dense(width, activation="relu") for _ in range(depth)]
        + [keras.layers.Dense(10)]
    )
    return _keras_training(
        model,
        keras.optimizers.Adam(0.001),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        _random(batch, width),
        _classes(batch, 10),
    )


def lstm(batch: int = 64, length: int = 24, units: int = 96, unroll: bool = True) -> Training:
    """Two LSTM layers, unrolled or as a while loop."""
    keras = _keras()
    extra = {"use_cudnn": False} if keras.__version__.startswith("3") else {}
    model = keras.Sequential(
        [
            keras.Input((length, 32)),
            keras.layers.LSTM(units, return_sequences=True, unroll=unroll, **extra),
            keras.layers.LSTM(units, unroll=unroll, **extra),
            keras.layers.Dense(10),
        ]
    )
    return _keras_training(
        model,
        keras.optimizers.SGD(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        _random(batch, length, 32),
        _classes(batch, 10),
    )


def transformer(
    batch: int = 8, length: int = 128, dim: int = 64, heads: int = 4, blocks: int = 2
) -> Training:
    """Encoder blocks with attention, dropout and a feed-forward part."""
    keras = _keras()
    layers = keras.layers
    inputs = keras.Input((length, dim))
    x = inputs
    for _ in range(blocks):
        y = layers.LayerNormalization()(x)
        y = layers.MultiHeadAttention(heads, dim // heads, dropout=0.1)(y, y)
        x = layers.Add()([x, layers.Dropout(0.1)(y)])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(4 * dim, activation="gelu")(y)
        y = layers.Dense(dim)(y)
        x = layers.Add()([x, layers.Dropout(0.1)(y)])
    model = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))
    return _keras_training(
        model,
        keras.optimizers.SGD(0.05),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        _random(batch, length, dim),
        _classes(batch, 10),
    )


def while_loop(batch: int = 256, width: int = 256, iterations: int = 6, depth: int = 6) -> Training:
    """A custom loop: dense layers before and after a ``tf.while_loop``, gradients through both."""
    import tensorflow as tf

    with tf.device("/device:GPU:0"):
        x = tf.constant(_random(batch, width))
        matrices = [
            tf.Variable(_random(width, width, seed=20 + i) / np.sqrt(width).astype(np.float32))
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


def mirrored(batch: int = 512, width: int = 384, depth: int = 10) -> Training:
    """A perceptron on two GPUs with MirroredStrategy, trained with Keras ``fit``."""
    import tensorflow as tf

    keras = _keras()
    strategy = tf.distribute.MirroredStrategy(
        ["GPU:0", "GPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((width,))]
            + [keras.layers.Dense(width, activation="relu") for _ in range(depth)]
            + [keras.layers.Dense(10)]
        )
        model.compile(
            keras.optimizers.SGD(0.05),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=False,
        )
    data = tf.data.Dataset.from_tensor_slices((_random(batch, width), _classes(batch, 10)))
    data = data.batch(batch, drop_remainder=True)

    def step() -> float:
        history = model.fit(data, epochs=1, verbose=0)
        return float(history.history["loss"][0])

    return Training(step, lambda: [np.asarray(w) for w in model.get_weights()])


MODELS: dict[str, Callable[..., Training]] = {
    "resnet50_session": resnet50_session,
    "resnet50_keras": resnet50_keras,
    "resnet50_digits": resnet50_digits,
    "unet3d": unet3d,
    "mlp_adam": mlp_adam,
    "lstm": lstm,
    "transformer": transformer,
    "while_loop": while_loop,
    "mirrored": mirrored,
}
