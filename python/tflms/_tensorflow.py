# SPDX-License-Identifier: Apache-2.0
"""Everything that depends on how TensorFlow is made: versions, loading the plugin, its state."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import re
import warnings
from pathlib import Path
from typing import Any

from tflms._errors import TflmsError

OLDEST_VERSION = (2, 13)
NEWEST_TESTED_VERSION = (2, 21)

_spellings = itertools.count(1)


def require() -> Any:
    """The TensorFlow module, imported if need be.

    Raises:
        TflmsError: TensorFlow is missing, broken or too old.
    """
    if importlib.util.find_spec("tensorflow") is None:
        raise TflmsError(
            "tflms needs TensorFlow, which is not installed here. Install tensorflow or "
            f"tensorflow-cpu {_dotted(OLDEST_VERSION)} or later."
        )
    try:
        tf = importlib.import_module("tensorflow")
    except ImportError as error:
        raise TflmsError(f"TensorFlow is installed but cannot be imported: {error}") from error
    check_version(str(tf.__version__))
    return tf


def check_version(version: str) -> None:
    """Refuses versions that lack what tflms needs, warns of those it was not tested with."""
    match = re.match(r"(\d+)\.(\d+)", version)
    if match is None:
        warnings.warn(
            f"TensorFlow has the version {version!r}, which tflms cannot read; it carries on as if "
            f"it were {_dotted(NEWEST_TESTED_VERSION)}.",
            RuntimeWarning,
            stacklevel=4,
        )
        return
    number = (int(match.group(1)), int(match.group(2)))
    if number < OLDEST_VERSION:
        raise TflmsError(
            f"tflms needs TensorFlow {_dotted(OLDEST_VERSION)} or later, found {version}."
        )
    if number > NEWEST_TESTED_VERSION:
        warnings.warn(
            f"tflms was tested with TensorFlow {_dotted(OLDEST_VERSION)} to "
            f"{_dotted(NEWEST_TESTED_VERSION)}, not with {version}. It should work, since it uses "
            "TensorFlow's stable C interface only.",
            RuntimeWarning,
            stacklevel=4,
        )


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def load_plugin(path: Path) -> None:
    """Makes TensorFlow load the plugin and register its graph optimizer once more.

    TensorFlow's own ``load_pluggable_device_library`` also lists the physical devices anew, which
    forgets settings such as memory growth; the plugin brings no device, so that step is left out.
    TensorFlow loads each path once: a second registration (for another device type) needs another
    spelling of the same path.
    """
    load_library = importlib.import_module("tensorflow.python.framework.load_library")
    spelling = str(path.parent) + "/" + "./" * next(_spellings) + path.name
    try:
        try:
            load_library.py_tf.TF_LoadPluggableDeviceLibrary(spelling)
        except AttributeError:
            load_library.load_pluggable_device_library(spelling)
    except Exception as error:  # TensorFlow raises many types here
        raise TflmsError(f"TensorFlow does not load the plugin {path}: {error}") from error


def initialized_context() -> Any:
    """TensorFlow's eager context if its devices have been started, else ``None``."""
    context_module = importlib.import_module("tensorflow.python.eager.context")
    context = context_module.context()
    return context if getattr(context, "_initialized", False) else None


def earlier_functions() -> list[str]:
    """Names of the functions that TensorFlow has traced so far."""
    context = initialized_context()
    if context is None:
        return []
    try:
        names = context.list_function_names()
    except (AttributeError, RuntimeError):
        return []
    return sorted(n.decode() if isinstance(n, bytes) else str(n) for n in names)


def warn_about_earlier_functions() -> None:
    """Warns when functions were traced that may already have got their final form."""
    names = [name for name in earlier_functions() if name.startswith("__inference_")]
    if names:
        warnings.warn(
            f"{len(names)} functions were traced before tflms.enable(), e.g. {names[0]}. Those that "
            "ran already keep running without tflms until they are traced anew; call "
            "tflms.enable() before the first step, or make the function (or Keras model) again.",
            RuntimeWarning,
            stacklevel=4,
        )
