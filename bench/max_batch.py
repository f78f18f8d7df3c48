# SPDX-License-Identifier: Apache-2.0
"""Finds the largest batch that trains on a memory-capped simulated GPU, without and with tflms.

    python bench/max_batch.py                        # ResNet-50 session graph, 64x64, 360 MiB
    python bench/max_batch.py --model unet3d --memory-mib 200 --params '{"size": 32}'

Every try is a process of its own: fresh devices, `--steps` training steps. A batch fits when all
steps run. The search doubles from `--first` until a batch fails and then halves the interval, so it
takes for granted that a batch smaller than one that fits also fits. At the end the loss of the
largest batch is compared, to the last bit, with a run without tflms on a device without a limit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from harness import MIB, OFF, Job, Outcome, run_child

ROOM_BYTES = 16 << 30


class Search:
    """The tries for one way of training (with or without tflms).

    Attributes:
        unit: what is made larger, in words.
    """

    unit = "batch"

    def __init__(self, args: argparse.Namespace, tflms: dict[str, Any] | str | None) -> None:
        self.args = args
        self.tflms = tflms
        self.outcomes: dict[int, Outcome] = {}

    def job(self, batch: int, limit_bytes: int) -> Job:
        return Job(
            self.args.model,
            {**self.args.params, "batch": batch},
            steps=self.args.steps,
            sim={
                "memory_limit_bytes": limit_bytes,
                "link_bytes_per_s": self.args.link_mb_per_s and self.args.link_mb_per_s * 1e6,
            },
            tflms=self.tflms,
        )

    def fits(self, batch: int) -> bool:
        """Whether all steps run at that batch; every try is printed."""
        if batch in self.outcomes:
            return not self.outcomes[batch].error
        began = time.monotonic()
        outcome = run_child(self.job(batch, self.args.memory_mib * MIB), timeout_s=3600)
        if outcome.error and not outcome.out_of_memory:
            raise SystemExit(f"{self.unit} {batch} fails for another reason: {outcome.error}")
        self.outcomes[batch] = outcome
        peak = f"peak {outcome.peak_bytes / MIB:.0f} MiB"
        verdict = "out of memory" if outcome.error else f"fits, {peak}"
        name = "without" if self.tflms in (None, OFF) else "with   "
        print(
            f"  {name} tflms, {self.unit} {batch:4}: {verdict} ({time.monotonic() - began:.0f} s)"
        )
        sys.stdout.flush()
        return not outcome.error

    def largest(self, first: int, grain: int) -> int:
        """The largest multiple of `grain` that fits; 0 when none does."""
        good, bad = 0, None
        batch = max(grain, first // grain * grain)
        while bad is None:
            if self.fits(batch):
                good, batch = batch, batch * 2
            else:
                bad = batch
        while bad - good > grain:
            middle = (good + bad) // (2 * grain) * grain
            if self.fits(middle):
                good = middle
            else:
                bad = middle
        return good


def same_loss(search: Search, batch: int) -> bool:
    """Whether that try's losses are those of a run without tflms and without a limit."""
    plain = run_child(Search(search.args, OFF).job(batch, ROOM_BYTES), timeout_s=3600)
    return plain.losses == search.outcomes[batch].losses and not plain.error


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet50_session", help="a name in models.MODELS")
    parser.add_argument("--params", type=json.loads, default={}, help="builder arguments, JSON")
    parser.add_argument("--memory-mib", type=int, default=360, help="memory of the device")
    parser.add_argument("--steps", type=int, default=3, help="training steps per try")
    parser.add_argument("--first", type=int, default=32, help="first batch tried without tflms")
    parser.add_argument("--first-with", type=int, default=160, help="first batch tried with tflms")
    parser.add_argument("--grain", type=int, default=4, help="batches are multiples of this")
    parser.add_argument("--link-mb-per-s", type=float, default=None, help="rate of the link")
    parser.add_argument("--options", type=json.loads, default={}, help="for tflms.enable, JSON")
    parser.add_argument("--only", choices=["with", "without"], help="search one side only")
    parser.add_argument("--no-verify", action="store_true", help="do not compare the loss")
    parser.add_argument("--json", type=Path, help="write the result here")
    return parser.parse_args(argv)


def main() -> None:
    args = parse()
    print(f"{args.model} {args.params or ''} on {args.memory_mib} MiB, {args.steps} steps a try")
    result: dict[str, Any] = {
        "model": args.model,
        "params": args.params,
        "memory_mib": args.memory_mib,
        "options": args.options,
    }
    if args.only != "with":
        result["without"] = Search(args, None).largest(args.first, args.grain)
    if args.only != "without":
        search = Search(args, args.options)
        best = search.largest(args.first_with, args.grain)
        result["with"] = best
        if best:
            outcome = search.outcomes[best]
            result["step_seconds"] = min(outcome.step_seconds)
            result["peak_bytes"] = outcome.peak_bytes
            result["swap_out_bytes"] = sum(r["swap_out_bytes"] for r in outcome.rewritten[-1:])
            if not args.no_verify:
                result["same_loss"] = same_loss(search, best)
    report(result)
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if result.get("same_loss") is False:
        raise SystemExit("the losses differ")


def report(result: dict[str, Any]) -> None:
    print(f"largest batch without tflms: {result.get('without', 'not searched')}")
    print(f"largest batch with tflms:    {result.get('with', 'not searched')}")
    if result.get("without") and result.get("with"):
        print(f"ratio: {result['with'] / result['without']:.2f}")
    if "same_loss" in result:
        same = "equal to the last bit" if result["same_loss"] else "DIFFERENT"
        print(f"loss at the largest batch, against a device without a limit: {same}")


if __name__ == "__main__":
    main()
