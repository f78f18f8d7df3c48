# SPDX-License-Identifier: Apache-2.0
"""Lets Keras call its step once for each step, also with ``steps_per_execution`` over 1.

Keras 3 then puts the step into a loop inside one graph, and no tensor of a loop's body is swapped.
While tflms is on, the same steps run one after another, called from Python: with the same results,
callbacks after the same steps, and a step's graph that is that of ``steps_per_execution=1``. What it
costs is one call from Python for each step, which the loop was there to save.

Keras 2 (TensorFlow 2.13 to 2.15), and a step that XLA compiles, stay as they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tflms._keras import keras_class

_original: Any = None


class _SingleStep:
    """A model as it is, but for ``steps_per_execution``."""

    steps_per_execution = 1

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def _trainer_class() -> Any:
    """The class of Keras 3 that makes the functions of ``fit``; ``None`` where there is none."""
    trainer = keras_class("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer")
    return trainer if hasattr(trainer, "_make_function") else None


def take_steps_out_of_loops() -> None:
    """From now on functions that Keras makes have no loop over steps. Earlier ones keep theirs."""
    global _original
    trainer = _trainer_class()
    if trainer is None or _original is not None:
        return
    _original = trainer._make_function
    trainer._make_function = _make_function


def leave_steps_in_loops() -> None:
    """Undoes ``take_steps_out_of_loops``."""
    global _original
    trainer = _trainer_class()
    if trainer is not None and _original is not None:
        trainer._make_function = _original
    _original = None


def _make_function(model: Any, step_function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What ``fit`` calls with an iterator for every ``steps_per_execution`` steps."""
    steps = model.steps_per_execution
    in_a_loop: Callable[[Any], Any] = _original(model, step_function)
    if steps == 1 or model.run_eagerly or model.jit_compile:
        return in_a_loop
    one_step: Callable[[Any], Any] = _original(_SingleStep(model), step_function)
    tf = importlib.import_module("tensorflow")
    iterators = (tf.data.Iterator, tf.distribute.DistributedIterator)

    def one_by_one(iterator: Any) -> Any:
        if not isinstance(iterator, iterators):  # train_on_batch: no loop in a graph
            return in_a_loop(iterator)
        outputs = one_step(iterator)
        for _ in range(steps - 1):
            try:
                outputs = one_step(iterator)
            except (StopIteration, tf.errors.OutOfRangeError):
                break  # the data ended among these steps; the next call raises
        return outputs

    return one_by_one
