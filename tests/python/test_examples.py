# SPDX-License-Identifier: Apache-2.0
"""Every example runs as it stands, swaps, and would run out of memory without tflms."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts import run_ok, run_script

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@dataclass(frozen=True)
class Example:
    """What one example has to show.

    Attributes:
        losses: how many it prints.
        devices: how many devices swap.
        says: pieces of text that must be in its output.
    """

    losses: int
    devices: int = 1
    says: tuple[str, ...] = ()


ENTRY_POINTS = {
    "custom_loop": Example(5),
    "keras_fit": Example(10, says=("epoch 1, whole epoch: loss",)),
    "mirrored": Example(2, devices=2, says=("device:GPU:1", "GPU:1: ")),
    "mixed_precision": Example(
        4,
        says=(
            "weights float32, activations float16",
            "LossScaleOptimizer, scale 32768",
            "in-loop-or-branch",
        ),
    ),
    "saved_model": Example(5),
    "session": Example(5),
    # The callbacks ran after every fourth step, and no step was in a loop.
    "steps_per_execution": Example(2, says=("after batch 3: loss", "after batch 7: loss")),
    "train_on_batch": Example(4),
}
OTHERS = {"keras_applications"}


def source(name: str) -> str:
    return (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")


def mib(number: str, unit: str) -> float:
    return float(number.replace(",", "")) * {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}[unit]


def test_every_example_is_tested() -> None:
    assert {p.stem for p in EXAMPLES.glob("*.py")} == set(ENTRY_POINTS) | OTHERS


@pytest.mark.parametrize("name", sorted(ENTRY_POINTS))
def test_example_swaps_and_keeps_the_limit(name: str) -> None:
    example = ENTRY_POINTS[name]
    out = run_ok(source(name))
    losses = [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", out)]
    assert len(losses) == example.losses, out
    assert len(set(losses)) > 1, "the model does not learn"

    planned = re.findall(
        r"rewritten on .*:(GPU:\d)\n.*\n  predicted peak ([\d.,]+) (\w+) -> ([\d.,]+) (\w+) .*\n"
        r"  (\d+) tensors? swapped: ([\d.,]+) (\w+) out",
        out,
    )
    assert {row[0] for row in planned} == {f"GPU:{i}" for i in range(example.devices)}, out
    for _, before, unit, after, unit_after, tensors, moved, unit_moved in planned:
        assert mib(after, unit_after) < mib(before, unit)
        assert int(tensors) > 0 and mib(moved, unit_moved) > 0

    measured = re.findall(r"(GPU:\d): .*?peak ([\d.,]+) (\w+) of ([\d.,]+) (\w+)", out)
    assert len(measured) == example.devices, out
    for _, peak, unit, limit, unit_limit in measured:
        assert 0 < mib(peak, unit) <= mib(limit, unit_limit)
    for text in example.says:
        assert text in out


@pytest.mark.parametrize("name", sorted(ENTRY_POINTS))
def test_example_needs_tflms(name: str) -> None:
    """With the argument `--without` the device runs out of memory."""
    code = source(name).replace("simulate_gpu(", "simulate_gpu(wait_when_full=False, ")
    result = run_script(f"import sys\nsys.argv.append('--without')\n{code}")
    assert result.returncode != 0, result.stdout
    assert "ResourceExhausted" in result.stderr, result.stderr[-3000:]


def test_walk_over_keras_applications(tmp_path: Path) -> None:
    """Two small models train in less than they took without, with the same loss."""
    page = tmp_path / "page.md"
    program = EXAMPLES / "keras_applications.py"
    arguments = ["--only", "MobileNet,MobileNetV2", "--batch", "8", "--write", str(page)]
    result = subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith("TFLMS")},
    )
    assert result.returncode == 0, result.stdout + result.stderr[-3000:]
    rows = re.findall(
        r"^\| (\w+) \| [\d.]+ M \| (\d+) MiB \| (\d+) MiB \| (\d+) MiB \| (\d+) MiB "
        r"\| (\d+) MiB \| yes \| equal \|$",
        page.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [row[0] for row in rows] == ["MobileNet", "MobileNetV2"], result.stdout
    for without, floor, device, peak, moved in ([int(n) for n in row[1:]] for row in rows):
        assert floor < device < without
        assert device == pytest.approx(0.6 * without, abs=1)
        assert 0 < peak <= device
        assert moved > 0


def test_walk_names_an_unknown_model() -> None:
    """A name that Keras does not have ends the walk with the name."""
    program = str(EXAMPLES / "keras_applications.py")
    command = [sys.executable, program, "--only", "NoSuchNet"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "NoSuchNet" in result.stderr
