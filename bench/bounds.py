# SPDX-License-Identifier: Apache-2.0
"""Plans of real training steps against the bounds of docs/bounds.md, as the report has them.

    python bench/bounds.py                   # three models, three budgets, two links
    python bench/bounds.py --models convolutions --json out.json
    python bench/bounds.py --quick           # one tiny model

For each model the peak of its plain order is planned for in parts, `--budgets`, with each planner and
link, and a step is run on a device with room. Memory: the predicted peak, between the floor (M1, which
no plan without splitting passes) and what no order passes that keeps everything (M3). Time: the
predicted step over the bound T2', which no plan in its order passes that keeps to the budget; 1 is at
the bound, more need not be the plan's fault. Costs are those of the simulated GPU's machine file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from harness import MIB, Job, run_child

MODELS: dict[str, dict[str, Any]] = {
    "resnet50_session": {"batch": 32},
    "unet3d": {"batch": 4},
    "transformer": {"batch": 16, "blocks": 4},
}
QUICK: dict[str, dict[str, Any]] = {"convolutions": {"batch": 8, "blocks": 4}}
PLANNERS = ("joint", "level-distance")
ROOM_BYTES = 16 << 30
KEPT = (
    *("budget_bytes", "peak_bytes_before", "peak_bytes_after", "floor_bytes", "order_bound_bytes"),
    *("compute_us", "step_us", "time_bound_us", "swap_out_bytes", "recompute_time_us"),
)


def report_of(model: str, params: dict[str, Any], link: float, **tflms: Any) -> dict[str, Any]:
    """The report of the step's graph, which is the one with the most memory."""
    sim = {"memory_limit_bytes": ROOM_BYTES, "link_bytes_per_s": link or None}
    options = {"cache_dir": "off", **tflms}
    outcome = run_child(Job(model, params, steps=1, sim=sim, tflms=options), timeout_s=1800)
    if outcome.error:
        raise SystemExit(f"{model} does not train: {outcome.error[:500]}")
    return max(outcome.reports, key=lambda r: r["peak_bytes_before"])


def measure(model: str, params: dict[str, Any], args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each budget, link and planner."""
    peak_bytes = report_of(model, params, 0)["peak_bytes_before"]
    rows = []
    for part in args.budgets:
        for link in args.links:
            for planner in args.planners:
                budget = int(peak_bytes * part)
                report = report_of(model, params, link, budget_bytes=budget, planner=planner)
                row = {"model": model, "params": params, "part": part, "link_bytes_per_s": link}
                row |= {"planner": planner, "outcome": report["outcome"]}
                row |= {key: report[key] for key in KEPT}
                row["over_bound"] = row["step_us"] / max(1, row["time_bound_us"])
                rows.append(row)
                print(text(row), flush=True)
    return rows


def text(row: dict[str, Any]) -> str:
    return (
        f"{row['model']:17} {row['part']:.2f} of the peak, {row['link_bytes_per_s'] / 1e6:4.0f} MB/s "
        f"{row['planner']:15} {row['outcome']:10} peak {row['peak_bytes_after'] / MIB:7.1f} "
        f"(budget {row['budget_bytes'] / MIB:7.1f}, M1 {row['floor_bytes'] / MIB:6.1f}, M3 "
        f"{row['order_bound_bytes'] / MIB:7.1f}) MiB  step {row['step_us'] / 1e6:7.3f} s, "
        f"T0 {row['compute_us'] / 1e6:7.3f}, T2' {row['time_bound_us'] / 1e6:7.3f}: "
        f"{row['over_bound']:5.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", choices=[*MODELS, *QUICK], default=list(MODELS))
    parser.add_argument("--budgets", nargs="*", type=float, default=[0.8, 0.6, 0.4])
    parser.add_argument("--links", nargs="*", type=float, default=[400e6, 100e6], help="bytes/s")
    parser.add_argument("--planners", nargs="*", default=list(PLANNERS))
    parser.add_argument("--quick", action="store_true", help="one tiny model, one budget")
    parser.add_argument("--json", type=Path, help="write the rows here")
    args = parser.parse_args()
    models = QUICK if args.quick else {m: {**MODELS, **QUICK}[m] for m in args.models}
    if args.quick:
        args.budgets, args.links = [0.6], [100e6]
    rows = [row for model, params in models.items() for row in measure(model, params, args)]
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
