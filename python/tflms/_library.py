# SPDX-License-Identifier: Apache-2.0
"""The C surface of the plugin, libtflms.so, through ctypes.

The functions mirror ``include/tflms/c_api.h`` one to one, with JSON texts turned into Python
objects. Loading the library does not start TensorFlow and has no effect on it.
"""

from __future__ import annotations

import ctypes
import functools
import json
from pathlib import Path
from typing import Any

from tflms._errors import TflmsError

_LIBRARY_NAME = "libtflms.so"


class _TflmsApi(ctypes.Structure):
    """``struct TflmsApi`` of c_api.h: members in the same order."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("version", ctypes.CFUNCTYPE(ctypes.c_char_p)),
        ("option_table", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("rule_table", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("planner_table", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("configure", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)),
        ("settings", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("reports", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("clear_reports", ctypes.CFUNCTYPE(None)),
        ("free_string", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("plans", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("cost_table", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("watch_costs", ctypes.CFUNCTYPE(None, ctypes.c_int)),
        ("plan_files", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("set_counters", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)),
    ]


class Library:
    """The loaded plugin. One per process, from ``library()``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._handle = ctypes.CDLL(str(path))
            get_api = self._handle.TflmsGetApi
        except (OSError, AttributeError) as error:
            raise TflmsError(
                f"cannot load {path}: {error}. Reinstall tflms (pip install --force-reinstall "
                "tflms) on this machine."
            ) from error
        get_api.restype = ctypes.POINTER(_TflmsApi)
        get_api.argtypes = []
        self._api = get_api().contents
        if self._api.struct_size < ctypes.sizeof(_TflmsApi):
            raise TflmsError(
                f"{path} is older than the Python package: its function table has "
                f"{self._api.struct_size} bytes, expected {ctypes.sizeof(_TflmsApi)}. "
                "Reinstall tflms."
            )

    def _take(self, address: int | None) -> str | None:
        """The text at ``address``, which is given back to the library."""
        if not address:
            return None
        try:
            return ctypes.string_at(address).decode("utf-8")
        finally:
            self._api.free_string(address)

    def _json(self, address: int | None) -> Any:
        text = self._take(address)
        return json.loads(text) if text else None

    def version(self) -> str:
        """Version of the library, e.g. ``"0.1.0"``."""
        return str(self._api.version().decode())

    def option_table(self) -> list[dict[str, Any]]:
        """Rows with name, type, unit, default, range and help, in the order of the C++ struct."""
        return list(self._json(self._api.option_table()) or [])

    def rule_table(self) -> list[dict[str, Any]]:
        """Rewriting rules with name, summary and formula, in running order."""
        return list(self._json(self._api.rule_table()) or [])

    def planner_table(self) -> list[dict[str, Any]]:
        """Planners with name, summary and formula."""
        return list(self._json(self._api.planner_table()) or [])

    def configure(self, on: bool, values: dict[str, Any]) -> None:
        """Turns rewriting on or off; names not given keep environment value or default.

        Raises:
            ValueError: an unknown option or a value out of range; settings are unchanged then.
        """
        error = self._take(self._api.configure(int(on), json.dumps(values).encode()))
        if error is not None:
            raise ValueError(error)

    def settings(self) -> dict[str, Any]:
        """What is in force: ``on``, ``options`` by name, ``registered_device_types``, ...

        Raises:
            ValueError: the environment sets an option to a value that is not allowed.
        """
        settings = dict(self._json(self._api.settings()) or {})
        if settings.get("error"):
            raise ValueError(settings["error"])
        return settings

    def reports(self) -> dict[str, Any]:
        """``{"graphs_seen": n, "reports": [...]}``, oldest report first."""
        return dict(self._json(self._api.reports()) or {"graphs_seen": 0, "reports": []})

    def plans(self) -> list[dict[str, Any]]:
        """The plans of the last rewritten graphs, oldest first."""
        return list(self._json(self._api.plans()) or [])

    def cost_tables(self) -> list[dict[str, Any]]:
        """``{"graph", "ops": {node: {"op", "key", "time_us"}}}`` of the last graphs, oldest first."""
        return list(self._json(self._api.cost_table()) or [])

    def watch_costs(self, on: bool) -> None:
        """Whether cost tables are also kept of graphs that pass while tflms is off."""
        self._api.watch_costs(int(on))

    def plan_files(self) -> list[dict[str, Any]]:
        """The same plans as a plan file has them: ``graph``, ``device``, ``plan``."""
        return list(self._json(self._api.plan_files()) or [])

    def set_counters(self, read_copies: int, take_runs: int) -> None:
        """Addresses of the functions that feedback reads; 0 for none."""
        self._api.set_counters(read_copies or None, take_runs or None)

    def clear_reports(self) -> None:
        self._api.clear_reports()


def library_path() -> Path:
    """Where the installed plugin is.

    Raises:
        TflmsError: it is not there.
    """
    path = Path(__file__).resolve().parent / _LIBRARY_NAME
    if not path.is_file():
        raise TflmsError(
            f"{path} is missing: this copy of tflms was not built. Install it with `pip install .` "
            "from its source folder."
        )
    return path


@functools.cache
def library() -> Library:
    """The plugin, loaded once per process."""
    return Library(library_path())
