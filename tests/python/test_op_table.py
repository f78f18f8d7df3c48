# SPDX-License-Identifier: Apache-2.0
"""Measures on TensorFlow what the op table claims about shared buffers.

A claim of reuse that does not hold makes every predicted peak too low. Each operation of the table
runs on its own, unoptimised; the trace of the run gives the address of each tensor: two names of
one buffer have one address. This sees the CPU kernels, which are also the kernels of the simulated
GPU. No tflms code runs here: the rows are read from the source file.
"""

import pathlib
import re

import numpy as np
import pytest
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import kernels

import tensorflow as tf

v1 = tf.compat.v1
TABLE = pathlib.Path(__file__).parents[2] / "src" / "tensorflow" / "op_table.cc"
SHAPE = (64, 8)


def rows(sharing: str) -> list[str]:
    """The operations whose row has that sharing."""
    return re.findall(r'\{"(\w+)", [^{}]*\b' + sharing + r"\b[^{}]*\}", TABLE.read_text())


def make_input(dtype: tf.DType) -> tf.Tensor:
    """A tensor that is made in the step, so that its buffer can be handed on."""
    value = tf.raw_ops.RandomUniform(shape=SHAPE, dtype=tf.float32, seed=1)
    return tf.raw_ops.Cast(x=value + 0.25, DstT=dtype) if dtype != tf.float32 else value + 0.25


def addresses(fetch: tf.Operation) -> dict[tuple[str, int], int]:
    """(node, port) -> address of each tensor in one run."""
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    metadata = v1.RunMetadata()
    with v1.Session(graph=fetch.graph, config=config) as session:
        session.run(
            fetch,
            options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    found = {}
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            for output in node.output:
                description = output.tensor_description.allocation_description
                found[node.node_name, output.slot] = description.ptr
    return found


# Input types of the operations that do not take float32.
TYPES = {
    "LogicalAnd": tf.bool,
    "LogicalOr": tf.bool,
    "LogicalNot": tf.bool,
    "Invert": tf.int32,
}
# How to build what is not f(x) or f(x, y).
SPECIAL = {
    "AddN": lambda x, y: tf.raw_ops.AddN(inputs=[x, y]),
    "BiasAdd": lambda x, _: tf.raw_ops.BiasAdd(value=x, bias=np.ones(8, np.float32)),
    "BiasAddV1": lambda x, _: tf.raw_ops.BiasAddV1(value=x, bias=np.ones(8, np.float32)),
    "Bitcast": lambda x, _: tf.raw_ops.Bitcast(input=x, type=tf.int32),
    "CheckNumerics": lambda x, _: tf.raw_ops.CheckNumerics(tensor=x, message=""),
    "CheckNumericsV2": lambda x, _: tf.raw_ops.CheckNumericsV2(tensor=x, message=""),
    "EnsureShape": lambda x, _: tf.raw_ops.EnsureShape(input=x, shape=SHAPE),
    "ExpandDims": lambda x, _: tf.raw_ops.ExpandDims(input=x, axis=0),
    "Reshape": lambda x, _: tf.raw_ops.Reshape(tensor=x, shape=[-1]),
    "Squeeze": lambda x, _: tf.raw_ops.Squeeze(input=tf.raw_ops.ExpandDims(input=x, axis=0)),
    "IdentityN": lambda x, y: tf.raw_ops.IdentityN(input=[x, y]),
    "PlaceholderWithDefault": lambda x, _: tf.raw_ops.PlaceholderWithDefault(input=x, shape=SHAPE),
}
# Not measured: control flow, which hands tensors on by the executor itself, operations that need
# references, and operations that only TensorFlow makes.
UNMEASURED = {
    "Enter",
    "Exit",
    "LoopCond",
    "Merge",
    "NextIteration",
    "RefEnter",
    "RefExit",
    "RefIdentity",
    "RefMerge",
    "RefNextIteration",
    "RefSwitch",
    "Switch",
    "_SwitchN",
    "_XlaMerge",
    "_ArrayToList",
    "_ListToArray",
}


def build(op: str, x: tf.Tensor, y: tf.Tensor) -> tf.Operation:
    """The operation on one or two tensors."""
    if op in SPECIAL:
        out = SPECIAL[op](x, y)
    else:
        function = getattr(tf.raw_ops, op)
        names = [p for p in function.__signature__.parameters if p != "name"]
        tensors = dict(zip(names, (x, y)))
        wanted = 2 if op in rows("kReuseN") else 1
        out = function(**dict(list(tensors.items())[:wanted]))
    while isinstance(out, (list, tuple)):
        out = out[0]
    return out.op


def shares(op: str, slot: int) -> bool:
    """True when output 0 has the buffer of input `slot`, which nobody else reads."""
    graph = tf.Graph()
    with graph.as_default():
        x = make_input(TYPES.get(op, tf.float32))
        y = make_input(TYPES.get(op, tf.float32))
        kept = y if slot == 0 else x
        node = build(op, x, y)
        with tf.control_dependencies([node]):
            # Holds the other input until the operation has run.
            keep = tf.identity(kept)
        with tf.control_dependencies([keep]):
            done = tf.no_op()
        taken = (x if slot == 0 else y).op.name
        found = addresses(done)
    return found[node.name, 0] == found[taken, 0]


@pytest.mark.parametrize("op", sorted(set(rows("kReuse1")) - UNMEASURED))
def test_takes_over_the_first_input(op):
    """Claimed: output 0 takes over input 0."""
    assert shares(op, 0)


@pytest.mark.parametrize("op", sorted(set(rows("kReuseN")) - UNMEASURED))
def test_takes_over_any_input(op):
    """Claimed: output 0 takes over whichever input is free."""
    assert shares(op, 0)
    assert shares(op, 1)


@pytest.mark.parametrize("op", sorted((set(rows("kAlias")) | {"IdentityN"}) - UNMEASURED))
def test_is_another_name_of_its_input(op):
    """Claimed: output 0 is input 0."""
    assert shares(op, 0)


def test_the_measurement_can_fail():
    """MatMul never takes over an input: the method tells the two apart."""
    graph = tf.Graph()
    with graph.as_default():
        x = make_input(tf.float32)
        node = tf.raw_ops.MatMul(a=x, b=np.ones((8, 8), np.float32)).op
        with tf.control_dependencies([node]):
            done = tf.no_op()
        found = addresses(done)
    assert found[node.name, 0] != found[x.op.name, 0]


def test_host_rows_agree_with_the_registered_kernels():
    """Claimed: on an accelerator every output lives on the host. DEFAULT kernels say so."""
    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    outputs = {op.name: {arg.name for arg in op.output_arg} for op in ops.op}
    claimed = set(re.findall(r'\{"(\w+)", [^{}]*kAllHost', TABLE.read_text().split("kFamilies")[0]))
    assert len(claimed) > 10
    seen = set()
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.op in claimed and kernel.device_type == "DEFAULT":
            seen.add(kernel.op)
            assert outputs[kernel.op] <= set(kernel.host_memory_arg), kernel
    assert len(seen) > 10
