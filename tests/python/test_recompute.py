# SPDX-License-Identifier: Apache-2.0
"""Operations that run a second time: TensorFlow runs them and gives the same bits.

The clones of the first test are made here by hand, in the form of src/tensorflow/graphdef.h, so that
it says something about TensorFlow and about that form, whatever a planner chooses. The second one is
the whole way: plans with clones, in training.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import MIB, OFF, Job, run_child
from test_cli import ok, run

from scripts import run_ok

# Convolution, normalisation in training, Relu and pooling, forward and backward; then every such
# operation of the forward part once more, read by the backward part.
CLONES = """
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
REPEATED = {"Conv2D", "FusedBatchNormV3", "Relu", "MaxPool", "BiasAdd"}
graph = tf.Graph()
with graph.as_default(), tf.device("/device:CPU:0"):
    random = np.random.default_rng(1)
    x = tf1.placeholder(tf.float32, [4, 16, 16, 3], name="x")
    h, channels = x, 3
    weights = []
    for i in range(3):
        w = tf.constant(random.standard_normal([3, 3, channels, 8]).astype("f4") * 0.2)
        scale = tf.constant(random.standard_normal(8).astype("f4"))
        weights += [w, scale]
        h = tf.nn.bias_add(tf.nn.conv2d(h, w, 1, "SAME"), scale)
        h = tf1.nn.fused_batch_norm(h, scale, scale)[0]
        h = tf.nn.relu(h)
        channels = 8
    h = tf.nn.max_pool2d(h, 2, 2, "SAME")
    forward = {op.name for op in graph.get_operations()}
    loss = tf.reduce_mean(h * h, name="loss")
    results = [loss, *tf.gradients(loss, weights)]
before = graph.as_graph_def(add_shapes=True)
after = tf1.GraphDef()
after.CopyFrom(before)
by_name = {node.name: node for node in after.node}
sources = [n.name for n in after.node if n.op in REPEATED and n.name in forward]
clone_of = {name: "tflms/recompute/" + name for name in sources}


def led_to_clone(text):
    name, _, port = text.partition(":")
    return clone_of[name] + (":" + port if port else "") if name in clone_of else text


for name in sources:
    source = by_name[name]
    clone = after.node.add()
    clone.CopyFrom(source)
    clone.name = clone_of[name]
    del clone.input[:]
    clone.input.extend([led_to_clone(text) for text in source.input] + ["^" + name])
    clone.attr["_tflms_role"].s = b"recompute"
    clone.attr["_tflms_clone_of"].s = name.encode()
    clone.attr["_grappler_do_not_remove"].b = True
for node in after.node:
    if node.name.startswith("gradients"):
        texts = [led_to_clone(text) for text in node.input]
        del node.input[:]
        node.input.extend(texts)


def values(definition, ran=None):
    with tf.Graph().as_default():
        fetches = tf.import_graph_def(definition, name="", return_elements=[t.name for t in results])
        with tf1.Session() as session:
            metadata = tf1.RunMetadata()
            options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
            feed = {"x:0": np.random.default_rng(2).standard_normal([4, 16, 16, 3], "f4")}
            out = session.run(fetches, feed, options, metadata)
        if ran is not None:
            stats = metadata.step_stats.dev_stats
            ran.update(node.node_name for device in stats for node in device.node_stats)
    return out


ran = set()
for plain, again in zip(values(before), values(after, ran), strict=True):
    assert np.array_equal(plain, again)
assert len(sources) == 13, sources
not_run = set(clone_of.values()) - ran
"""


def test_tensorflow_runs_clones_and_gives_the_same_bits(tmp_path: Path) -> None:
    # oneDNN's own pass for CPU nodes ends the process at a convolution with a control input.
    run_ok(
        CLONES
        + f"""
assert not not_run, not_run
damaged = tf1.GraphDef()
damaged.CopyFrom(after)
for node in damaged.node:
    if node.op == "FusedBatchNormV3" and node.name.startswith("tflms/"):
        node.attr["epsilon"].f = 0.5
files = {{"before.pb": before, "after.pb": after, "damaged.pb": damaged}}
for name, definition in files.items():
    tf.io.write_graph(definition, {str(tmp_path)!r}, name, as_text=False)
""",
        TF_ENABLE_ONEDNN_OPTS="0",
    )
    before, after = tmp_path / "before.pb", tmp_path / "after.pb"
    on_cpu = ("--device-type", "CPU", "--host-device", "CPU:1")
    assert "the laws hold; 13 nodes" in ok("verify", before, after, *on_cpu)
    # A clone that computes something else is seen.
    damaged = run("verify", before, tmp_path / "damaged.pb", *on_cpu)
    assert damaged.returncode == 1
    assert "its attributes or other fields were changed" in damaged.stdout


@pytest.mark.parametrize(
    "model", [pytest.param("resnet50_session", marks=pytest.mark.slow), "unet3d", "transformer"]
)
def test_training_with_clones_gives_the_same_bits(model: str, tmp_path: Path) -> None:
    params = {"batch": {"resnet50_session": 8, "unet3d": 2, "transformer": 8}[model]}
    # A link so slow that a second run of most operations is faster than a way over the host.
    sim = {"memory_limit_bytes": 1024 * MIB, "link_bytes_per_s": 20 * MIB}
    plain = run_child(Job(model, params, steps=3, sim=sim, tflms=OFF))
    assert plain.error == ""
    budget = int(plain.peak_bytes * 0.8)
    plan = {"budget_bytes": budget, "dump_dir": str(tmp_path)}
    again = run_child(Job(model, params, steps=3, sim=sim, tflms=plan))
    assert again.error == "", again.output[-3000:]
    assert again.losses == plain.losses
    assert again.fingerprint == plain.fingerprint
    assert again.peak_bytes < plain.peak_bytes
    report = again.rewritten[-1]
    assert report["recomputed_tensors"] > 0
    assert report["recompute_bytes"] > 0
    # They are in the graph that TensorFlow ran.
    (dumped,) = sorted(tmp_path.glob("*.after.pb"))[-1:]
    assert b"tflms/recompute/" in dumped.read_bytes()
    assert "the laws hold" in ok("verify", str(dumped).replace(".after.", ".before."), dumped)
