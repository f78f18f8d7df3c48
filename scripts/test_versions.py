# SPDX-License-Identifier: Apache-2.0
"""Trains a small model with the one plugin build on several TensorFlow versions.

    python scripts/test_versions.py                     # 2.13, 2.15, 2.18, 2.21
    python scripts/test_versions.py 2.18 --write docs/versions.md

Each version gets a virtual environment of its own (kept in build/versions). The wheel of tflms is
built once and installed into all. The model trains on the simulated GPU where that works, else
between two logical CPU devices, without and with tflms; losses must be equal to the last bit and
tensors must have been swapped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "versions"
VERSIONS = {
    "2.13": ["tensorflow-cpu==2.13.1"],
    "2.15": ["tensorflow-cpu==2.15.1"],
    "2.18": ["tensorflow-cpu==2.18.1"],
    "2.21": ["tensorflow-cpu==2.21.0"],
}
# The training, run in the version's own Python: argv is device ("sim" or "cpu") and on (0 or 1).
PROGRAM = """
import json, sys
device, on = sys.argv[1], sys.argv[2] == "1"
import tensorflow as tf, tflms
if device == "sim":
    tflms.simulate_gpu(64 << 20)
    place, options = "/device:GPU:0", {}
else:
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    place, options = "/device:CPU:1", {"device_type": "CPU"}
tf.config.threading.set_inter_op_parallelism_threads(1)
if on:
    tflms.enable(budget_bytes=18 << 20, **options)
with tf.device(place):
    x = tf.random.stateless_normal((1024, 256), [1, 2])
    matrices = [tf.Variable(tf.random.stateless_normal((256, 256), [3, i], stddev=0.06))
                for i in range(16)]
@tf.function
def train():
    with tf.GradientTape() as tape:
        y = x
        for matrix in matrices:
            y = tf.tanh(y @ matrix) + 0.5 * y
        loss = tf.reduce_mean(tf.square(y))
    for matrix, gradient in zip(matrices, tape.gradient(loss, matrices)):
        matrix.assign_sub(0.01 * gradient)
    return loss
with tf.device(place):
    losses = [float(train()).hex() for _ in range(5)]
swapped = sum(r.swapped_tensors for r in tflms.report()) if on else 0
reasons = [r.reason for r in tflms.report()] if on else []
print("RESULT " + json.dumps({"losses": losses, "swapped": swapped, "reasons": reasons}))
"""


def python_of(version: str) -> Path:
    return FOLDER / version / "bin" / "python"


def prepare(version: str, wheel: Path) -> None:
    python = python_of(version)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / version)], check=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *VERSIONS[version]], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheel)], check=True)


def build_wheel() -> Path:
    folder = FOLDER / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("tflms-*.whl"))


def train(version: str, device: str, on: bool) -> dict[str, Any]:
    """The program's result, or {"error": last line of what it said}."""
    process = subprocess.run(
        [str(python_of(version)), "-c", PROGRAM, device, str(int(on))],
        capture_output=True,
        text=True,
        timeout=1200,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        check=False,
    )
    for line in process.stdout.splitlines():
        if line.startswith("RESULT "):
            result: dict[str, Any] = json.loads(line[len("RESULT ") :])
            return result
    lines = [text for text in process.stderr.splitlines() if text.strip()]
    return {"error": f"status {process.returncode}: {lines[-1] if lines else 'no output'}"}


def check(version: str) -> list[tuple[str, str, bool]]:
    """Rows (version, device, result in words, whether it is good)."""
    rows = []
    for device in ("sim", "cpu"):
        name = {"sim": "simulated GPU", "cpu": "two logical CPU devices"}[device]
        plain, swapped = train(version, device, False), train(version, device, True)
        error = plain.get("error") or swapped.get("error")
        if error:
            rows.append((name, error, False))
        elif plain["losses"] != swapped["losses"]:
            rows.append((name, "losses differ", False))
        elif not swapped["swapped"]:
            rows.append((name, f"nothing swapped: {swapped['reasons']}", False))
        else:
            rows.append((name, f"{swapped['swapped']} tensors swapped, losses equal", True))
            if device == "sim":
                break
    return rows


def page(results: dict[str, list[tuple[str, str, bool]]]) -> str:
    lines = [
        "# TensorFlow versions",
        "",
        "<!-- Made by scripts/test_versions.py --write: do not edit. -->",
        "",
        "One build of the plugin, a small training of five steps on each version, without and with",
        "tflms. The logical CPU devices are tried where the simulated GPU does not work.",
        "",
        "| TensorFlow | Python | device | result | |",
        "|---|---|---|---|---|",
    ]
    for version, rows in results.items():
        for device, text, good in rows:
            wheel = VERSIONS[version][0].replace("==", " ")
            python = f"{sys.version_info.major}.{sys.version_info.minor}"
            verdict = "passed" if good else "**failed**"
            lines.append(f"| {wheel} | {python} | {device} | {text} | {verdict} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", help=f"of {', '.join(VERSIONS)}; default: all")
    parser.add_argument("--write", type=Path, help="write the page here")
    args = parser.parse_args()
    wanted = args.versions or list(VERSIONS)
    unknown = [v for v in wanted if v not in VERSIONS]
    if unknown:
        parser.error(f"unknown {', '.join(unknown)}; known: {', '.join(VERSIONS)}")
    wheel = build_wheel()
    results = {}
    for version in wanted:
        print(f"== TensorFlow {version}", flush=True)
        prepare(version, wheel)
        results[version] = check(version)
        for device, text, good in results[version]:
            print(f"   {device}: {text}: {'passed' if good else 'FAILED'}", flush=True)
    if args.write:
        args.write.write_text(page(results), encoding="utf-8")
    if not all(any(good for _, _, good in rows) for rows in results.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
