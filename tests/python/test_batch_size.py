# SPDX-License-Identifier: Apache-2.0
"""An open batch extent: found from what Keras is fed, told by the user, or reported as unknown."""

from __future__ import annotations

from scripts import run_ok

FEEDS = """
import math
import numpy as np
import tflms
tflms.simulate_gpu(200 << 20)
tflms.enable(budget_bytes=11 << 20)
import tensorflow as tf
layers = tf.keras.layers
ROWS, BATCH = 300, 128
random = np.random.default_rng(1)
x = random.standard_normal((ROWS, 16, 16, 8), np.float32)
y = random.integers(0, 10, ROWS)

def make_model():
    model = tf.keras.Sequential(
        [tf.keras.Input((16, 16, 8))]
        + [layers.Conv2D(16, 3, padding="same", activation="relu") for _ in range(6)]
        + [layers.Reshape((4, -1)), layers.Dense(10), layers.Flatten(), layers.Dense(10)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

class Sequence(tf.keras.utils.PyDataset):
    def __len__(self):
        return math.ceil(ROWS / BATCH)
    def __getitem__(self, i):
        return x[i * BATCH:(i + 1) * BATCH], y[i * BATCH:(i + 1) * BATCH]

def generator():
    while True:
        yield x[:BATCH], y[:BATCH]

pairs = tf.data.Dataset.from_tensor_slices((x, y))
feeds = {
    "arrays": lambda model: model.fit(x, y, batch_size=BATCH, verbose=0),
    "data set": lambda model: model.fit(
        pairs.batch(BATCH).map(lambda a, b: (a * 2, b)).prefetch(2), verbose=0),
    "sequence": lambda model: model.fit(Sequence(), verbose=0),
    "generator": lambda model: model.fit(generator(), steps_per_epoch=2, verbose=0),
}
for name, fit in feeds.items():
    before = len(tflms.report(history=True))
    fit(make_model())
    for row in tflms.report(history=True)[before:]:
        if row.nodes > 100:
            print("RESULT", name, row.outcome, row.unknown_size_tensors, row.swapped_tensors > 0)
print("RESULT option", tflms.options()["batch_size"].value)
tflms.enable(budget_bytes=11 << 20, batch_size=64)
make_model().fit(x, y, batch_size=BATCH, verbose=0)
print("RESULT option", tflms.options()["batch_size"].value)
"""

CUSTOM = """
import numpy as np
import tflms
tflms.simulate_gpu(200 << 20)
import tensorflow as tf

def trace(**options):
    tflms.enable(budget_bytes=6 << 20, **options)
    weights = [tf.Variable(tf.ones((256, 256)) / 256) for _ in range(8)]

    @tf.function(input_signature=[tf.TensorSpec((None, 256), tf.float32)])
    def step(x):
        with tf.GradientTape() as tape:
            for weight in weights:
                x = tf.tanh(x @ weight)
            loss = tf.reduce_sum(x)
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(gradient)
        return loss

    step(tf.ones((1024, 256)))
    row = tflms.report()[-1]
    print("RESULT", row.outcome, row.unknown_size_tensors > 0, "set batch_size" in str(row))

trace()
trace(batch_size=1024)
"""


def results(code: str) -> list[str]:
    return [
        line[len("RESULT ") :] for line in run_ok(code).splitlines() if line.startswith("RESULT ")
    ]


def test_the_batch_size_is_what_keras_is_fed() -> None:
    assert results(FEEDS) == [
        "arrays rewritten 0 True",
        "data set rewritten 0 True",
        "sequence rewritten 0 True",
        "generator rewritten 0 True",
        "option 128",
        "option 64",
    ]


def test_an_open_signature_is_unknown_until_the_user_tells() -> None:
    assert results(CUSTOM) == ["nothing-to-swap True True", "rewritten False False"]
