# SPDX-License-Identifier: Apache-2.0
"""What the builders of ``models.py`` give back and are made of.

Weights and data come from fixed seeds. Called in a child process only, see ``harness.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Training:
    """A model that can be trained on.

    Attributes:
        step: runs one training step and gives the loss.
        weights: the present values of all that is trained.
    """

    step: Callable[[], float]
    weights: Callable[[], list[np.ndarray]]

    def fingerprint(self) -> str:
        """A hash of all weights, to the last bit."""
        digest = hashlib.sha256()
        for value in self.weights():
            digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()[:32]


def random_values(*shape: int, seed: int = 7) -> np.ndarray:
    """Numbers of the standard normal distribution."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def random_classes(batch: int, classes: int, seed: int = 8) -> np.ndarray:
    """A class for each of `batch` examples."""
    return np.random.default_rng(seed).integers(0, classes, batch).astype(np.int32)


def seeded_keras() -> Any:
    """Keras with all seeds set."""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(11)
    return tf.keras


def keras_training(
    model: Any, optimizer: Any, loss: Any, x: Any, y: Any, **compile: Any
) -> Training:
    """A training with ``train_on_batch`` on one batch, the same each step."""
    model.compile(optimizer, loss, jit_compile=False, **compile)

    def step() -> float:
        return float(np.asarray(model.train_on_batch(x, y)).ravel()[0])

    return Training(step, lambda: [np.asarray(w) for w in model.get_weights()])
