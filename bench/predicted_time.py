# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured time of a training step over links of several rates.

    python bench/predicted_time.py                       # ResNet-50, 64x64 pixels, 220 MiB
    python bench/predicted_time.py --batch 32 --memory-mib 260 --rates 400e6 100e6 --json out.json

Records a profile over the first link, with tflms on, then trains in a new process for each link with
that profile. Predicted is `Report.step_us` of the step's graph; measured is the median step after the
first. One thread runs the operations, as the plan's order asks.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MARK = "predicted-time "


def train(args: argparse.Namespace) -> dict[str, Any]:
    """In a process of its own: some steps, with or without a profile."""
    import tflms

    tflms.simulate_gpu(args.memory_mib << 20, link_bytes_per_s=args.rates[0])
    options = {"profile": args.profile} if args.child == "use" else {}
    tflms.enable(log_level="warning", **options)
    import numpy as np

    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    model = tf.keras.applications.ResNet50(
        weights=None, input_shape=(64, 64, 3), classes=10, classifier_activation=None
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, jit_compile=False)
    x = np.random.RandomState(0).rand(args.batch, 64, 64, 3).astype("float32")
    y = np.zeros(args.batch, "int32")
    walls_s = []

    def run() -> None:
        for _ in range(args.steps + 1):
            began = time.perf_counter()
            model.train_on_batch(x, y)
            walls_s.append(time.perf_counter() - began)

    if args.child == "record":
        with tflms.record_profile(args.profile, steps=args.steps):
            run()
    else:
        run()
    report = max(tflms.report(), key=lambda r: r.compute_us)
    return {
        "measured_s": statistics.median(walls_s[1:]),
        "predicted_s": (report.step_us or report.compute_us) / 1e6,
        "stall_s": report.stall_us / 1e6,
        "swapped_bytes": report.swap_out_bytes,
    }


def child(args: argparse.Namespace, task: str, rate: float, profile: str) -> dict[str, Any]:
    """What a training in a new process says."""
    command = [
        *(sys.executable, __file__, "--child", task, "--profile", profile),
        *("--rates", str(rate), "--batch", str(args.batch)),
        *("--memory-mib", str(args.memory_mib), "--steps", str(args.steps)),
    ]
    environ = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    lines = [line[len(MARK) :] for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not lines:
        raise SystemExit(f"the training failed:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(lines[0])
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", nargs="*", type=float, default=[400e6, 200e6, 100e6])
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--memory-mib", type=int, default=220)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--child", choices=("record", "use"), help=argparse.SUPPRESS)
    parser.add_argument("--profile", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(f"{MARK}{json.dumps(train(args))}")
        return
    print("times from    link       predicted  waiting   measured    error   swapped")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        profile = str(Path(folder) / "profile.json")
        for task, rate in [("record", args.rates[0]), *(("use", rate) for rate in args.rates)]:
            times_from = "formula" if task == "record" else "profile"
            row = child(args, task, rate, profile)
            row["error"] = row["predicted_s"] / row["measured_s"] - 1
            rows.append({"times_from": times_from, "link_bytes_per_s": rate, **row})
            print(
                f"{times_from:8} {rate / 1e6:7.0f} MB/s "
                f"{row['predicted_s']:9.2f} s {row['stall_s']:7.2f} s {row['measured_s']:8.2f} s "
                f"{100 * row['error']:+6.1f} % "
                f"{row['swapped_bytes'] / 2**20:7.1f} MiB"
            )
            sys.stdout.flush()
    if args.json:
        result = {"batch": args.batch, "memory_mib": args.memory_mib, "rows": rows}
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
