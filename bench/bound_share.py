# SPDX-License-Identifier: Apache-2.0
"""The largest batch that trains with nothing set but the device's memory, against its bound.

    python bench/bound_share.py                          # five models
    python bench/bound_share.py --models deeplab --json out.json
    python bench/bound_share.py --quick                  # one tiny model

The search is that of max_batch.py. No plan without splitting operations goes below the floor of the
report (variables and other persistent bytes, and the inputs, outputs and workspace of the largest
operation), and all of the floor but what is persistent grows with the batch:

    bound = batch x (limit - persistent) / (floor - persistent)

with the report's figures at the largest batch found. The share is that batch over the bound. Losses
are compared, to the last bit, with a run without tflms on a device without a limit.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "python")]

from harness import MIB  # noqa: E402
from max_batch import Search, same_loss  # noqa: E402


@dataclass(frozen=True)
class Setting:
    """A model and its device.

    Attributes:
        memory_mib: memory of the device.
        first: the first batch tried; `grain`: batches are multiples of this.
    """

    model: str
    memory_mib: int
    first: int
    grain: int
    params: dict[str, Any] = field(default_factory=dict)


SETTINGS = {
    "resnet50_keras": Setting("resnet50_keras", 360, 160, 4),
    "unet3d": Setting("unet3d", 200, 16, 1),
    "transformer": Setting("transformer", 48, 32, 1, {"blocks": 4}),
    "lstm": Setting("lstm", 24, 128, 8, {"length": 48}),
    "deeplab": Setting("deeplab", 64, 32, 1),
}
QUICK = {"deeplab": Setting("deeplab", 16, 64, 32, {"size": 32, "base": 8})}


def bound_batch(batch: int, limit_bytes: int, report: dict[str, Any]) -> float:
    """Where the floor reaches the limit; not rounded. 0 when the report knows no floor."""
    persistent = report.get("persistent_bytes", 0)
    growing = report.get("floor_bytes", 0) - persistent
    return batch * (limit_bytes - persistent) / growing if growing > 0 else 0.0


def search_of(setting: Setting, steps: int) -> Search:
    args = argparse.Namespace(
        model=setting.model,
        params=setting.params,
        memory_mib=setting.memory_mib,
        steps=steps,
        link_mb_per_s=None,
    )
    return Search(args, {})


def measure(setting: Setting, steps: int) -> dict[str, Any]:
    """One row of the table."""
    search = search_of(setting, steps)
    best = search.largest(setting.first, setting.grain)
    row: dict[str, Any] = {
        "model": setting.model,
        "params": setting.params,
        "memory_mib": setting.memory_mib,
        "grain": setting.grain,
        "batch": best,
    }
    if not best:
        return row
    outcome = search.outcomes[best]
    report = max(outcome.reports, key=lambda r: r["floor_bytes"], default={})
    bound = bound_batch(best, setting.memory_mib * MIB, report)
    return {
        **row,
        "bound": bound,
        "share": best / bound if bound else 0.0,
        "floor_bytes": report.get("floor_bytes", 0),
        "persistent_bytes": report.get("persistent_bytes", 0),
        "peak_bytes": outcome.peak_bytes,
        "swap_out_bytes": report.get("swap_out_bytes", 0),
        "recomputed_tensors": report.get("recomputed_tensors", 0),
        "same_loss": same_loss(search, best),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text."""
    lines = ["model              memory  batch   bound  share  losses"]
    for row in rows:
        start = f"{row['model']:16} {row['memory_mib']:4} MiB  {row['batch']:5}"
        if not row["batch"]:
            lines.append(f"{start}  nothing fits")
            continue
        same = "equal" if row["same_loss"] else "DIFFERENT"
        lines.append(f"{start} {row['bound']:7.1f} {row['share']:6.0%}  {same}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--steps", type=int, default=3, help="training steps per try")
    parser.add_argument("--quick", action="store_true", help="one tiny model instead")
    parser.add_argument("--json", type=Path, help="write the rows here")
    args = parser.parse_args()
    rows = []
    for setting in QUICK.values() if args.quick else [SETTINGS[m] for m in args.models]:
        print(f"{setting.model} {setting.params or ''} on {setting.memory_mib} MiB")
        rows.append(measure(setting, args.steps))
    print(table(rows))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if not all(row.get("same_loss", True) for row in rows):
        raise SystemExit("the losses differ")


if __name__ == "__main__":
    main()
