# SPDX-License-Identifier: Apache-2.0
"""docs/results.md from the files of bench/results: pure functions, JSON -> Markdown.

A file NAME.json is what bench/suite.py stored: the command, the versions, and under "result" what the
benchmark NAME wrote. Each has a section with its table, the figure it is to be compared with and the
command. A file that is missing, or holds no rows, gives the words "not measured".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import results_tables as tables

NOTICE = "<!-- Made by bench/suite.py --page from bench/results: do not edit. -->"
INTRODUCTION = """\
Simulated GPUs over stock TensorFlow, fp32; each table says what made it. Step times of a machine that
others use too are to be read as ratios within one table. "Simulator" tables are claims about plans
under stated costs, not about time on a card. Everything here is measured anew by `make bench`, or
`python bench/suite.py`."""


@dataclass(frozen=True)
class Section:
    """One table of the page.

    Attributes:
        name: of the result's file.
        compare: what the table is to be compared with.
        table: gives the Markdown of a result; "" when it holds no rows.
    """

    name: str
    title: str
    compare: str
    table: Callable[[Any], str]


SECTIONS: Sequence[Section] = (
    Section(
        "max_batch",
        "Largest batch of ResNet-50",
        "TFLMS v2 as published, on the same graph and device: 36 without, 40 auto-tuned, 176 with the "
        "best settings found by hand; no plan without splitting passes 360. To reach: 250 and more, 7 "
        "times and more.",
        tables.max_batch,
    ),
    Section(
        "max_batch_v2_rules",
        "The same by the rules of TFLMS v2",
        "The row above. `level-distance` is the planner of this project with v2's rules: thresholds on "
        "distances in levels, here chosen by a simulation of the allocator, which v2 does not have.",
        tables.max_batch,
    ),
    Section(
        "bound_share",
        "Batch against its bound",
        "80 % of the bound's batch, 85 % for the 3D U-Net. The bound is the batch at which the largest "
        "operation alone fills the device; no plan without splitting operations passes it.",
        tables.bound_share,
    ),
    Section(
        "unet3d",
        "3D U-Net on an MRI volume",
        "2.3 times the batch, and 85 % of the bound ([unet3d.md](unet3d.md) describes the setting).",
        tables.unet3d,
    ),
    Section(
        "step_time",
        "Step time over links of several rates",
        "TFLMS v2 with the best of five settings, ResNet-50 at batch 120: 1.28 at 400 MB/s, 4.5 at 100 "
        "MB/s. To reach: 1.05 and 1.3.",
        tables.step_time,
    ),
    Section(
        "remat",
        "Against keras.RematScope, tf.recompute_grad and TensorFlow's memory optimizer",
        "At the same memory: a larger batch and more examples a second than rematerialization. `tflms` "
        "trains on a device with the peak of `remat` (else 0.7 of the peak of `none`).",
        tables.remat,
    ),
    Section(
        "predicted_peak",
        "Predicted peak of device memory",
        "Within 5 % of the allocator's own peak.",
        tables.predicted_peak,
    ),
    Section(
        "predicted_time",
        "Predicted step time",
        "Within 15 % of the measured step, with times from a profile.",
        tables.predicted_time,
    ),
    Section(
        "planning",
        "Planning time and memory",
        "The whole pass: 1 s for 10,000 nodes, 15 s for 100,000, growth near 1; 1 KB a node.",
        tables.planning,
    ),
    Section(
        "bounds",
        "Plans against the bounds",
        "1 in the last column, where no plan in that order and within the budget is faster; the floor, "
        "M1, for the peak. Times are predicted ([bounds.md](bounds.md)).",
        tables.bounds,
    ),
    Section(
        "peers",
        "Simulator: rules of other tools, one training step",
        "The rows of one budget with one another. Rules of TFLMS v2, Grappler, vDNN, Capuchin, DTR and "
        "Chen et al. as in `bench/core/peers`; `joint` and `level-distance` are the planners here. No "
        "plan takes less than +0 %.",
        tables.peers,
    ),
    Section(
        "checkmate",
        "Simulator: Checkmate's public setting",
        "The baselines of VGG19, 167, 197 and 266, exactly; then more than Checkmate's 289 with swaps.",
        tables.checkmate,
    ),
    Section(
        "dtr",
        "Simulator: DTR's curves of overhead against memory",
        "The published overhead at the same part of the memory, of it its recomputation.",
        tables.dtr,
    ),
)


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """The files of a folder by name."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }


def provenance(stored: dict[str, Any]) -> str:
    """How a table was made."""
    named = stored.get("versions", {}).items()
    versions = ", ".join(f"{name} {version}" for name, version in named)
    text = f"Made by `{stored.get('command', '?')}` on {stored.get('cores', '?')} cores"
    text += f" with {versions}." if versions else "."
    if stored.get("mode") == "quick":
        text = f"**The quick form, to be compared with nothing.** {text}"
    if stored.get("failure"):
        text += f" It ended with: {stored['failure']}"
    return text


def section(part: Section, stored: dict[str, Any] | None) -> str:
    """One section; `stored` is None when there is no file."""
    table = part.table(stored["result"]) if stored and stored.get("result") else ""
    if not stored or not table:
        body = f"Not measured. `python bench/suite.py --only {part.name}` does it."
    else:
        body = f"{table}\n\n{provenance(stored)}"
    return f"## {part.title}\n\nTo be compared with: {part.compare}\n\n{body}"


def page(results: dict[str, dict[str, Any]]) -> str:
    """The whole page."""
    parts = [section(part, results.get(part.name)) for part in SECTIONS]
    return "\n\n".join(["# Results", NOTICE, INTRODUCTION, *parts]) + "\n"
