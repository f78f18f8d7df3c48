# SPDX-License-Identifier: Apache-2.0
"""``tflms verify --run``: both graphs run on the same random feeds, results compared bit for bit.

A GraphDef or MetaGraphDef runs in a session. Placeholders are fed, variables are set; what nothing
reads, and what ``--fetch`` names, is fetched. A SavedModel is loaded and each of its signatures is
called. Everything is drawn from a fixed seed. Operations that draw random numbers of their own
differ from run to run unless the graph gives them a seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tflms import _cli_tensorflow, _tensorflow
from tflms._errors import TflmsError

_SEED = 20180702
_DEFAULT_BATCH = 2


def compare(original: str, rewritten: str, fetch: list[str], batch_size: int) -> list[str]:
    """Runs both; gives one line for each result that differs, an empty list when none does."""
    if Path(original).is_dir():
        return _compare(
            _run_signatures(original, batch_size), _run_signatures(rewritten, batch_size)
        )
    graphs = [
        _cli_tensorflow.graphs_in(_cli_tensorflow.read(Path(path).read_bytes()))[0]
        for path in (original, rewritten)
    ]
    session = _Session(graphs[0], fetch, batch_size)
    return _compare(session.run(graphs[0]), session.run(graphs[1]))


def _compare(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    if not before:
        raise TflmsError("verify --run: nothing to fetch; name a result with --fetch")
    faults = []
    for name, value in before.items():
        if name not in after:
            faults.append(f"{name}: is gone")
        elif not _same_bits(value, after[name]):
            faults.append(f"{name}: differs")
    return faults


def _same_bits(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype == object:
        return bool((a == b).all())
    return bool(a.tobytes() == b.tobytes())


def _draw(random: Any, dtype: Any, shape: list[int]) -> Any:
    """A random value for a tensor of that type."""
    if dtype.is_bool:
        return random.integers(0, 2, shape).astype(bool)
    if dtype.is_floating or dtype.is_complex:
        return random.standard_normal(shape).astype(dtype.as_numpy_dtype)
    if dtype.is_integer:
        return random.integers(0, 2, shape).astype(dtype.as_numpy_dtype)
    raise TflmsError(f"verify --run: cannot make up a value of type {dtype.name}")


def _extents(shape: Any, batch_size: int) -> list[int]:
    if shape.rank is None:
        raise TflmsError("verify --run: an input has an unknown rank; nothing can be fed to it")
    return [extent if extent is not None else batch_size for extent in shape.as_list()]


class _Session:
    """Runs graphs that have the nodes of `graph_def` with the same feeds and variables."""

    def __init__(self, graph_def: Any, fetch: list[str], batch_size: int) -> None:
        self.fetches = fetch or _leaves(graph_def)
        self.batch_size = batch_size or _DEFAULT_BATCH

    def run(self, graph_def: Any) -> dict[str, Any]:
        import numpy as np

        tf = _tensorflow.require()
        random = np.random.default_rng(_SEED)
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(_without_devices(graph_def), name="")
            operations = {op.name: op for op in graph.get_operations()}
            assigns, feeds = [], {}
            for name in sorted(operations):
                op = operations[name]
                if op.type in ("Placeholder", "PlaceholderV2"):
                    feeds[op.outputs[0]] = self._value(random, op)
                elif op.type == "VarHandleOp":
                    assigns.append(
                        tf.raw_ops.AssignVariableOp(
                            resource=op.outputs[0], value=self._value(random, op)
                        )
                    )
                elif op.type in ("VariableV2", "Variable"):
                    value = self._value(random, op)
                    assigns.append(tf.compat.v1.assign(op.outputs[0], value).op)
            fetches = self._fetches(graph, operations)
            config = tf.compat.v1.ConfigProto(
                allow_soft_placement=True,
                inter_op_parallelism_threads=1,
                intra_op_parallelism_threads=1,
            )
            with tf.compat.v1.Session(graph=graph, config=config) as session:
                session.run(assigns)
                return dict(
                    zip(fetches, map(np.asarray, session.run(list(fetches.values()), feeds)))
                )

    def _value(self, random: Any, op: Any) -> Any:
        tf = _tensorflow.require()
        shape = tf.TensorShape(op.get_attr("shape"))
        return _draw(random, tf.as_dtype(op.get_attr("dtype")), _extents(shape, self.batch_size))

    def _fetches(self, graph: Any, operations: dict[str, Any]) -> dict[str, Any]:
        fetches = {}
        for name in self.fetches:
            op = operations.get(name.split(":")[0])
            if op is None:
                continue
            outputs = [graph.get_tensor_by_name(name)] if ":" in name else op.outputs
            for tensor in outputs:
                if tensor.dtype.base_dtype.name not in ("resource", "variant"):
                    fetches[tensor.name] = tensor
        return fetches


def _leaves(graph_def: Any) -> list[str]:
    """Nodes whose outputs nothing reads; those that tflms added are none."""
    read = {name.lstrip("^").split(":")[0] for node in graph_def.node for name in node.input}
    return sorted(node.name for node in graph_def.node if node.name not in read)


def _without_devices(graph_def: Any) -> Any:
    """A copy that runs where there is no accelerator, and no cluster of the graph's job."""
    copy = type(graph_def)()
    copy.CopyFrom(graph_def)
    for node in copy.node:
        node.device = ""
    return copy


def _run_signatures(folder: str, batch_size: int) -> dict[str, Any]:
    import numpy as np

    tf = _tensorflow.require()
    loaded = tf.saved_model.load(folder)
    random = np.random.default_rng(_SEED)
    results = {}
    for name in sorted(loaded.signatures):
        signature = loaded.signatures[name]
        _, inputs = signature.structured_input_signature
        feeds = {
            key: tf.constant(
                _draw(random, spec.dtype, _extents(spec.shape, batch_size or _DEFAULT_BATCH)),
                spec.dtype,
            )
            for key, spec in sorted(inputs.items())
        }
        for key, value in sorted(signature(**feeds).items()):
            results[f"signature {name}, {key}"] = value.numpy()
    return results
