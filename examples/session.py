# SPDX-License-Identifier: Apache-2.0
"""A `compat.v1` session with tflms: nothing changes in the session's code."""

import numpy as np
import tflms

tflms.simulate_gpu(memory_limit_bytes=48 << 20)
tflms.enable(budget_bytes=36 << 20)

import tensorflow as tf  # noqa: E402

graph = tf.Graph()
with graph.as_default(), graph.device("/device:GPU:0"):
    x = tf.compat.v1.placeholder(tf.float32, (2048, 256))
    y = x
    variables = []
    for i in range(16):
        start = tf.random.stateless_normal((256, 256), [3, i], stddev=0.06)
        variables.append(tf.compat.v1.Variable(start, use_resource=True))
        y = tf.tanh(tf.matmul(y, variables[-1]))
    loss = tf.reduce_mean(tf.square(y - x))
    train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=variables)
    start_all = tf.compat.v1.global_variables_initializer()

data = np.random.default_rng(1).standard_normal((2048, 256), np.float32)
with tf.compat.v1.Session(graph=graph) as session:
    session.run(start_all)
    for step in range(5):
        value, _ = session.run([loss, train], {x: data})
        print(f"step {step}: loss {value:.6f}")

print(tflms.report())
