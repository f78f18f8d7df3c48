# SPDX-License-Identifier: Apache-2.0
"""Training through a signature of a SavedModel: saved once, trained where it is loaded.

    python examples/saved_model.py
    python examples/saved_model.py --without    # the same without tflms: runs out of memory

The file holds the graph as it was written; tflms acts where the signature runs.
"""

import sys
import tempfile

import tflms

tflms.simulate_gpu(memory_limit_bytes=38 << 20)
if "--without" not in sys.argv:
    # The weights that were saved may still be on the device: leave room for them.
    tflms.enable(budget_bytes=30 << 20)

import tensorflow as tf  # noqa: E402


class Trainer(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.matrices = [
            tf.Variable(tf.random.stateless_normal((256, 256), [3, i], stddev=0.06))
            for i in range(16)
        ]

    @tf.function(input_signature=[tf.TensorSpec((2048, 256), tf.float32, name="batch")])
    def train(self, batch: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            y = batch
            for matrix in self.matrices:
                y = tf.tanh(y @ matrix)
            loss = tf.reduce_mean(tf.square(y - batch))
        for matrix, gradient in zip(self.matrices, tape.gradient(loss, self.matrices)):
            matrix.assign_sub(0.1 * gradient)
        return {"loss": loss}


with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer()
    tf.saved_model.save(trainer, folder, signatures={"train": trainer.train})
    del trainer
    loaded = tf.saved_model.load(folder)
    train = loaded.signatures["train"]
    batch = tf.random.stateless_normal((2048, 256), [1, 2])
    for step in range(5):
        print(f"step {step}: loss {float(train(batch=batch)['loss']):.6f}")

print(tflms.report())
print(tflms.stats())
