# SPDX-License-Identifier: Apache-2.0
"""`MirroredStrategy` on two devices: each gets a plan of its own, with half of the batch.

    python examples/mirrored.py
    python examples/mirrored.py --without    # the same without tflms: runs out of memory

Gradients of both devices are added up between them, which one device's plan cannot see: the budget
leaves room for that.
"""

import sys

import numpy as np
import tflms

tflms.simulate_gpu(memory_limit_bytes=36 << 20, count=2)
if "--without" not in sys.argv:
    tflms.enable(budget_bytes=24 << 20)

import tensorflow as tf  # noqa: E402

strategy = tf.distribute.MirroredStrategy(
    ["GPU:0", "GPU:1"],
    cross_device_ops=tf.distribute.ReductionToOneDevice(),  # NCCL needs real GPUs
)
layers = tf.keras.layers
with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.Input((256,))]
        + [layers.Dense(256, activation="relu") for _ in range(16)]
        + [layers.Dense(10)]
    )
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
random = np.random.default_rng(1)
with tf.device("/device:CPU:0"):
    data = tf.data.Dataset.from_tensor_slices(
        (random.standard_normal((2 * 4096, 256), np.float32), random.integers(0, 10, 2 * 4096))
    ).batch(4096, drop_remainder=True)

history = model.fit(data, epochs=2, verbose=0)

for epoch, loss in enumerate(history.history["loss"]):
    print(f"epoch {epoch}: loss {loss:.6f}")
print(tflms.report())
print(tflms.stats())
