# SPDX-License-Identifier: Apache-2.0
"""Step time over links of several rates, as a multiple of the step with no limit on the link.

    python bench/step_time.py                      # ResNet-50 session graph, batch 120, 360 MiB
    python bench/step_time.py --batch 24 --memory-mib 200 --json out.json

First a profile of the operations' times is recorded on a device with room enough. Then the model
trains on a simulated GPU of `--memory-mib`, in a process for each row, with that profile:

    joint           the default planner
    no recompute    the same with recompute="never"
    level-distance  what is far from its next use is swapped

Measured is the median step after the first; the base is the fastest row without a limit on the link.
"time" beside it is what the report predicts, over its own compute time. The losses of all rows are
compared, to the last bit, with those of the run without tflms.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from harness import MIB, OFF, Job, Outcome, run_child

ROOM_BYTES = 16 << 30
PLANNERS: dict[str, dict[str, Any]] = {
    "joint": {},
    "no recompute": {"recompute": "never"},
    "level-distance": {"planner": "level-distance"},
}


def run(
    args: argparse.Namespace, sim: dict[str, Any], tflms: dict[str, Any] | str, **job: Any
) -> Outcome:
    """One training in a process of its own."""
    return run_child(
        Job(args.model, {"batch": args.batch}, steps=args.steps, sim=sim, tflms=tflms, **job),
        timeout_s=3600,
    )


def step_seconds(outcome: Outcome) -> float:
    """The median step after the first, which includes planning."""
    return statistics.median(outcome.step_seconds[1:])


def measure(args: argparse.Namespace, plain: Outcome, profile: str) -> list[dict[str, Any]]:
    """One row for each planner and link; failures are rows too."""
    rows: list[dict[str, Any]] = []
    for link in args.links:
        for name in args.planners:
            sim = {"memory_limit_bytes": args.memory_mib * MIB, "link_bytes_per_s": link or None}
            options = {"profile": profile, "cache_dir": "off", **PLANNERS[name]}
            outcome = run(args, sim, options)
            report = max(outcome.reports, key=lambda r: r["compute_us"], default={})
            row = {
                "planner": name,
                "link_bytes_per_s": link,
                "seconds": 0.0 if outcome.error else step_seconds(outcome),
                "error": outcome.error[:120],
                "equal": outcome.losses == plain.losses,
                "predicted": report.get("step_us", 0) / max(1, report.get("compute_us", 0)),
                "predicted_s": report.get("step_us", 0) / 1e6,
                "swap_out_bytes": report.get("swap_out_bytes", 0),
                "recomputed_tensors": report.get("recomputed_tensors", 0),
                "recompute_us": report.get("recompute_time_us", 0),
                "planning_us": report.get("time_us", 0),
            }
            rows.append(row)
            print(f"  {name} at {link / 1e6:.0f} MB/s: {row['seconds']:.2f} s", file=sys.stderr)
    return rows


def table(rows: list[dict[str, Any]], base_s: float) -> str:
    """The rows as text."""
    lines = ["planner             link   step  multiple  predicted  swapped out  run again  losses"]
    for row in rows:
        link = (
            f"{row['link_bytes_per_s'] / 1e6:.0f} MB/s" if row["link_bytes_per_s"] else "no limit"
        )
        if row["error"]:
            lines.append(f"{row['planner']:15} {link:>9}  {row['error']}")
            continue
        lines.append(
            f"{row['planner']:15} {link:>9} {row['seconds']:5.2f} s {row['seconds'] / base_s:8.3f} "
            f"{row['predicted']:10.3f} {row['swap_out_bytes'] / MIB:8.0f} MiB "
            f"{row['recomputed_tensors']:10} {'equal' if row['equal'] else 'DIFFERENT':>7}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet50_session")
    parser.add_argument("--batch", type=int, default=120)
    parser.add_argument("--memory-mib", type=int, default=360)
    parser.add_argument(
        "--links", nargs="*", type=float, default=[0, 400e6, 100e6], help="bytes/s; 0: no limit"
    )
    parser.add_argument("--planners", nargs="*", choices=PLANNERS, default=list(PLANNERS))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the rows there too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        profile = str(Path(folder) / "profile.json")
        plain = run(args, {"memory_limit_bytes": ROOM_BYTES}, OFF)
        if plain.error:
            raise SystemExit(f"the model does not train: {plain.error}")
        recorded = run(args, {"memory_limit_bytes": ROOM_BYTES}, {}, record=profile)
        if recorded.error or not Path(profile).exists():
            raise SystemExit(f"no profile was recorded: {recorded.error}")
        rows = measure(args, plain, profile)
    free = [row["seconds"] for row in rows if not row["link_bytes_per_s"] and not row["error"]]
    base_s = min(free, default=step_seconds(plain))
    print(table(rows, base_s))
    print(f"without tflms on a device with room: {step_seconds(plain) / base_s:.3f}")
    if args.json:
        result = {
            "model": args.model,
            "batch": args.batch,
            "memory_mib": args.memory_mib,
            "base_s": base_s,
            "plain_s": step_seconds(plain),
            "rows": rows,
        }
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not all(row["equal"] for row in rows if not row["error"]):
        raise SystemExit("losses differ")


if __name__ == "__main__":
    main()
