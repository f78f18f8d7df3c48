# SPDX-License-Identifier: Apache-2.0
"""The Grappler plugin in a real TensorFlow, on two logical CPU devices.

``/CPU:1`` plays the accelerator and ``/CPU:0`` the host, so no simulated GPU is needed. Every child
process checks that results are the same to the last bit with and without tflms.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import tflms
from tflms._library import library_path

from scripts import run_ok, run_script

# What every child begins with. A chain of 20 pairs of operations and its gradient: 46 tensors of
# 1 MB that are far from their last use.
PRELUDE = """
import json, os, sys, threading
import numpy as np
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import tflms
from tflms._library import library
v1 = tf.compat.v1

def gradient(x, scale=1.0):
    with tf.device("/CPU:1"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(20):
                y = tf.tanh(y) * tf.sin(scale * y)
            loss = tf.reduce_sum(y)
        return tape.gradient(loss, x)

def step(**options):
    return tf.function(gradient, **options)

X = tf.random.stateless_normal([500, 500], [1, 2])
OPTIONS = dict(
    device_type="CPU", budget_bytes=16_000_000, min_swap_bytes=1000, planner="level-distance"
)

def reports():
    return library().reports()["reports"]

def swapped():
    return sum(report["swapped_tensors"] for report in reports())
"""


def test_swaps_are_in_the_graphs_that_run() -> None:
    """Off, on, off again; our nodes and edges survive to the last form of the graph."""
    run_ok(
        PRELUDE
        + """
from tensorflow.python.eager import context
expected = step()(X).numpy()
assert reports() == [], "off: nothing is looked at"
tflms.enable(**OPTIONS)
context.context().enable_graph_collection()
assert np.array_equal(step()(X).numpy(), expected)
metadata = context.context().export_run_metadata()
context.context().disable_graph_collection()
(report,) = reports()
assert report["outcome"] == "rewritten", report
assert report["swapped_tensors"] > 20
assert any("memory optimizer" in note for note in report["notes"])

(graphs,) = metadata.function_graphs
whole = {node.name: node for node in graphs.post_optimization_graph.node}
ours = [node for node in whole.values() if node.name.startswith("tflms/")]
assert len(ours) == report["nodes_added"]
assert all(node.device.endswith("CPU:0") and node.op == "Identity" for node in ours)
# Every swap-in waits for its trigger, directly.
swap_ins = [node for node in ours if node.attr["_tflms_role"].s == b"swap-in"]
assert swap_ins and all(any(i.startswith("^") for i in node.input) for node in swap_ins)
# In the parts that run each swapped tensor leaves CPU:1 and comes back.
sends = lambda graph, op: [node for node in graph.node if node.op == op]
device = [g for g in graphs.partition_graphs if g.node[0].device.endswith("CPU:1")][0]
assert len(sends(device, "_Send")) >= report["swapped_tensors"]
assert len(sends(device, "_Recv")) >= report["swapped_tensors"]

tflms.disable()
library().clear_reports()
assert np.array_equal(step()(X).numpy(), expected)
assert reports() == []
tflms.enable(**OPTIONS)
assert np.array_equal(step()(X).numpy(), expected)
assert swapped() > 20
"""
    )


def test_sessions_and_every_setting_of_the_other_passes() -> None:
    """The same fetches, whatever other passes do; each combination in both runs."""
    run_ok(
        PRELUDE
        + """
from tensorflow.core.protobuf import rewriter_config_pb2 as rewriter
with tf.Graph().as_default() as graph:
    feed = v1.placeholder(tf.float32, [500, 500])
    fetch = gradient(feed)

def run(change):
    config = v1.ConfigProto(graph_options=v1.GraphOptions())
    config.device_count["CPU"] = 2
    change(config.graph_options.rewrite_options)
    metadata = v1.RunMetadata()
    with v1.Session(graph=graph, config=config) as session:
        options = v1.RunOptions(output_partition_graphs=True)
        value = session.run(fetch, {feed: X.numpy()}, options=options, run_metadata=metadata)
    nodes = [n.name for part in metadata.partition_graphs for n in part.node]
    return value, sum(name.startswith("tflms/") for name in nodes)

names = ["layout_optimizer", "remapping", "arithmetic_optimization", "dependency_optimization",
         "constant_folding", "common_subgraph_elimination", "shape_optimization",
         "loop_optimization", "function_optimization"]
def switch(name, to):
    return lambda options: setattr(options, name, to)
changes = [switch(name, to) for name in names
           for to in (rewriter.RewriterConfig.OFF, rewriter.RewriterConfig.AGGRESSIVE)]
changes += [switch("memory_optimization", rewriter.RewriterConfig.HEURISTICS),
            switch("scoped_allocator_optimization", rewriter.RewriterConfig.ON),
            switch("disable_model_pruning", True), lambda options: None]
before = [run(change)[0] for change in changes]
tflms.enable(**OPTIONS)
for change, expected in zip(changes, before):
    value, nodes = run(change)
    assert np.array_equal(value, expected)
    assert nodes > 20, nodes
assert {report["outcome"] for report in reports()} == {"rewritten"}

# One pass of Grappler instead of two: said once, and done from the next graph on.
library().clear_reports()
one = switch("meta_optimizer_iterations", rewriter.RewriterConfig.ONE)
expected = run(lambda options: None)[0]
library().clear_reports()
assert np.array_equal(run(one)[0], expected)
assert [report["outcome"] for report in reports()] == ["declined"]
assert "meta_optimizer_iterations" in reports()[0]["reason"]
value, nodes = run(one)
assert np.array_equal(value, expected) and nodes > 20
value, nodes = run(lambda options: None)
assert np.array_equal(value, expected) and nodes > 20
"""
    )


def plugin_folder(tmp_path: Path) -> str:
    """A site-packages folder with the plugin where TensorFlow loads plugins from by itself."""
    folder = tmp_path / "site-packages" / "tensorflow-plugins"
    folder.mkdir(parents=True)
    shutil.copy(library_path(), folder / "libtflms.so")
    paths = [str(folder.parent), str(Path(tflms.__file__).parents[1])]
    return os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])


IN_PLUGIN_FOLDER = (
    PRELUDE
    + """
from pathlib import Path
from tflms._library import Library
(copy,) = {line.split()[-1] for line in open("/proc/self/maps") if "tensorflow-plugins" in line}
copy = Library(Path(copy))
"""
)


def test_a_copy_in_the_plugin_folder_does_nothing_unless_asked(tmp_path: Path) -> None:
    run_ok(
        IN_PLUGIN_FOLDER
        + """
step()(X)
assert copy.settings()["registered_device_types"] == []
assert copy.reports() == {"graphs_seen": 0, "reports": []}
tflms.enable(**OPTIONS)  # the package's own copy registers: no clash with the idle one
step()(X)
assert swapped() > 20
""",
        PYTHONPATH=plugin_folder(tmp_path),
    )


def test_a_copy_in_the_plugin_folder_works_by_environment(tmp_path: Path) -> None:
    """And a second copy in the same process must not register again: TensorFlow would end it."""
    run_ok(
        IN_PLUGIN_FOLDER
        + """
value = step()(X).numpy()
assert copy.settings()["registered_device_types"] == ["CPU"]
assert sum(report["swapped_tensors"] for report in copy.reports()["reports"]) > 20
copy.configure(False, {})
assert np.array_equal(step()(X).numpy(), value)
try:
    tflms.enable(**OPTIONS)
    raise SystemExit("a second registration for CPU was not refused")
except tflms.TflmsError as error:
    assert "CPU" in str(error)
assert np.array_equal(step()(X).numpy(), value)
""",
        PYTHONPATH=plugin_folder(tmp_path),
        TFLMS="1",
        TFLMS_DEVICE_TYPE="CPU",
        TFLMS_BUDGET_BYTES="16000000",
        TFLMS_MIN_SWAP_BYTES="1000",
    )


def test_a_bad_environment_is_named_and_changes_nothing(tmp_path: Path) -> None:
    result = run_script(
        IN_PLUGIN_FOLDER + "step()(X)\nprint(copy._json(copy._api.settings()))",
        PYTHONPATH=plugin_folder(tmp_path),
        TFLMS="1",
        TFLMS_LB="many",
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert "tflms: warning: off:" in result.stderr and "lb" in result.stderr
    assert "'registered_device_types': []" in result.stdout


def test_threads_forks_and_dumps(tmp_path: Path) -> None:
    run_ok(
        PRELUDE
        + f"""
from google.protobuf import text_format
from tensorflow.core.framework import graph_pb2
scales = [0.5, 1.0, 1.5, 2.0]
expected = [step()(X, scale).numpy() for scale in scales]
tflms.enable(**OPTIONS, dump_dir={str(tmp_path / "dump")!r})
values = [None] * len(scales)
def work(i):
    values[i] = step()(X, scales[i]).numpy()
threads = [threading.Thread(target=work, args=[i]) for i in range(len(scales))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert all(np.array_equal(a, b) for a, b in zip(values, expected))
assert [report["outcome"] for report in reports()] == ["rewritten"] * len(scales)

# A forked child still gets answers.
child = os.fork()
if child == 0:
    os._exit(0 if len(reports()) == len(scales) and tflms.is_enabled() else 1)
assert os.waitpid(child, 0)[1] == 0

files = sorted(os.listdir({str(tmp_path / "dump")!r}))
assert len(files) == 5 * len(scales), files
for name in files:
    path = os.path.join({str(tmp_path / "dump")!r}, name)
    if name.endswith(".pb"):
        graph = graph_pb2.GraphDef.FromString(open(path, "rb").read())
        ours = [node for node in graph.node if node.name.startswith("tflms/")]
        assert bool(ours) == name.endswith(".after.pb"), name
    elif name.endswith(".report.json"):
        assert json.load(open(path))[0]["outcome"] == "rewritten"
    elif name.endswith(".plan.json"):
        plan = json.load(open(path))[0]
        assert plan["swaps"] and len(plan["timeline"]) > 10
    else:
        assert name.endswith(".before.txt") and open(path).read().startswith("device "), name
"""
    )


def test_a_compiled_part_is_out_of_reach_and_the_report_says_so() -> None:
    run_ok(
        PRELUDE
        + """
inner = tf.function(lambda x: tf.tanh(tf.sin(x)) * x, jit_compile=True)
@tf.function
def outer(x):
    with tf.device("/CPU:1"):
        y = inner(tf.sin(x) + 1.0)
        return tf.reduce_sum(tf.cos(y) * y)
expected = outer(X).numpy()
tflms.enable(**OPTIONS)
outer = tf.function(outer.python_function)
assert np.array_equal(outer(X).numpy(), expected)
(report,) = reports()
assert report["compiled_nodes"] > 0
assert any("jit_compile=False" in note for note in report["notes"]), report["notes"]
"""
    )


def test_functions_of_a_session_are_rewritten_when_called_and_compiled_ones_never() -> None:
    """A body comes first from the library, unplaced, and again when the call is made."""
    run_ok(
        PRELUDE
        + """
def outcomes(**options):
    with tf.Graph().as_default() as graph:
        feed = v1.placeholder(tf.float32, [500, 500])
        with tf.device("/CPU:1"):
            y = step(**options)(tf.sin(feed))
            fetch = tf.reduce_sum(tf.cos(y) * y)
    def run():
        with v1.Session(graph=graph, config=v1.ConfigProto(device_count={"CPU": 2})) as session:
            return session.run(fetch, {feed: X.numpy()})
    tflms.disable()
    expected = run()
    tflms.enable(**{**OPTIONS, "budget_bytes": 8_000_000})
    library().clear_reports()
    assert np.array_equal(run(), expected)
    return [(report["nodes"] > 50, report["outcome"]) for report in reports()]

called = outcomes(experimental_attributes={"_noinline": True})
assert called.count((True, "rewritten")) == 1, called
assert called.count((True, "nothing-to-swap")) == 1, called
compiled = outcomes(jit_compile=True)
assert (True, "rewritten") not in compiled, compiled
assert (True, "nothing-to-swap") in compiled, compiled
"""
    )
