# SPDX-License-Identifier: Apache-2.0
"""Makes ``TFLMS=1`` and ``TFLMS_SIM_GPU=1`` work in programs that never mention tflms.

The wheel installs ``tflms_autostart.pth``, which Python reads when it starts; the one line in it
imports this module if one of the two variables is set and does nothing otherwise. Importing this
module puts a finder in front of ``sys.meta_path`` that waits for the first import of ``tensorflow``.
When that has run, the simulated GPU is started and then tflms is switched on. Nothing is imported
or loaded in processes that do not use TensorFlow.

A fault in here must not take the program down: it becomes one line on standard error.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_OFF = ("", "0", "false", "off", "no")


def is_on(name: str) -> bool:
    """Whether the environment variable is set to something that means yes."""
    return os.environ.get(name, "").strip().lower() not in _OFF


class _ThenLoader(importlib.abc.Loader):
    """Runs the module with its own loader, and then something else."""

    def __init__(self, loader: Any, after: Callable[[], None]) -> None:
        self._loader = loader
        self._after = after

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # Everybody after us sees the loader that the module would have had.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._after()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds ``tensorflow`` as Python would have, and attaches what is to follow.

    It stays until the module is run: many programs look for a spec without importing it.
    """

    def __init__(self, after: Callable[[], None]) -> None:
        self._after = after
        self._searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "tensorflow" or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenLoader(spec.loader, self._finish)
        return spec

    def _finish(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._after()


def _complain(what: str, error: BaseException) -> None:
    sys.stderr.write(f"tflms: {what}: {error}\n")


def after_import() -> None:
    """Starts the simulated GPU, then tflms, as the environment says."""
    if is_on("TFLMS_SIM_GPU"):
        try:
            from tflms._simulated_gpu import simulate_gpu_from_environment

            simulate_gpu_from_environment()
        except Exception as error:
            _complain("TFLMS_SIM_GPU=1 cannot start the simulated GPU", error)
    if is_on("TFLMS"):
        try:
            import tflms

            tflms.enable()
        except Exception as error:
            _complain("TFLMS=1 has no effect", error)


def install() -> None:
    """Waits for TensorFlow, or acts at once if it is there already."""
    if not (is_on("TFLMS") or is_on("TFLMS_SIM_GPU")):
        return
    if "tensorflow" in sys.modules:
        after_import()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(after_import))


install()
