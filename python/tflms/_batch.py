# SPDX-License-Identifier: Apache-2.0
"""Learns the batch size from what Keras feeds a step.

A step that ``fit`` traces has an open batch extent whenever the last batch may be smaller, and with
it nearly every tensor's size is unknown. Keras knows the number: its data adapters do, or the data set
under them. It is told to the plugin before the step is traced, unless the user has set
``batch_size``. Full batches count: a smaller last batch needs less.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

_MOST_STAGES = 1000  # of an input pipeline

_watching = False


def watch(tell: Callable[[int], None]) -> None:
    """From now on calls ``tell`` with the batch size of one replica whenever Keras opens its data."""
    global _watching
    if _watching:
        return
    for module, name, strategy_of in (
        ("keras.src.backend.tensorflow.trainer", "TFEpochIterator", _keras3_strategy),
        ("keras.src.engine.data_adapter", "DataHandler", _present_strategy),
    ):
        owner = _class(module, name)
        if owner is not None:
            _wrap(owner, strategy_of, tell)
            _watching = True


def _class(module: str, name: str) -> Any:
    """The class, or ``None`` where this Keras has none or Keras is not loaded."""
    if "keras" not in sys.modules and "tensorflow" not in sys.modules:
        return None
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _wrap(owner: Any, strategy_of: Callable[[Any], Any], tell: Callable[[int], None]) -> None:
    original = owner.__init__

    @functools.wraps(original)
    def opened(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        size = _adapter_batch(getattr(self, "data_adapter", getattr(self, "_adapter", None)))
        if size:
            replicas = max(1, int(strategy_of(self).num_replicas_in_sync))
            tell(-(-size // replicas))

    owner.__init__ = opened


def _keras3_strategy(iterator: Any) -> Any:
    return iterator._distribute_strategy


def _present_strategy(handler: Any) -> Any:
    del handler
    return sys.modules["tensorflow"].distribute.get_strategy()


def _adapter_batch(adapter: Any) -> int | None:
    """The batch size behind one of Keras's data adapters, ``None`` when it cannot be told."""
    size = getattr(adapter, "batch_size", None)
    size = size() if callable(size) else size
    if size:
        return int(size)
    dataset = getattr(adapter, "_dataset", None)
    if dataset is not None:
        return dataset_batch(dataset)
    sequence = getattr(adapter, "py_dataset", getattr(adapter, "_keras_sequence", None))
    size = getattr(sequence, "batch_size", None)
    if isinstance(size, int):
        return size
    batches = getattr(adapter, "_first_batches", None)
    if batches:
        return _rows(batches[0])
    return _rows(sequence[0]) if sequence is not None and len(sequence) else None


def _rows(batch: Any) -> int | None:
    shape = getattr(sys.modules["tensorflow"].nest.flatten(batch)[0], "shape", None)
    return int(shape[0]) if shape and shape[0] else None


def dataset_batch(dataset: Any) -> int | None:
    """The batch size of a ``tf.data.Dataset``: of its elements, or of its last batching stage."""
    tf = sys.modules["tensorflow"]
    for spec in tf.nest.flatten(dataset.element_spec):
        shape = getattr(spec, "shape", None)
        if shape is not None and shape.rank and shape[0] is not None:
            return int(shape[0])
    for _ in range(_MOST_STAGES):
        size = getattr(dataset, "_batch_size", None)
        if size is not None and "Batch" in type(dataset).__name__:
            value = tf.get_static_value(size)
            return None if value is None else int(value)
        dataset = getattr(dataset, "_input_dataset", getattr(dataset, "_original_dataset", None))
        if dataset is None:
            return None
    return None
