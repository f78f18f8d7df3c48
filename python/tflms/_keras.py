# SPDX-License-Identifier: Apache-2.0
"""Keeps Keras from compiling steps with XLA on its own account while tflms is on.

Keras 3 resolves ``jit_compile="auto"`` to True on a machine with an accelerator. Such a step is
one opaque call for every graph pass. Only that automatic choice is changed; what the user asks for
stays.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_original: Any = None


def keras_class(module: str, name: str) -> Any:
    """A class of Keras's own modules; ``None`` where this Keras has none or none is loaded."""
    if "keras" not in sys.modules:
        return None
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _trainer_class() -> Any:
    """The class of Keras 3 that makes the choice; ``None`` for Keras 2 or without Keras."""
    trainer = keras_class("keras.src.trainers.trainer", "Trainer")
    return trainer if hasattr(trainer, "_resolve_auto_jit_compile") else None


def turn_off_automatic_compilation() -> None:
    """From now on ``"auto"`` means False. Models compiled earlier keep what they have."""
    global _original
    trainer = _trainer_class()
    if trainer is None or _original is not None:
        return
    _original = trainer._resolve_auto_jit_compile
    trainer._resolve_auto_jit_compile = _never


def _never(model: Any) -> bool:
    del model
    return False


def restore_automatic_compilation() -> None:
    """Undoes ``turn_off_automatic_compilation``."""
    global _original
    trainer = _trainer_class()
    if trainer is not None and _original is not None:
        trainer._resolve_auto_jit_compile = _original
    _original = None
