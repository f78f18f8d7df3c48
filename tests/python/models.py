# SPDX-License-Identifier: Apache-2.0
"""Small and large models for tests and benchmarks.

A builder gets its parameters, builds the model on ``/device:GPU:0`` (or wherever TensorFlow puts
it) and returns a ``Training``. Weights and data come from fixed seeds: two processes that build
the same model see the same numbers. Called in a child process only, see ``harness.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from loop_models import convolutions, while_loop
from training import Training, keras_training, random_classes, random_values, seeded_keras


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
    keras = seeded_keras()
    model = keras.applications.ResNet50(
        weights=None, input_shape=(image, image, 3), classes=classes
    )
    return keras_training(
        model,
        keras.optimizers.SGD(0.001),
        keras.losses.SparseCategoricalCrossentropy(),
        random_values(batch, image, image, 3),
        random_classes(batch, classes),
    )


def resnet50_digits(batch: int = 64, image: int = 64) -> Training:
    """``keras.applications.ResNet50`` on scikit-learn's handwritten digits, resized, in colour."""
    from sklearn.datasets import load_digits

    import tensorflow as tf

    keras = seeded_keras()
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
    keras = seeded_keras()
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
        images = random_values(batch, size, size, size, 1)
        labels = (images > 0.5).astype(np.float32)
    return keras_training(
        model, keras.optimizers.SGD(0.01), keras.losses.BinaryCrossentropy(), images, labels
    )


def deeplab(batch: int = 4, size: int = 64, base: int = 16, classes: int = 8) -> Training:
    """A small net like DeepLab v3+: dilated convolutions side by side, and a skip from early on.

    `size` is in pixels a side, a multiple of 8; each pixel gets one of `classes`.
    """
    keras = seeded_keras()
    layers = keras.layers

    def conv(x: Any, filters: int, kernel: int = 3, stride: int = 1, rate: int = 1) -> Any:
        x = layers.Conv2D(
            filters, kernel, stride, padding="same", dilation_rate=rate, use_bias=False
        )(x)
        return layers.ReLU()(layers.BatchNormalization()(x))

    inputs = keras.Input((size, size, 3))
    skip = conv(conv(inputs, base), 2 * base, stride=2)
    x = conv(conv(skip, 4 * base, stride=2), 8 * base, stride=2)
    for _ in range(2):
        x = layers.Add()([x, conv(conv(x, 8 * base, rate=2), 8 * base, rate=2)])
    pooled = layers.GlobalAveragePooling2D(keepdims=True)(x)
    pooled = layers.UpSampling2D(size // 8)(layers.Dense(4 * base, activation="relu")(pooled))
    pyramid = [conv(x, 4 * base, 1), *(conv(x, 4 * base, rate=r) for r in (2, 4)), pooled]
    x = conv(layers.Concatenate()(pyramid), 4 * base, 1)
    x = layers.UpSampling2D(4, interpolation="bilinear")(x)
    x = layers.Concatenate()([x, conv(skip, base, 1)])
    x = conv(conv(x, 4 * base), 4 * base)
    x = layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(classes, 1)(x))
    images = random_values(batch, size, size, 3)
    labels = np.clip(np.floor(images[..., 0] * 2 + classes / 2), 0, classes - 1).astype(np.int32)
    return keras_training(
        keras.Model(inputs, x),
        keras.optimizers.SGD(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        images,
        labels,
    )


def mlp_adam(batch: int = 512, width: int = 512, depth: int = 12) -> Training:
    """A deep perceptron with Adam."""
    keras = seeded_keras()
    model = keras.Sequential(
        [keras.Input((width,))]
        + [keras.layers.Dense(width, activation="relu") for _ in range(depth)]
        + [keras.layers.Dense(10)]
    )
    return keras_training(
        model,
        keras.optimizers.Adam(0.001),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        random_values(batch, width),
        random_classes(batch, 10),
    )


def lstm(batch: int = 64, length: int = 24, units: int = 96, unroll: bool = True) -> Training:
    """Two LSTM layers, unrolled or as a while loop."""
    keras = seeded_keras()
    extra = {"use_cudnn": False} if keras.__version__.startswith("3") else {}
    model = keras.Sequential(
        [
            keras.Input((length, 32)),
            keras.layers.LSTM(units, return_sequences=True, unroll=unroll, **extra),
            keras.layers.LSTM(units, unroll=unroll, **extra),
            keras.layers.Dense(10),
        ]
    )
    return keras_training(
        model,
        keras.optimizers.SGD(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        random_values(batch, length, 32),
        random_classes(batch, 10),
    )


def transformer(
    batch: int = 8,
    length: int = 128,
    dim: int = 64,
    heads: int = 4,
    blocks: int = 2,
    dropout: float = 0.1,
    remat: bool = False,
) -> Training:
    """Encoder blocks with attention, dropout and a feed-forward part.

    `remat` puts each block, as one layer, into ``keras.RematScope``: it runs again in the backward
    pass. The scope refuses layers that take ``training``, such as attention, in a graph.
    """
    keras = seeded_keras()
    layers = keras.layers

    def block(x: Any) -> Any:
        y = layers.LayerNormalization()(x)
        y = layers.MultiHeadAttention(heads, dim // heads, dropout=dropout)(y, y)
        x = layers.Add()([x, layers.Dropout(dropout)(y)])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(4 * dim, activation="gelu")(y)
        y = layers.Dense(dim)(y)
        return layers.Add()([x, layers.Dropout(dropout)(y)])

    class Again(layers.Layer):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def call(self, x: Any) -> Any:
            return self.inner(x)

    inputs = keras.Input((length, dim))
    x = inputs
    for _ in range(blocks):
        if remat:
            inside = keras.Input((length, dim))
            inner = keras.Model(inside, block(inside))
            with keras.RematScope(mode="full"):
                x = Again(inner)(x)
        else:
            x = block(x)
    model = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))
    return keras_training(
        model,
        keras.optimizers.SGD(0.05),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        random_values(batch, length, dim),
        random_classes(batch, 10),
    )


def mirrored(batch: int = 512, width: int = 384, depth: int = 10) -> Training:
    """A perceptron on two GPUs with MirroredStrategy, trained with Keras ``fit``."""
    import tensorflow as tf

    keras = seeded_keras()
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
    data = tf.data.Dataset.from_tensor_slices(
        (random_values(batch, width), random_classes(batch, 10))
    )
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
    "deeplab": deeplab,
    "mlp_adam": mlp_adam,
    "lstm": lstm,
    "transformer": transformer,
    "while_loop": while_loop,
    "convolutions": convolutions,
    "mirrored": mirrored,
}
