# SPDX-License-Identifier: Apache-2.0
"""Training on the simulated GPU: the CPU's numbers, to the last bit, with Keras as it is."""

from __future__ import annotations

from typing import Any

import pytest
from sim_gpu import case, result

MODELS = ("perceptron", "conv", "volume", "recurrent")


def _model(name: str) -> Any:
    """A model of that name and the shape of its input."""
    import keras

    layers = keras.layers
    parts: dict[str, tuple[tuple[int, ...], list[Any]]] = {
        "perceptron": ((32,), [layers.Dense(32, activation="relu")]),
        "conv": (
            (12, 12, 2),
            [
                layers.Conv2D(8, 3, activation="relu"),
                layers.BatchNormalization(),
                layers.ReLU(),
                layers.MaxPooling2D(),
                layers.DepthwiseConv2D(3),
                layers.Flatten(),
            ],
        ),
        "volume": (
            (8, 8, 8, 1),
            [
                layers.Conv3D(4, 3, padding="same"),
                layers.ReLU(),
                layers.MaxPooling3D(),
                layers.Conv3DTranspose(2, 2, strides=2),
                layers.Flatten(),
            ],
        ),
        "recurrent": ((6, 5), [layers.LSTM(8, return_sequences=True), layers.GRU(4)]),
    }
    shape, inner = parts[name]
    return keras.Sequential([layers.Input(shape), *inner, layers.Dense(4)]), shape


def _train(name: str, device: str) -> dict[str, Any]:
    """Three steps and an inference; losses and weights as bits."""
    import keras
    import numpy as np

    import tensorflow as tf

    keras.utils.set_random_seed(7)
    random = np.random.RandomState(0)
    with tf.device(device):
        model, shape = _model(name)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, jit_compile=False)
        losses = [
            float(
                model.train_on_batch(random.rand(8, *shape).astype("f4"), random.randint(0, 4, 8))
            ).hex()
            for _ in range(3)
        ]
        # As a graph of its own, where batch norm and activation are fused into one node.
        infer = tf.function(lambda x: model(x, training=False))
        out = infer(random.rand(8, *shape).astype("f4"))
    return {
        "device": out.device[-5:],
        "losses": losses,
        "weights": [v.numpy().tobytes().hex() for v in [out, *model.trainable_variables]],
    }


@case("training")
def trained(gpu: Any) -> Any:
    found = {}
    for name in MODELS:
        before = gpu.stats().num_allocations
        found[name] = [_train(name, "/CPU:0"), gpu.stats().num_allocations - before]
        found[name] += [_train(name, "/GPU:0"), gpu.stats().num_allocations - before]
    return found


@pytest.mark.parametrize("name", MODELS)
def test_training_is_bit_identical_to_the_cpu(name: str) -> None:
    cpu, none, gpu, some = result(trained)[name]
    assert (cpu.pop("device"), gpu.pop("device")) == ("CPU:0", "GPU:0")
    assert cpu == gpu
    assert some > none + 50
    assert len(set(gpu["losses"])) == 3, "the loss must move"


@case("training", "onednn")
def conv_only(gpu: Any) -> Any:
    return _train("conv", "/GPU:0")


def test_numbers_do_not_depend_on_onednn() -> None:
    off, on = result(conv_only, "training"), result(conv_only, "onednn")
    assert off["device"] == "GPU:0"
    assert off == on


@case("training")
def fitted(gpu: Any) -> Any:
    import keras
    import numpy as np

    import tensorflow as tf

    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.layers.Input((16,)),
            keras.layers.Dense(8, "tanh"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")  # compiled by XLA on a GPU, unless told otherwise
    x = np.random.RandomState(0).rand(64, 16).astype("f4")
    before = gpu.stats()
    history = model.fit(x, x.sum(1), epochs=3, verbose=0).history["loss"]
    after = gpu.stats()

    @tf.function(jit_compile=True)
    def compiled(x: Any) -> Any:
        return tf.reduce_sum(tf.nn.relu(x) * 2.0)

    value = compiled(tf.ones([4, 4]))
    with tf.device("/CPU:0"):
        on_cpu = compiled(tf.ones([4, 4]))
    return {
        "history": history,
        "copied_in": after.copied_in_bytes - before.copied_in_bytes,
        "weights": sorted({v.value.device[-5:] for v in model.trainable_variables}),
        "gpu": [float(value), value.device[-5:]],
        "cpu": [float(on_cpu), on_cpu.device[-5:]],
    }


def test_fit_with_default_settings_and_jit_compile() -> None:
    r = result(fitted)
    assert r["history"][2] < r["history"][0]
    assert r["weights"] == ["GPU:0"]
    # Three times through the data, which is made on the host.
    assert r["copied_in"] >= 3 * 64 * 16 * 4
    assert r["gpu"] == [32.0, "GPU:0"] and r["cpu"] == [32.0, "CPU:0"]


@case("three")
def mirrored(gpu: Any) -> Any:
    import keras
    import numpy as np

    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    one = tf.distribute.OneDeviceStrategy("/GPU:0")
    x = np.random.RandomState(0).rand(64, 8, 8, 1).astype("f4")

    def losses(scope: Any) -> Any:
        keras.utils.set_random_seed(3)
        with scope.scope():
            model = keras.Sequential(
                [
                    keras.layers.Input((8, 8, 1)),
                    keras.layers.Conv2D(4, 3),
                    keras.layers.Flatten(),
                    keras.layers.Dense(1),
                ]
            )
            model.compile(keras.optimizers.SGD(0.001), "mse", jit_compile=False)
        fit = model.fit(x, x.sum((1, 2, 3)), batch_size=16, epochs=3, verbose=0, shuffle=False)
        return fit.history["loss"]

    data = tf.data.Dataset.from_tensor_slices(np.arange(8, dtype="f4")).batch(4)
    parts = [
        [(t.device[-5:], t.numpy().tolist()) for t in strategy.experimental_local_results(b)]
        for b in strategy.experimental_distribute_dataset(data)
    ]
    alone = losses(one)
    before = [gpu.stats(i).num_allocations for i in range(3)]
    return {
        "replicas": strategy.num_replicas_in_sync,
        "parts": parts,
        "alone": alone,
        "mirrored": losses(strategy),
        "allocations": [gpu.stats(i).num_allocations - before[i] for i in range(3)],
    }


def test_mirrored_strategy_over_two_devices() -> None:
    r = result(mirrored)
    assert r["replicas"] == 2
    assert r["parts"] == [
        [["GPU:0", [0.0, 1.0]], ["GPU:1", [2.0, 3.0]]],
        [["GPU:0", [4.0, 5.0]], ["GPU:1", [6.0, 7.0]]],
    ]
    # Two halves of a batch add up to the batch, but for rounding.
    assert r["mirrored"] == pytest.approx(r["alone"], rel=1e-3)
    assert r["mirrored"][2] < r["mirrored"][1] < r["mirrored"][0]
    assert r["allocations"][0] == 0
    assert r["allocations"][1] > 100 and r["allocations"][2] > 100
