# SPDX-License-Identifier: Apache-2.0
"""How time and memory of planning grow with the graph.

    python bench/planning.py                 # 1,000 to 30,000 nodes
    python bench/planning.py --long          # and 100,000
    python bench/planning.py --quick         # 1,000 and 3,000

Runs planning_growth (bench/core), which rewrites generated training steps at a budget that needs
swapping, once for each planner. "growth" is the exponent between a row and the one before,
log(seconds) over log(nodes): 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers

SIZES = (1000, 3000, 10000, 30000)


def measure(sizes: list[int], planner: str) -> list[dict[str, Any]]:
    """A row for each size; rows are printed as they come."""
    command = [str(peers.program("planning_growth")), "--planner", planner]
    command += ["--nodes", ",".join(map(str, sizes))]
    rows: list[dict[str, Any]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            row = {"planner": planner, **json.loads(line)}
            row["growth"] = growth(rows[-1], row) if rows else 0.0
            rows.append(row)
            print(text(row), flush=True)
    if process.returncode != 0:
        raise SystemExit(f"planning_growth ended with status {process.returncode}")
    return rows


def growth(before: dict[str, Any], row: dict[str, Any]) -> float:
    """The exponent of the time between two rows."""
    ratio = row["seconds"] / max(before["seconds"], 1e-3)
    return math.log(max(ratio, 1e-3)) / math.log(row["nodes"] / before["nodes"])


def text(row: dict[str, Any]) -> str:
    return (
        f"{row['planner']:15} {row['nodes']:7} nodes {row['seconds']:8.3f} s  growth "
        f"{row['growth']:4.2f} {row['grown_bytes'] / row['nodes']:7.0f} bytes a node  "
        f"{row['swapped']:6} swapped {row['recomputed']:6} again  "
        f"{'fits' if row['fits'] else 'DOES NOT FIT'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--planners", nargs="*", default=list(peers.OURS))
    parser.add_argument("--quick", action="store_true", help="the two smallest graphs only")
    parser.add_argument("--long", action="store_true", help="100,000 nodes too")
    parser.add_argument("--json", type=Path, help="write the rows here")
    args = parser.parse_args()
    sizes = list(SIZES[:2] if args.quick else SIZES) + ([100000] if args.long else [])
    rows = [row for planner in args.planners for row in measure(sizes, planner)]
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
