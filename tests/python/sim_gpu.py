# SPDX-License-Identifier: Apache-2.0
"""Cases for the simulated GPU, several to a process.

Devices are fixed once per process, and a TensorFlow process takes seconds to start. So a *case* is
a function in a test file that names the child it runs in, and all cases of one child run in one
process, one after another:

    @case("plain")
    def added(gpu): ...            # runs in the child; what it gives back must be JSON

    def test_added():
        assert result(added) == 2  # runs in pytest; an exception in the case is raised here

A case must clean up after itself only in so far as it counts differences, not totals: whatever it
made is gone before the next one starts.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts import run_ok

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
MARK = "sim-gpu-result "

Case = Callable[[Any], Any]


def _one_thread() -> None:
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)


def _last_two_visible() -> None:
    import tensorflow as tf

    tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[1:], "GPU")


@dataclass(frozen=True)
class Child:
    """How a child process starts."""

    settings: dict[str, Any]
    onednn: bool = False
    setup: Callable[[], None] = lambda: None
    environ: dict[str, str] = field(default_factory=dict)


CHILDREN = {
    "plain": Child({"memory_limit_bytes": 256 * MIB, "wait_when_full": False}),
    "workspace": Child(
        {
            "memory_limit_bytes": 256 * MIB,
            "wait_when_full": False,
            "workspace_bytes": {"MatMul": 32 * MIB, "Transpose": 256 * MIB},
            "scratch_on_device": True,
            "device_type": "SIM",
        }
    ),
    "link": Child({"memory_limit_bytes": 256 * MIB, "link_bytes_per_s": (160e6, 80e6)}),
    "three": Child({"memory_limit_bytes": 256 * MIB, "count": 3}, setup=_last_two_visible),
    "training": Child({"memory_limit_bytes": 256 * MIB}, setup=_one_thread),
    "onednn": Child({"memory_limit_bytes": 256 * MIB}, onednn=True, setup=_one_thread),
}


def case(*children: str) -> Callable[[Case], Case]:
    """Marks a function as a case of these children."""
    assert set(children) <= set(CHILDREN)

    def mark(function: Case) -> Case:
        function.children = children  # type: ignore[attr-defined]
        return function

    return mark


def result(function: Case, child: str | None = None) -> Any:
    """What the case gave back in its child (which child: its only one, unless said)."""
    names = function.children  # type: ignore[attr-defined]
    name = child or names[0]
    assert name in names
    outcome = _results(name)[f"{function.__module__}.{function.__name__}"]
    assert "error" not in outcome, f"in child {name!r}:\n{outcome['error']}"
    return outcome["value"]


_known: dict[str, dict[str, Any]] = {}


def _results(name: str) -> dict[str, Any]:
    """All results of one child; it runs once, also when several pytest workers ask for it."""
    if name not in _known:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
        _known[name] = _shared(name, run) if run else _run(name)
    return _known[name]


def _shared(name: str, run: str) -> dict[str, Any]:
    """As `_run`, once for all workers of the pytest run: the first to come locks the others out."""
    folder = Path(tempfile.gettempdir()) / f"tflms-sim-gpu-{os.getuid()}-{run}"
    folder.mkdir(mode=0o700, exist_ok=True)
    with open(folder / f"{name}.json", "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        if not text:
            text = json.dumps(_run(name))
            file.write(text)
            file.flush()
    results: dict[str, Any] = json.loads(text)
    return results


def _run(name: str) -> dict[str, Any]:
    child = CHILDREN[name]
    output = run_ok(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        f"import sim_gpu; sim_gpu.run_cases({name!r})\n",
        **{"TF_ENABLE_ONEDNN_OPTS": str(int(child.onednn)), **child.environ},
    )
    lines = [line[len(MARK) :] for line in output.splitlines() if line.startswith(MARK)]
    assert len(lines) == 1, output
    results: dict[str, Any] = json.loads(lines[0])
    return results


# ---- used inside the child ----------------------------------------------------------------------


def run_cases(name: str) -> None:
    """Runs all cases of the child; prints one line of JSON."""
    import tflms

    child = CHILDREN[name]
    gpu = tflms.simulate_gpu(**child.settings)
    child.setup()
    results = {}
    for path in sorted(HERE.glob("test_sim_gpu_*.py")):
        module = importlib.import_module(path.stem)
        for function in list(vars(module).values()):
            if name in getattr(function, "children", ()) and function.__module__ == path.stem:
                results[f"{path.stem}.{function.__name__}"] = _run_case(function, gpu)
    sys.stdout.write(f"{MARK}{json.dumps(results)}\n")


def _run_case(function: Case, gpu: Any) -> dict[str, Any]:
    try:
        return {"value": function(gpu)}
    except Exception:
        return {"error": traceback.format_exc()}
    finally:
        gc.collect()
