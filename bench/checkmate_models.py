# SPDX-License-Identifier: Apache-2.0
"""Layer tables of the models of Checkmate's evaluation, from Keras; see checkmate.py.

VGG19, ResNet50 and MobileNet are those of keras.applications at 224x224. U-Net (VGG16 encoder), FCN8
and SegNet (plain encoders), 19 classes at 416x608, follow the public keras_segmentation package. Models
are built, never trained. Newer Keras differs a little from that of 2019: MobileNet's head has one
layer less.

Multiply-adds by layer: convolutions count kernel x input channels for each output number (depthwise:
kernel; transposed: input channels), dense layers inputs x outputs, batch normalisation 4 for each input
number, activations and additions 1 for each input number, upsampling 1 for each output number,
everything else nothing.
"""

from __future__ import annotations

import json
import math
from typing import Any

CLASSES = 19
HEIGHT, WIDTH = 416, 608


def _pad_conv(x: Any, filters: int, **options: Any) -> Any:
    from keras import layers

    x = layers.ZeroPadding2D(1)(x)
    return layers.Conv2D(filters, 3, padding="valid", **options)(x)


def _plain_encoder(x: Any) -> list[Any]:
    """Five levels of padding, convolution, normalisation, activation and pooling."""
    from keras import layers

    levels = []
    for filters in (64, 128, 256, 256, 256):
        x = _pad_conv(x, filters)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
        x = layers.MaxPooling2D(2)(x)
        levels.append(x)
    return levels


def _vgg16_encoder(x: Any) -> list[Any]:
    from keras import layers

    levels = []
    for filters, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x = layers.Conv2D(filters, 3, activation="relu", padding="same")(x)
        x = layers.MaxPooling2D(2)(x)
        levels.append(x)
    return levels


def _segmentation(build: Any) -> Any:
    import keras
    from keras import layers

    image = keras.Input((HEIGHT, WIDTH, 3))
    out = build(image)
    out = layers.Reshape((out.shape[1] * out.shape[2], CLASSES))(out)
    return keras.Model(image, layers.Activation("softmax")(out))


def _unet(image: Any) -> Any:
    from keras import layers

    levels = _vgg16_encoder(image)
    x = layers.BatchNormalization()(_pad_conv(levels[3], 512, activation="relu"))
    for filters, skip in ((256, levels[2]), (128, levels[1]), (64, levels[0])):
        x = layers.concatenate([layers.UpSampling2D(2)(x), skip])
        x = layers.BatchNormalization()(_pad_conv(x, filters, activation="relu"))
    return layers.Conv2D(CLASSES, 3, padding="same")(x)


def _segnet(image: Any) -> Any:
    from keras import layers

    x = layers.BatchNormalization()(_pad_conv(_plain_encoder(image)[3], 512))
    for filters in (256, 128, 64):
        x = layers.UpSampling2D(2)(x)
        x = layers.BatchNormalization()(_pad_conv(x, filters))
    return layers.Conv2D(CLASSES, 3, padding="same")(x)


def _crop_to_smaller(a: Any, b: Any) -> tuple[Any, Any]:
    """Both at the smaller one's size, one side after the other; layers also where nothing is cut."""
    from keras import layers

    for axis in (2, 1):
        cut = abs(a.shape[axis] - b.shape[axis])
        sides = ((0, cut), (0, 0)) if axis == 1 else ((0, 0), (0, cut))
        if a.shape[axis] > b.shape[axis]:
            a = layers.Cropping2D(sides)(a)
        else:
            b = layers.Cropping2D(sides)(b)
    return a, b


def _fcn8(image: Any) -> Any:
    from keras import layers

    levels = _plain_encoder(image)
    x = levels[4]
    for kernel in (7, 1):
        x = layers.Conv2D(4096, kernel, activation="relu", padding="same")(x)
        x = layers.Dropout(0.5)(x)
    x = layers.Conv2D(CLASSES, 1)(x)
    for level in (levels[3], levels[2]):
        x = layers.Conv2DTranspose(CLASSES, 4, strides=2, use_bias=False)(x)
        x, skip = _crop_to_smaller(x, layers.Conv2D(CLASSES, 1)(level))
        x = layers.Add()([x, skip])
    return layers.Conv2DTranspose(CLASSES, 16, strides=8, use_bias=False)(x)


def models() -> dict[str, Any]:
    """A function without arguments for each model."""
    from keras import applications

    return {
        "VGG19": lambda: applications.VGG19(weights=None),
        "ResNet50": lambda: applications.ResNet50(weights=None),
        "MobileNet": lambda: applications.MobileNet(weights=None),
        "U-Net": lambda: _segmentation(_unet),
        "FCN8": lambda: _segmentation(_fcn8),
        "SegNet": lambda: _segmentation(_segnet),
    }


def _macs(layer: Any, inputs: list[int], outputs: int) -> int:
    kind = type(layer).__name__
    if kind in ("Conv2D", "DepthwiseConv2D", "Conv2DTranspose"):
        height, width, channels, other = layer.kernel.shape
        per_number = {
            "Conv2D": height * width * channels,
            "DepthwiseConv2D": height * width,
            "Conv2DTranspose": other,
        }
        return int(per_number[kind]) * outputs
    if kind == "Dense":
        return int(math.prod(layer.kernel.shape))
    weights = {"BatchNormalization": 4, "Activation": 1, "ReLU": 1, "Add": 1}
    if kind == "UpSampling2D":
        return outputs
    return weights.get(kind, 0) * sum(inputs)


def table(model: Any) -> dict[str, Any]:
    """Parameters and layers (but the input), each with the numbers of its layers' results."""
    index = {model.layers[0].name: -1}
    rows = []
    for layer in model.layers[1:]:
        tensors = [t for node in layer._inbound_nodes for t in node.input_tensors]
        sources = [index[t._keras_history.operation.name] for t in tensors]
        numbers = math.prod(layer.output.shape[1:])
        counts = [math.prod(t.shape[1:]) for t in tensors]
        index[layer.name] = len(rows)
        rows.append(
            {
                "kind": type(layer).__name__,
                "numbers": numbers,
                "macs": _macs(layer, counts, numbers),
                "inputs": sorted({s for s in sources if s >= 0}),
            }
        )
    return {"parameters": model.count_params(), "layers": rows}


def tables_text() -> str:
    """All tables as JSON, a layer a line."""
    parts = []
    for name, build in models().items():
        made = table(build())
        rows = ",\n   ".join(json.dumps(row) for row in made["layers"])
        parts.append(f' "{name}": {{"parameters": {made["parameters"]}, "layers": [\n   {rows}]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"
