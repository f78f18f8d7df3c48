# SPDX-License-Identifier: Apache-2.0
"""What the command ``tflms`` does with TensorFlow: text files and shapes. Running graphs: `_cli_run`."""

from __future__ import annotations

import importlib
from typing import Any

from tflms import _tensorflow
from tflms._errors import TflmsError


def from_text(content: bytes) -> bytes:
    """A file in protobuf's text format as the binary file of the same kind."""
    text_format = importlib.import_module("google.protobuf.text_format")

    text = content.decode("utf-8")
    message = _kind(text)()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        raise TflmsError(
            f"not a {type(message).__name__} in protobuf's text format: {error}"
        ) from error
    return bytes(message.SerializeToString(deterministic=True))


def to_text(content: bytes) -> str:
    """A binary file in protobuf's text format."""
    text_format = importlib.import_module("google.protobuf.text_format")

    return str(text_format.MessageToString(read(content)))


def read(content: bytes) -> Any:
    """The message in a binary file, of the kind the content says.

    Raises:
        TflmsError: it is none.
    """
    protobuf = importlib.import_module("google.protobuf.message")

    # As in src/cli/container.cc: a SavedModel begins with a number, a GraphDef with nodes.
    graph_def, meta_graph, saved_model = (kind() for kind in _all_kinds())
    try:
        if content[:1] == b"\x08":
            saved_model.ParseFromString(content)
            return saved_model
        graph_def.ParseFromString(content)
        if all(node.name and node.op for node in graph_def.node):
            return graph_def
    except protobuf.DecodeError:
        pass
    try:
        meta_graph.ParseFromString(content)
    except protobuf.DecodeError as error:
        raise TflmsError(f"the file is damaged or no graph: {error}") from error
    return meta_graph


def graphs_in(message: Any) -> list[Any]:
    """The GraphDefs of a message that `read` gave."""
    if hasattr(message, "meta_graphs"):
        return [meta.graph_def for meta in message.meta_graphs]
    return [message.graph_def] if hasattr(message, "graph_def") else [message]


def with_shapes(content: bytes) -> bytes:
    """The file with the attribute ``_output_shapes`` on every node of its graphs."""
    tf = _tensorflow.require()
    message = read(content)
    for graph_def in graphs_in(message):
        graph = tf.Graph()
        with graph.as_default():
            try:
                tf.import_graph_def(graph_def, name="")
            except (ValueError, tf.errors.OpError) as error:
                raise TflmsError(
                    f"TensorFlow cannot import the graph, so that its shapes stay unknown "
                    f"(--no-infer-shapes goes on without): {error}"
                ) from error
        graph_def.CopyFrom(graph.as_graph_def(add_shapes=True))
    return bytes(message.SerializeToString(deterministic=True))


def _all_kinds() -> tuple[Any, Any, Any]:
    _tensorflow.require()
    from tensorflow.core.framework import graph_pb2
    from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

    return graph_pb2.GraphDef, meta_graph_pb2.MetaGraphDef, saved_model_pb2.SavedModel


def _kind(text: str) -> Any:
    """The kind of message that a text is about, by the fields of its outermost layer."""
    graph_def, meta_graph, saved_model = _all_kinds()
    fields = {line.split(" ")[0].rstrip(":{") for line in text.splitlines() if line[:1].isalpha()}
    if fields & {"meta_graphs", "saved_model_schema_version"}:
        return saved_model
    return meta_graph if fields & {"graph_def", "meta_info_def"} else graph_def
