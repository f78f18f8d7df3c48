# SPDX-License-Identifier: Apache-2.0
"""A `compat.v1` session and one of its optimizers: nothing changes in the session's code.

    python examples/session.py
    python examples/session.py --without    # the same without tflms: runs out of memory

The measured peak is asked of the simulated GPU here, since `tflms.stats()` asks TensorFlow's eager
runtime, which a program of sessions only may never start.
"""

import sys

import numpy as np
import tflms

gpu = tflms.simulate_gpu(memory_limit_bytes=48 << 20)
if "--without" not in sys.argv:
    # A session keeps more on the device than the graph of one step: leave room for it.
    tflms.enable(budget_bytes=32 << 20)

import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    v1.set_random_seed(1)
    x = v1.placeholder(tf.float32, (2048, 256))
    y = x
    for i in range(16):
        matrix = v1.get_variable(f"matrix{i}", (256, 256), use_resource=True)
        y = tf.tanh(tf.matmul(y, matrix))
    loss = tf.reduce_mean(tf.square(y - x))
    train = v1.train.MomentumOptimizer(0.1, momentum=0.9).minimize(loss)
    start_all = v1.global_variables_initializer()

data = np.random.default_rng(1).standard_normal((2048, 256), np.float32)
with v1.Session(graph=graph) as session:
    session.run(start_all)
    for step in range(5):
        value, _ = session.run([loss, train], {x: data})
        print(f"step {step}: loss {value:.6f}")

print(tflms.report())
peak, limit = gpu.stats().peak_in_use_bytes / 2**20, gpu.memory_limit_bytes / 2**20
print(f"GPU:0: peak {peak:.1f} MiB of {limit:.1f} MiB")
