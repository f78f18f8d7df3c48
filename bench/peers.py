# SPDX-License-Identifier: Apache-2.0
"""Runs peers_bench, the comparison of planners in the simulator: from Python, or as a table.

    python bench/peers.py                         # a generated training step, all policies
    python bench/peers.py problem.json --budgets 70% 50% --json out.json

The program is built with `cmake --preset release -DTFLMS_BENCH=ON`; TFLMS_BUILD names another build
folder than build/release.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
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
    problem: dict[str, Any] | Path | None,
    budgets: Sequence[float | str],
    names: Sequence[str],
    folder: Path,
    *,
    link_gb_per_s: float | None = None,
    machine: str = "v100-pcie3",
    order: str = "best",
) -> list[dict[str, Any]]:
    """One row for each budget and policy. Budgets are bytes, or texts such as "60%".

    Without a problem: that of the program's own training step.
    """
    file = problem if isinstance(problem, Path) else folder / "problem.json"
    if isinstance(problem, dict):
        file.write_text(json.dumps(problem), encoding="utf-8")
    out = folder / "rows.json"
    command = [str(program()), *([] if problem is None else [str(file)])]
    command += [
        "--json",
        str(out),
        "--machine",
        machine,
        "--order",
        order,
        "--policies",
        ",".join(names),
    ]
    command += ["--budgets", ",".join(b if isinstance(b, str) else f"{b:.0f}" for b in budgets)]
    if link_gb_per_s is not None:
        command += ["--link", str(link_gb_per_s)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    rows: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))["rows"]
    return rows


def text(row: dict[str, Any]) -> str:
    """A row for people; the overhead is over a step without a limit."""
    if row["fault"]:
        return f"  {row['policy']:16} {row['fault']}"
    return (
        f"  {row['policy']:16} {'fits' if row['fits'] else 'no  '} time "
        f"{100 * (row['time_us'] / row['compute_us'] - 1):+7.1f} %  recomputed "
        f"{100 * row['recompute_us'] / row['compute_us']:6.1f} %  out "
        f"{row['out_bytes'] / 2**20:9.1f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem", nargs="?", type=Path, help="a problem file, or none")
    parser.add_argument("--budgets", nargs="*", default=["80%", "60%", "40%"])
    parser.add_argument("--policies", nargs="*", help="all when left out")
    parser.add_argument("--machine", default="v100-pcie3")
    parser.add_argument("--json", type=Path, help="write the rows here")
    args = parser.parse_args()
    names = args.policies or policies()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for budget in args.budgets:
            rows = run(args.problem, [budget], names, Path(folder), machine=args.machine)
            results.append({"budget": budget, "rows": rows})
            print(f"budget {budget}")
            print("\n".join(map(text, rows)), flush=True)
    if args.json:
        result = {"machine": args.machine, "budgets": results}
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
