# SPDX-License-Identifier: Apache-2.0
"""keras.RematScope, tf.recompute_grad and TensorFlow's own memory optimizer, against tflms.

    python bench/remat.py                    # three models
    python bench/remat.py --models transformer --json out.json
    python bench/remat.py --quick            # one tiny model

Ways to train a model, each in processes of its own, over a link of `--link-mb-per-s`:

    none          no help; TensorFlow's memory optimizer is off, as tflms has it
    tensorflow    TensorFlow as it comes
    heuristics, recomputation, swapping
                  TensorFlow's memory optimizer told so (RewriterConfig.memory_optimization)
    remat         keras.RematScope around each block of the transformer; tf.recompute_grad around each
                  block of the convolutions
    tflms         on a device with just the memory that remat took at its peak, or that part of the
                  peak of none (`PART`) where the model has no remat; nothing else set

Part 1, a fixed batch: peak bytes; the median step after the first, least of `--rounds` rounds that
take turns, as a multiple of none; whether losses equal those of none to the last bit. A second run of
dropout draws other numbers under keras.RematScope: its gradients are those of another mask.
Part 2, a fixed device: the largest batch of none, remat and tflms, and examples a second there, and
those of tflms at the largest batch of remat. Exits with 1 when a loss of tflms differs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "python")]

from harness import MIB, OFF, Job, Outcome, run_child  # noqa: E402
from max_batch import Search  # noqa: E402

ROOM_BYTES = 16 << 30
PART = 0.7
OPTIMIZERS = {
    "heuristics": "HEURISTICS",
    "recomputation": "RECOMPUTATION_HEURISTICS",
    "swapping": "SWAPPING_HEURISTICS",
}


@dataclass(frozen=True)
class Setting:
    """A model for both parts.

    Attributes:
        batch: of part 1.
        memory_mib: memory of the device in part 2; 0: no part 2.
        grain: batches of part 2 are multiples of this.
        remat: the tool that its builder's argument ``remat`` uses; "": there is none.
    """

    model: str
    batch: int
    memory_mib: int = 0
    grain: int = 4
    params: dict[str, Any] = field(default_factory=dict)
    remat: str = ""


SETTINGS = {
    "transformer": Setting("transformer", 32, 64, 2, {"blocks": 4}, "keras.RematScope"),
    "transformer, no dropout": Setting(
        "transformer", 32, 0, 2, {"blocks": 4, "dropout": 0.0}, "keras.RematScope"
    ),
    "convolutions": Setting("convolutions", 64, 64, 4, {}, "tf.recompute_grad"),
    "resnet50_session": Setting("resnet50_session", 16),
}
QUICK = {
    "convolutions": Setting("convolutions", 16, 24, 16, {"blocks": 4}, "tf.recompute_grad"),
}


def link_of(args: argparse.Namespace) -> float | None:
    """Bytes per second; None is no limit."""
    return args.link_mb_per_s * 1e6 if args.link_mb_per_s else None


def run(args: argparse.Namespace, setting: Setting, way: str, limit_bytes: int) -> Outcome:
    """One training, at the batch of part 1."""
    params = {**setting.params, "batch": setting.batch}
    tflms: dict[str, Any] | str | None = OFF
    if way == "remat":
        params["remat"] = True
    elif way == "tflms":
        tflms = {}
    elif way != "none":
        tflms = None
    sim = {"memory_limit_bytes": limit_bytes, "link_bytes_per_s": link_of(args)}
    optimizer = OPTIMIZERS.get(way, "")
    job = Job(
        setting.model, params, steps=args.steps, sim=sim, tflms=tflms, memory_optimizer=optimizer
    )
    return run_child(job, timeout_s=3600)


def step_seconds(outcome: Outcome) -> float:
    """The median step after the first, which includes tracing and planning."""
    return statistics.median(outcome.step_seconds[1:])


def fixed_batch(args: argparse.Namespace, setting: Setting) -> list[dict[str, Any]]:
    """Part 1: a row for each way."""
    ways = ["none", "tensorflow", *OPTIMIZERS, *(["remat"] if setting.remat else []), "tflms"]
    seconds: dict[str, float] = {}
    outcomes: dict[str, Outcome] = {}
    limit = 0
    for _ in range(args.rounds):
        for way in ways:
            outcome = run(args, setting, way, limit if way == "tflms" else ROOM_BYTES)
            outcomes[way] = outcome
            if not outcome.error:
                seconds[way] = min(seconds.get(way, float("inf")), step_seconds(outcome))
            if way in ("none", "remat") and not outcome.error:
                limit = int(outcome.peak_bytes * (1 if way == "remat" else PART))
    rows = []
    for way, outcome in outcomes.items():
        report = max(outcome.rewritten, key=lambda r: r["nodes"], default={})
        row = {
            "way": way,
            "peak_bytes": outcome.peak_bytes,
            "seconds": seconds.get(way, 0.0),
            "multiple": seconds.get(way, 0.0) / seconds["none"],
            "equal": outcome.losses == outcomes["none"].losses and not outcome.error,
            "error": outcome.error[:120],
            "swap_out_bytes": report.get("swap_out_bytes", 0),
            "recomputed_tensors": report.get("recomputed_tensors", 0),
        }
        rows.append(row)
    return rows


def search_of(args: argparse.Namespace, setting: Setting, way: str) -> Search:
    params = {**setting.params, **({"remat": True} if way == "remat" else {})}
    given = argparse.Namespace(
        model=setting.model,
        params=params,
        memory_mib=setting.memory_mib,
        steps=args.steps,
        link_mb_per_s=args.link_mb_per_s,
    )
    return Search(given, {} if way == "tflms" else OFF)


def fixed_device(args: argparse.Namespace, setting: Setting) -> list[dict[str, Any]]:
    """Part 2: a row for each way, and one of tflms at the batch of remat."""
    rows = []
    largest: dict[str, int] = {}
    for way in ("none", "remat", "tflms"):
        print(f"  {way}:")
        search = search_of(args, setting, way)
        largest[way] = search.largest(max(setting.batch, largest.get("none", 0)), setting.grain)
        tries = {way: largest[way]}
        other = largest.get("remat", 0)
        if way == "tflms" and other and other != largest[way] and search.fits(other):
            tries = {"tflms at the batch of remat": other, **tries}
        for name, batch in tries.items():
            seconds = step_seconds(search.outcomes[batch]) if batch else 0.0
            rate = batch / seconds if seconds else 0.0
            rows.append({"way": name, "batch": batch, "examples_per_s": rate})
    return rows


def show(result: dict[str, Any]) -> None:
    """One model as text."""
    print(f"{result['name']}, batch {result['batch']}")
    for row in result["fixed_batch"]:
        same = "equal" if row["equal"] else row["error"] or "other losses"
        print(
            f"  {row['way']:14} peak {row['peak_bytes'] / MIB:7.1f} MiB  {row['seconds']:6.3f} s  "
            f"{row['multiple']:5.2f}x  {same}"
        )
    for row in result["fixed_device"]:
        print(
            f"  {result['memory_mib']} MiB, {row['way']:28} batch {row['batch']:5} "
            f"{row['examples_per_s']:8.1f} examples/s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--steps", type=int, default=6, help="training steps a run")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each way in part 1")
    parser.add_argument("--link-mb-per-s", type=float, default=400, help="0: no limit")
    parser.add_argument("--quick", action="store_true", help="one tiny model, one round")
    parser.add_argument("--json", type=Path, help="write the result here")
    args = parser.parse_args()
    if args.quick:
        args.rounds, args.steps = 1, 3
    results = []
    settings = QUICK if args.quick else {name: SETTINGS[name] for name in args.models}
    for name, setting in settings.items():
        result = {
            "name": name,
            "params": setting.params,
            "batch": setting.batch,
            "remat": setting.remat,
            "memory_mib": setting.memory_mib,
            "link_mb_per_s": args.link_mb_per_s,
            "fixed_batch": fixed_batch(args, setting),
            "fixed_device": fixed_device(args, setting) if setting.memory_mib else [],
        }
        results.append(result)
        show(result)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    ours = [r for result in results for r in result["fixed_batch"] if r["way"] == "tflms"]
    if not all(row["equal"] for row in ours if not row["error"]):
        raise SystemExit("losses of tflms differ")


if __name__ == "__main__":
    main()
