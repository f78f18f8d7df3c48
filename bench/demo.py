# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a training that does not fit into device memory, without tflms and with it.

Trains keras.applications.ResNet50 on scikit-learn's handwritten digits, resized to 64x64x3, on a
simulated GPU: a device of stock CPU TensorFlow whose memory is really limited. Three runs, each in a
process of its own:

    1. without tflms, on the capped device: runs out of memory;
    2. without tflms, on a device with room enough: what the step would need, and the loss to match;
    3. with tflms, on the capped device.

Prints a table and writes a picture of device memory over one step.
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

ROOM_BYTES = 8 << 30


@dataclass
class Run:
    """One of the three runs, with what it did and the memory events of its last step."""

    title: str
    limit_bytes: int
    tflms: dict[str, Any] | str | None
    outcome: Outcome | None = None
    events: list[dict[str, Any]] | None = None


def execute(run: Run, args: argparse.Namespace, folder: Path) -> None:
    print(f"\n{run.title}", flush=True)
    log = folder / "events.json"
    log.unlink(missing_ok=True)
    began = time.monotonic()
    run.outcome = run_child(
        Job(
            "resnet50_digits",
            {"batch": args.batch},
            steps=args.steps,
            sim={"memory_limit_bytes": run.limit_bytes},
            tflms=run.tflms,
            log_step=args.steps,
            log_path=str(log),
        ),
        progress=lambda line: print(f"  {line}", flush=True),
    )
    if log.exists():
        run.events = json.loads(log.read_text(encoding="utf-8"))
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


def curve(events: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """Time in parts of the step, and MiB in use on device 0 after each event."""
    memory = [e for e in events if e["device"] == 0 and e["kind"] in ("ALLOCATE", "FREE")]
    if not memory:
        return [], []
    start, end = memory[0]["time_us"], memory[-1]["time_us"]
    span = max(1, end - start)
    return (
        [(e["time_us"] - start) / span for e in memory],
        [e["in_use_bytes"] / MIB for e in memory],
    )


def draw(without: Run, with_tflms: Run, limit_bytes: int, batch: int, path: Path) -> None:
    """The picture: memory in use over one step, both ways, and the limit."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    # Blue and orange of the Okabe-Ito palette: told apart by colour-blind people.
    blue, orange, grey = "#0072B2", "#E69F00", "#444444"
    figure, axes = plt.subplots(figsize=(9, 4.6), layout="constrained")
    for run, colour, label in (
        (without, blue, "without tflms, on a device without a limit"),
        (with_tflms, orange, "with tflms, on the capped device"),
    ):
        x, y = curve(run.events or [])
        axes.plot(x, y, color=colour, linewidth=1.4, label=label)
        axes.fill_between(x, y, color=colour, alpha=0.12)
    limit = limit_bytes / MIB
    axes.axhline(
        limit,
        color=grey,
        linestyle="--",
        linewidth=1.2,
        label=f"memory of the capped device: {limit:.0f} MiB",
    )
    axes.set_xlim(0, 1)
    top = max([limit, *curve(without.events or [])[1]])
    axes.set_ylim(0, top * 1.3)  # room for the legend
    axes.set_xlabel("part of one training step")
    axes.set_ylabel("device memory in use (MiB)")
    axes.set_title(f"ResNet-50, 64x64 pixels, batch {batch}: one training step")
    axes.legend(loc="upper left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


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
    runs = [
        Run(f"1 of 3: without tflms, {memory}", limit, None),
        Run("2 of 3: without tflms, a device without a limit", ROOM_BYTES, OFF),
        Run(f"3 of 3: with tflms, {memory}", limit, {}),
    ]
    print(f"ResNet-50 on handwritten digits at 64x64x3, batch {args.batch}, {args.steps} steps")
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            execute(run, args, Path(folder))
    print()
    print_table([row(run, args) for run in runs])
    picture = args.out / "memory.png"
    draw(runs[1], runs[2], limit, args.batch, picture)
    print(f"\npicture: {picture}")
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
