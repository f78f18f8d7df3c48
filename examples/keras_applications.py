# SPDX-License-Identifier: Apache-2.0
"""Walks all models of `keras.applications` and prints what fits where.

    python examples/keras_applications.py                              # all of them: an hour
    python examples/keras_applications.py --only MobileNetV2,ResNet50
    python examples/keras_applications.py --first 10 --budget-fraction 0.5

Each model trains one step twice, with random weights and small images, in processes of its own: first
without tflms on a simulated GPU with room enough, which says how much the step needs; then with tflms
on one that has only a part of that. The figures are those that `tflms.KerasCallback` records.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MIB = 1 << 20
ROOM_BYTES = 64 << 30
MARK = "result "

HEADER = ("model", "parameters", "peak without", "floor", "device", "peak with", "swapped out")
HEADER += ("trains", "loss")


def train(name: str, batch: int, image: int, limit_bytes: int, with_tflms: bool) -> dict[str, Any]:
    """One step of one model, in this process."""
    import numpy as np
    import tflms

    tflms.simulate_gpu(memory_limit_bytes=limit_bytes)
    tflms.enable(log_level="warning")
    if not with_tflms:
        tflms.disable()  # not just left out: so that TensorFlow's own passes are the same
    import tensorflow as tf

    # One operation at a time: then sums are added up in the same order in both runs.
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.keras.utils.set_random_seed(1)
    random = np.random.default_rng(1)
    x = random.standard_normal((batch, image, image, 3), np.float32)
    y = random.integers(0, 10, batch)
    callback = tflms.KerasCallback()
    result: dict[str, Any] = {"name": name, "trains": False}
    try:
        build = getattr(tf.keras.applications, name)
        model = build(weights=None, input_shape=(image, image, 3), classes=10)
        result["parameters"] = model.count_params()
        loss = tf.keras.losses.SparseCategoricalCrossentropy()
        model.compile(tf.keras.optimizers.SGD(0.001), loss, jit_compile=False)
        model.fit(x, y, batch_size=batch, verbose=0, callbacks=[callback])
    except tf.errors.ResourceExhaustedError:
        pass
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
        result["error"] = str(error)
    else:
        record = callback.records[-1]
        result["trains"] = True
        result["loss"] = record.logs["loss"].hex()
        result["peak_bytes"] = record.stats.device().peak_bytes
        result["swap_out_bytes"] = record.stats.planned_swap_out_bytes
    result["floor_bytes"] = max((r.floor_bytes for r in tflms.report()), default=0)
    return result


def run_apart(**job: Any) -> dict[str, Any]:
    """`train` in a process of its own."""
    command = [sys.executable, __file__, "--job", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line[len(MARK) :])
    status = done.returncode
    raise SystemExit(f"{job['name']}: the process ended with status {status}\n{done.stderr}")


def measure(name: str, args: argparse.Namespace) -> tuple[str, ...]:
    """One row of the table."""
    size = {"batch": args.batch, "image": args.image}
    plain = run_apart(name=name, limit_bytes=ROOM_BYTES, with_tflms=False, **size)
    if "error" in plain:  # such as grouped convolutions, see `page`
        return (name, f"{plain['parameters'] / 1e6:.1f} M", *["-"] * 5, "not simulated", "-")
    if not plain["trains"]:
        raise SystemExit(f"{name}: does not train in {ROOM_BYTES >> 30} GiB")
    limit = int(plain["peak_bytes"] * args.budget_fraction)
    swapped = run_apart(name=name, limit_bytes=limit, with_tflms=True, **size)
    if "error" in swapped:
        raise SystemExit(f"{name}: fails with tflms only: {swapped['error']}")
    fits = swapped["trains"]
    return (
        name,
        f"{plain['parameters'] / 1e6:.1f} M",
        mib(plain["peak_bytes"]),
        mib(swapped["floor_bytes"]) if swapped["floor_bytes"] else "not planned",
        mib(limit),
        mib(swapped["peak_bytes"]) if fits else "-",
        mib(swapped["swap_out_bytes"]) if fits else "-",
        "yes" if fits else "floor too high" if swapped["floor_bytes"] > limit else "out of memory",
        "-" if not fits else "equal" if swapped["loss"] == plain["loss"] else "DIFFERENT",
    )


def mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.0f} MiB"


def names_of_all() -> list[str]:
    """The models, as Keras lists them."""
    import tensorflow as tf

    found = vars(tf.keras.applications).items()
    return sorted(name for name, value in found if name[0].isupper() and callable(value))


def page(rows: list[tuple[str, ...]], args: argparse.Namespace, total: int, seconds: float) -> str:
    """The table as a page of the documentation."""
    lines = [" | ".join(HEADER), "|".join("---" for _ in HEADER), *(" | ".join(r) for r in rows)]
    table = "\n".join(f"| {line} |" for line in lines)
    fit = sum(row[7] == "yes" for row in rows)
    can = sum(row[7] != "not simulated" for row in rows)
    what = "all" if len(rows) == total else f"{len(rows)} of the {total}"
    return f"""# Models of keras.applications

<!-- Made by examples/keras_applications.py --write: do not edit. -->

One training step (SGD, random weights, batch {args.batch}, {args.image}x{args.image} pixels, 10 classes) of {what} models
on a simulated GPU: without tflms on one with room enough, and with tflms on one that has
{args.budget_fraction:.0%} of what that took. {fit} of the {can} that
this device can run train there. "Floor" is what no swapping gets below:
weights, and inputs, outputs and workspace of the largest operation. "Swapped out" is for one step.
The loss of the step is compared to the last bit. "Not simulated": Keras compiles grouped convolutions with
XLA, for which the simulated GPU has no compiler, and TensorFlow's CPU kernels have no gradient for them.

{table}

Made with `python examples/keras_applications.py --batch {args.batch} --image {args.image} --budget-fraction {args.budget_fraction}`
in {seconds / 60:.0f} minutes on two cores.
"""


def walk(args: argparse.Namespace) -> None:
    names = args.only.split(",") if args.only else names_of_all()
    began = time.monotonic()
    rows: list[tuple[str, ...]] = []
    widths = (18, 10, 12, 11, 10, 10, 11, 14, 9)
    print("  ".join(h.rjust(w) for h, w in zip(HEADER, widths)), flush=True)
    for name in names[: args.first or None]:
        rows.append(measure(name, args))
        print("  ".join(c.rjust(w) for c, w in zip(rows[-1], widths)), flush=True)
        if args.write:
            text = page(rows, args, len(names), time.monotonic() - began)
            args.write.write_text(text, encoding="utf-8")
    print(f"{sum(r[7] == 'yes' for r in rows)} of {len(rows)} train", flush=True)
    if any(row[8] == "DIFFERENT" for row in rows):
        raise SystemExit("losses differ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of models, with commas between them")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="only the first N models")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--image", type=int, default=96, help="pixels a side (96)")
    parser.add_argument(
        "--budget-fraction", type=float, default=0.6, help="part of the memory needed without (0.6)"
    )
    parser.add_argument("--write", type=Path, help="write the table here, as a page")
    parser.add_argument("--job", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        print(MARK + json.dumps(train(**args.job)), flush=True)
    else:
        walk(args)


if __name__ == "__main__":
    main()
