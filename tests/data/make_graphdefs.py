# SPDX-License-Identifier: Apache-2.0
"""Makes the GraphDefs of this folder with the installed TensorFlow.

    python tests/data/make_graphdefs.py [folder]

They are kept in the repository so that the core's tests need no TensorFlow; made with 2.21. Devices
are only names here: nothing is run, and no accelerator is needed.
"""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
v1 = tf.compat.v1


def mlp_adam() -> tf.compat.v1.GraphDef:
    """A two-layer perceptron and one Adam step on resource variables, all on the accelerator."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(GPU):
        x = v1.placeholder(tf.float32, [32, 20], name="x")
        y = v1.placeholder(tf.int32, [32], name="y")
        w1 = v1.get_variable("w1", [20, 64], use_resource=True)
        b1 = v1.get_variable("b1", [64], use_resource=True)
        w2 = v1.get_variable("w2", [64, 10], use_resource=True)
        hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w1), b1))
        logits = tf.matmul(hidden, w2)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        v1.train.AdamOptimizer(0.01).minimize(loss, name="train")
    return graph.as_graph_def(add_shapes=True)


def conv_net() -> tf.compat.v1.GraphDef:
    """Convolution, batch norm and momentum on reference variables; batch size unknown."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(GPU):
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        kernel = v1.get_variable("kernel", [3, 3, 3, 4], use_resource=False)
        scale = v1.get_variable("scale", [4], use_resource=False)
        offset = v1.get_variable("offset", [4], use_resource=False)
        conv = tf.nn.conv2d(x, kernel, 1, "SAME")
        norm, _, _ = v1.nn.fused_batch_norm(conv, scale, offset)
        loss = tf.reduce_sum(tf.nn.relu(norm) ** 2)
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    return graph.as_graph_def()


def while_v1() -> tf.compat.v1.GraphDef:
    """Enter, Merge, Switch, NextIteration and Exit, with a gradient through the loop."""
    graph = tf.Graph()
    v1.disable_control_flow_v2()
    with graph.as_default(), tf.device(GPU):
        x = v1.placeholder(tf.float32, [4, 4], name="x")
        _, out = v1.while_loop(
            lambda i, _: i < 3, lambda i, a: [i + 1, tf.tanh(tf.matmul(a, x))], [0, x]
        )
        v1.gradients(tf.reduce_sum(out), x, name="gradients")
    return graph.as_graph_def()


def cond_v1() -> tf.compat.v1.GraphDef:
    """Switch and Merge of a condition."""
    graph = tf.Graph()
    v1.disable_control_flow_v2()
    with graph.as_default(), tf.device(GPU):
        x = v1.placeholder(tf.float32, [4], name="x")
        v1.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x), lambda: tf.stack([x, x])[0], name="cond")
    return graph.as_graph_def()


def function_library() -> tf.compat.v1.GraphDef:
    """Calls, a functional loop and a part for a compiler, with their functions in the library."""
    v1.enable_control_flow_v2()

    @tf.function(jit_compile=True)
    def compiled(a):
        return tf.sin(a) * 2.0

    @tf.function
    def inner(a):
        return tf.while_loop(lambda b: tf.reduce_sum(b) < 100.0, lambda b: [compiled(b) + 1.0], [a])

    @tf.function
    def outer(a):
        return inner(a)[0] + compiled(a)

    return outer.get_concrete_function(tf.TensorSpec([8])).graph.as_graph_def()


def mixed_precision() -> tf.compat.v1.GraphDef:
    """float16, bfloat16, float32, int64 and bool in one graph; host, accelerator and no device."""
    graph = tf.Graph()
    with graph.as_default():
        table = v1.placeholder(tf.float32, [100, 8], name="table")
        ids = v1.placeholder(tf.int64, [16], name="ids")
        with tf.device("/job:localhost/replica:0/task:0/device:CPU:0"):
            rows = tf.gather(table, ids)
        with tf.device("/device:GPU:0"):
            half = tf.cast(rows, tf.float16)
            mask = half > 0
            left, right = tf.split(half, 2, axis=1)
            brain = tf.cast(left * right, tf.bfloat16)
        with tf.device("/gpu:0"):
            tf.where(mask, half, tf.zeros_like(half), name="masked")
            tf.shape(brain, out_type=tf.int64, name="shape")
    return graph.as_graph_def()


def main() -> None:
    """Writes every graph of this file to its folder, or to the one named."""
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    folder = folder if folder.is_dir() else folder.parent
    for make in (mlp_adam, conv_net, while_v1, cond_v1, function_library, mixed_precision):
        data = make().SerializeToString(deterministic=True)
        (folder / f"{make.__name__}.pb").write_bytes(data)
        print(f"{make.__name__}.pb: {len(data)} bytes")


if __name__ == "__main__":
    main()
