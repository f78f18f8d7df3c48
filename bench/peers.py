# SPDX-License-Identifier: Apache-2.0
"""Runs peers_bench, the comparison of planners in the simulator, from Python.

The program is built with `cmake --preset release -DTFLMS_BENCH=ON`; TFLMS_BUILD names another build
folder than build/release.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Planners of the plugin, in the order of preference; those that the build does not have are left out.
OURS = ("joint", "level-distance")


def program(name: str = "peers_bench") -> Path:
    """The built program of bench/core; exits when there is none."""
    builds = [os.environ.get("TFLMS_BUILD", ""), "build/release", "build/dev"]
    for build in filter(None, builds):
        path = ROOT / build / "bench" / "core" / name
        if path.exists():
            return path
    raise SystemExit(f"{name} is not built: cmake --preset release -DTFLMS_BENCH=ON")


def policies() -> list[str]:
    """All policies of the program."""
    out = subprocess.run(
        [str(program()), "--policies", "?"], capture_output=True, text=True, check=False
    )
    return out.stdout.split()


def ours() -> list[str]:
    """The plugin's planners among them."""
    known = policies()
    return [name for name in OURS if name in known]


def run(
    problem: dict[str, Any] | Path,
    budgets: Sequence[float | str],
    names: Sequence[str],
    folder: Path,
    *,
    link_gb_per_s: float | None = None,
    machine: str = "v100-pcie3",
    order: str = "best",
) -> list[dict[str, Any]]:
    """One row for each budget and policy. Budgets are bytes, or texts such as "60%"."""
    file = problem if isinstance(problem, Path) else folder / "problem.json"
    if not isinstance(problem, Path):
        file.write_text(json.dumps(problem), encoding="utf-8")
    out = folder / "rows.json"
    command = [str(program()), str(file), "--json", str(out), "--machine", machine]
    command += ["--order", order, "--policies", ",".join(names)]
    command += ["--budgets", ",".join(b if isinstance(b, str) else f"{b:.0f}" for b in budgets)]
    if link_gb_per_s is not None:
        command += ["--link", str(link_gb_per_s)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    rows: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))["rows"]
    return rows
