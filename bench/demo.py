# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a training that does not fit into device memory, without tflms and with it.

Trains keras.applications.ResNet50 on scikit-learn's handwritten digits, resized to 64x64x3, on a
simulated GPU: a device of stock CPU TensorFlow whose memory is really limited. Three runs, each in a
process of its own:

    1. without tflms, on the capped device: runs out of memory;
    2. without tflms, on a device with room enough: what the step would need, and the loss to match;
    3. with tflms, on the capped device.

Prints a table and writes pictures of one step: measured device memory without and with tflms
(memory.png), and the plan with what was measured as a picture (plan.png), as a page that opens offline
(plan.html) and as a trace for Perfetto (plan.json).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from harness import MIB, OFF, Job, Outcome, run_child
from tflms.pictures import plot_measured
from tflms.pictures.__main__ import main as pictures_command

ROOM_BYTES = 8 << 30


@dataclass
class Run:
    """One of the three runs, with what it did and the memory events of its last step."""

    title: str
    limit_bytes: int
    tflms: dict[str, Any] | str | None
    log: Path
    outcome: Outcome | None = None


def execute(run: Run, args: argparse.Namespace) -> None:
    print(f"\n{run.title}", flush=True)
    began = time.monotonic()
    run.outcome = run_child(
        Job(
            "resnet50_digits",
            {"batch": args.batch},
            steps=args.steps,
            sim={"memory_limit_bytes": run.limit_bytes},
            tflms=run.tflms,
            log_step=args.steps,
            log_path=str(run.log),
        ),
        progress=lambda line: print(f"  {line}", flush=True),
    )
    if run.outcome.error:
        kind = "out of device memory" if run.outcome.out_of_memory else run.outcome.error
        print(f"  {kind}", flush=True)
        if not run.outcome.out_of_memory:
            raise SystemExit(run.outcome.output[-3000:])
    print(f"  ({time.monotonic() - began:.0f} s with start-up)", flush=True)


def row(run: Run, args: argparse.Namespace) -> list[str]:
    """A line of the table; figures per step, of the last step where they differ."""
    outcome = run.outcome
    assert outcome is not None
    limit = "no limit" if run.limit_bytes == ROOM_BYTES else f"{run.limit_bytes / MIB:.0f} MiB"
    head = ["with" if isinstance(run.tflms, dict) else "without", limit, str(args.batch)]
    if outcome.error:
        return [*head, "no", "-", "-", "-", "-", "-", "-"]
    copied = [sum(s[k] for s in outcome.stats) for k in ("copied_out_bytes", "copied_in_bytes")]
    swapped_out, swapped_in = (c / args.steps / MIB for c in copied)
    return [
        *head,
        "yes",
        f"{outcome.peak_bytes / MIB:.0f}",
        f"{max((r['host_peak_bytes'] for r in outcome.rewritten), default=0) / MIB:.0f}",
        f"{swapped_out:.0f}",
        f"{swapped_in:.0f}",
        f"{min(outcome.step_seconds):.2f}",
        f"{float.fromhex(outcome.losses[-1]):.6f}",
    ]


HEADER = [
    "tflms",
    "device",
    "batch",
    "fits",
    "device peak MiB",
    "swapped on host MiB",
    "out MiB/step",
    "in MiB/step",
    "s/step",
    "last loss",
]


def print_table(rows: list[list[str]]) -> None:
    widths = [max(len(r[i]) for r in [HEADER, *rows]) for i in range(len(HEADER))]
    for line in [HEADER, ["-" * w for w in widths], *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


def draw_memory(without: Run, with_tflms: Run, limit_bytes: int, batch: int, path: Path) -> None:
    """The picture of what was measured: memory in use over one step, both ways, and the limit."""
    logs = {"without tflms": without.log, "with tflms": with_tflms.log}
    plot_measured(
        path,
        {label: json.loads(log.read_text(encoding="utf-8")) for label, log in logs.items()},
        limit_bytes=limit_bytes,
        limit_name="capped device",
        title=f"ResNet-50, 64x64 pixels, batch {batch}: one training step",
    )


def draw_plan(with_tflms: Run, folder: Path, out: Path) -> list[Path]:
    """Picture, page and trace of the training step's plan, with what was measured."""
    plans = list(folder.glob("*.plan.json"))
    if not plans:
        return []
    plan = max(plans, key=lambda path: path.stat().st_size)
    paths = [out / f"plan.{suffix}" for suffix in ("png", "html", "json")]
    words = [str(plan), f"--events=measured={with_tflms.log}"]
    if pictures_command([*words, *(f"--out={path}" for path in paths)]) != 0:
        raise SystemExit(f"{plan} cannot be drawn")
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--memory-mib", type=int, default=480)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("demo-out"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    limit = args.memory_mib * MIB
    memory = f"{args.memory_mib} MiB of device memory"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = [folder / f"events-{i}.json" for i in (1, 2, 3)]
        swap = {"dump_dir": str(folder)}
        runs = [
            Run(f"1 of 3: without tflms, {memory}", limit, None, logs[0]),
            Run("2 of 3: without tflms, a device without a limit", ROOM_BYTES, OFF, logs[1]),
            Run(f"3 of 3: with tflms, {memory}", limit, swap, logs[2]),
        ]
        print(f"ResNet-50 on handwritten digits at 64x64x3, batch {args.batch}, {args.steps} steps")
        for run in runs:
            execute(run, args)
        print()
        print_table([row(run, args) for run in runs])
        pictures = []
        if runs[1].log.exists() and runs[2].log.exists():
            pictures = [args.out / "memory.png"]
            draw_memory(runs[1], runs[2], limit, args.batch, pictures[0])
            pictures += draw_plan(runs[2], folder, args.out)
    print("\npictures: " + ", ".join(map(str, pictures)))
    outcomes = [run.outcome for run in runs if run.outcome is not None]
    if outcomes[2].error:
        raise SystemExit("the training with tflms ran out of memory")
    if outcomes[2].losses != outcomes[1].losses:
        raise SystemExit("the losses differ with and without tflms")
    print("all losses with and without tflms are equal to the last bit")
    if not outcomes[0].error:
        print("note: this batch also fits without tflms; try a larger --batch")


if __name__ == "__main__":
    main()
