# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured peak of device memory, over models and budgets.

    python bench/predicted_peak.py                       # four models, six settings each
    python bench/predicted_peak.py --models lstm --json out.json

For each model the peak without tflms is measured on a device with room. Then it trains on devices of
1.3, 0.95, 0.9, 0.85, 0.8 and 0.75 of that peak, with the device's limit as the budget and nothing
else set. Predicted is `Report.allocator_peak_fast_bytes` of the step's graph (a model of the
device's allocator, with fast copies: the simulated link has no limit); measured is the allocator's
own peak over the steps. The losses of all runs are compared, to the last bit, with the run without
tflms.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from harness import MIB, OFF, Job, Outcome, run_child

MODELS: dict[str, dict[str, Any]] = {
    "resnet50_session": {"batch": 16},
    "unet3d": {"batch": 4},
    "transformer": {},
    "lstm": {},
}
FRACTIONS = (1.3, 0.95, 0.9, 0.85, 0.8, 0.75)
ROOM_BYTES = 8 << 30


def run(model: str, limit_bytes: int, tflms: dict[str, Any] | str, steps: int) -> Outcome:
    """One training in a process of its own."""
    sim = {"memory_limit_bytes": limit_bytes}
    return run_child(Job(model, MODELS[model], steps=steps, sim=sim, tflms=tflms), timeout_s=1800)


def row(model: str, fraction: float, plain: Outcome, steps: int) -> dict[str, Any]:
    """One line of the table."""
    outcome = run(model, int(plain.peak_bytes * fraction), {}, steps)
    report = max(outcome.reports, key=lambda r: r["allocator_peak_bytes"], default={})
    predicted = report.get("allocator_peak_fast_bytes", 0)
    return {
        "model": model,
        "fraction": fraction,
        "outcome": report.get("outcome", "none"),
        "swapped_tensors": report.get("swapped_tensors", 0),
        "swapped_bytes": report.get("swap_out_bytes", 0),
        "predicted_bytes": predicted,
        "measured_bytes": outcome.peak_bytes,
        "error": predicted / outcome.peak_bytes - 1 if outcome.peak_bytes else 0.0,
        "same_loss": outcome.losses == plain.losses and not outcome.error,
        "fault": outcome.error[:200],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--fractions", nargs="*", type=float, default=FRACTIONS)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the rows here")
    args = parser.parse_args()
    print(
        "model              device  outcome       swapped      predicted   measured   error  loss"
    )
    rows = []
    for model in args.models:
        plain = run(model, ROOM_BYTES, OFF, args.steps)
        for fraction in args.fractions:
            line = row(model, fraction, plain, args.steps)
            rows.append(line)
            print(
                f"{model:18} {fraction:5.2f}x  {line['outcome']:13} {line['swapped_tensors']:3} "
                f"({line['swapped_bytes'] / MIB:6.1f}) {line['predicted_bytes'] / MIB:8.1f} MiB "
                f"{line['measured_bytes'] / MIB:6.1f} MiB {100 * line['error']:+6.1f} %  "
                f"{'equal' if line['same_loss'] else line['fault'] or 'DIFFERENT'}"
            )
            sys.stdout.flush()
    worst = max(rows, key=lambda line: abs(line["error"]))
    print(f"largest error: {100 * worst['error']:+.1f} % ({worst['model']}, {worst['fraction']}x)")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
