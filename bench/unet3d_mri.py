# SPDX-License-Identifier: Apache-2.0
"""How large a batch, and how fine an image, a 3D U-Net trains on with a real MRI volume.

    python bench/unet3d_mri.py                          # both searches, a table
    python bench/unet3d_mri.py --only voxels --memory-mib 128
    python bench/unet3d_mri.py --write docs/unet3d.md

The volume is `example4d.nii.gz` of nibabel: two scans of a head, 128x96x24 voxels of 2x2x2.2 mm. An
image is a cube of the full height (53 mm) cut out of it and resampled to `size` voxels a side; its
label is which voxels are brighter than the mean of those that are not background. The net has three
levels and 8 base channels, `unet3d` of tests/python/models.py, on the simulated GPU.

Two searches, each without and with tflms: the largest batch at 32 voxels a side, and the most voxels
a side at batch 1. Every try is a process of its own, see max_batch.py. The bound is what no swapping
can pass: where the floor of the report, which grows with the batch (and with the voxels), reaches
the memory of the device. Losses at the largest are compared, to the last bit, with a run without
tflms on a device without a limit.
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

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from harness import MIB, OFF, Job, run_child
from max_batch import ROOM_BYTES, Search

SIZE = 32
# A net of three levels halves each side twice.
SIDE_GRAIN = 4
LEAST_HEAD = 0.4


def read_volume() -> tuple[np.ndarray, np.ndarray]:
    """The scans, as x, y, z, number, and the extent of a voxel in mm."""
    try:
        import nibabel
    except ImportError:
        raise SystemExit("the MRI volume comes with nibabel: pip install nibabel") from None
    path = Path(nibabel.__file__).parent / "tests" / "data" / "example4d.nii.gz"
    image = nibabel.load(path)
    return image.get_fdata(dtype=np.float32), np.array(image.header.get_zooms()[:3])


def cut(count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` cubes of `size` voxels a side, and their labels; the same ones every time.

    Positions are random; cubes of which less than `LEAST_HEAD` is head are not taken.
    """
    from scipy.ndimage import map_coordinates

    volume, voxel = read_volume()
    head = volume[volume > 0]
    side = volume.shape[2] * voxel[2]
    steps = (np.arange(size) + 0.5) * side / size
    random = np.random.default_rng(3)
    cubes: list[np.ndarray] = []
    while len(cubes) < count:
        corner = [random.uniform(0, volume.shape[i] * voxel[i] - side) for i in (0, 1)] + [0.0]
        scan = volume[..., random.integers(volume.shape[3])]
        grid = np.meshgrid(*((steps + corner[i]) / voxel[i] - 0.5 for i in range(3)), indexing="ij")
        cube = map_coordinates(scan, grid, order=1, mode="nearest")
        if np.mean(cube > 0) >= LEAST_HEAD:
            cubes.append(cube[..., None])
    images = np.stack(cubes).astype(np.float32)
    labels = (images > head.mean()).astype(np.float32)
    return images / np.float32(head.max()), labels


class MriSearch(Search):
    """Tries of one batch or one size, whichever is not fixed."""

    def __init__(
        self, args: argparse.Namespace, tflms: dict[str, Any] | str | None, unit: str, folder: Path
    ) -> None:
        super().__init__(args, tflms)
        self.unit = unit
        self.folder = folder

    def shape(self, number: int) -> tuple[int, int]:
        """Batch and voxels a side."""
        return (number, SIZE) if self.unit == "batch" else (self.args.images, number)

    def job(self, batch: int, limit_bytes: int) -> Job:
        count, size = self.shape(batch)
        file = self.folder / f"mri-{count}-{size}.npz"
        if not file.exists():
            images, labels = cut(count, size)
            np.savez(file, images=images, labels=labels)
        return Job(
            "unet3d",
            {"batch": count, "size": size, "data": str(file)},
            steps=self.args.steps,
            sim={"memory_limit_bytes": limit_bytes},
            tflms=self.tflms,
        )


@dataclass
class Row:
    """What one search found; `bound` is a batch or a number of voxels a side, not rounded."""

    unit: str
    without: int
    with_tflms: int
    bound: float
    report: dict[str, Any]
    same_loss: bool
    peak_bytes: int

    @property
    def factor(self) -> float:
        """How many times as many voxels a step."""
        ratio = self.with_tflms / max(1, self.without)
        return ratio if self.unit == "batch" else ratio**3

    @property
    def part_of_bound(self) -> float:
        part = self.with_tflms / self.bound
        return part if self.unit == "batch" else part**3


def bound(search: MriSearch, number: int, report: dict[str, Any], limit_bytes: int) -> float:
    """Where the floor reaches the limit: all of it but the variables grows with the voxels."""
    fixed = report["persistent_bytes"]
    growth = (limit_bytes - fixed) / (report["floor_bytes"] - fixed)
    return number * (growth if search.unit == "batch" else growth ** (1 / 3))


def find(args: argparse.Namespace, unit: str, folder: Path) -> Row:
    limit = args.memory_mib * MIB
    grain = args.grain if unit == "batch" else SIDE_GRAIN
    first = 8 if unit == "batch" else 60
    without = MriSearch(args, None, unit, folder).largest(first, grain)
    search = MriSearch(args, {}, unit, folder)
    best = search.largest(max(grain, 2 * without if unit == "batch" else without + grain), grain)
    if not best:
        raise SystemExit(f"{unit}: nothing fits into {args.memory_mib} MiB")
    outcome = search.outcomes[best]
    if not outcome.rewritten:
        raise SystemExit(f"{unit} {best}: nothing was rewritten: {outcome.reports}")
    plain = run_child(MriSearch(args, OFF, unit, folder).job(best, ROOM_BYTES), timeout_s=3600)
    report = outcome.rewritten[-1]
    return Row(
        unit,
        without,
        best,
        bound(search, best, report, limit),
        report,
        plain.losses == outcome.losses and not plain.error,
        outcome.peak_bytes,
    )


def table(rows: list[Row], args: argparse.Namespace) -> str:
    head = ["", "without", "with", "voxels a step", "bound", "part of the bound"]
    head += ["measured peak", "swapped out a step", "losses"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        name = f"largest batch, {SIZE}^3 voxels each"
        if row.unit == "side":
            name = f"most voxels a side, batch {args.images}"
        cells = [
            name,
            str(row.without),
            str(row.with_tflms),
            f"{row.factor:.2f}x",
            f"{row.bound:.1f}",
            f"{row.part_of_bound:.0%}",
            f"{row.peak_bytes / MIB:.0f} MiB",
            f"{row.report['swap_out_bytes'] / MIB:.0f} MiB",
            "equal to the last bit" if row.same_loss else "DIFFERENT",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rows_json(rows: list[Row], args: argparse.Namespace) -> str:
    """The rows as JSON."""
    found = [
        {
            "unit": row.unit,
            "without": row.without,
            "with": row.with_tflms,
            "factor": row.factor,
            "bound": row.bound,
            "share": row.part_of_bound,
            "peak_bytes": row.peak_bytes,
            "swap_out_bytes": row.report["swap_out_bytes"],
            "same_loss": row.same_loss,
        }
        for row in rows
    ]
    result = {"memory_mib": args.memory_mib, "size": SIZE, "images": args.images, "rows": found}
    return json.dumps(result, indent=1) + "\n"


def page(text: str, args: argparse.Namespace, seconds: float) -> str:
    """The page for the documentation."""
    command = f"python bench/unet3d_mri.py --memory-mib {args.memory_mib} --steps {args.steps}"
    return f"""# 3D U-Net on an MRI volume

<!-- Made by bench/unet3d_mri.py --write: do not edit. -->

A 3D U-Net of three levels and 8 base channels, batch normalisation, SGD, trained on cubes cut out of
`example4d.nii.gz` (two scans of a head, 128x96x24 voxels of 2x2x2.2 mm, part of the Python package
nibabel) on a simulated GPU with {args.memory_mib} MiB. The label is which voxels are brighter than the mean of
the head: the data are real, the task is not a medical one. A try fits when {args.steps} training steps run.

{text}

"Voxels a step" compares with and without. The bound is where the floor of the report (variables, and
inputs, outputs and workspace of the largest operation) reaches the memory of the device; the part is
of voxels. Losses are compared with a run without tflms on a device without a limit.

Made with `{command}` in {seconds / 60:.0f} minutes on two cores; it needs `pip install nibabel`.
"""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory-mib", type=int, default=200, help="memory of the device")
    parser.add_argument("--steps", type=int, default=2, help="training steps per try")
    parser.add_argument("--grain", type=int, default=2, help="batches are multiples of this")
    parser.add_argument("--images", type=int, default=1, help="batch of the search for voxels")
    parser.add_argument("--only", choices=["batch", "voxels"], help="one search only")
    parser.add_argument("--write", type=Path, help="write the page here")
    parser.add_argument("--json", type=Path, help="write the rows here")
    return parser.parse_args()


def main() -> None:
    args = parse()
    began = time.monotonic()
    units = {"batch": ["batch"], "voxels": ["side"]}.get(args.only, ["batch", "side"])
    print(f"3D U-Net on MRI cubes, {args.memory_mib} MiB, {args.steps} steps a try")
    with tempfile.TemporaryDirectory() as folder:
        rows = [find(args, unit, Path(folder)) for unit in units]
    text = table(rows, args)
    seconds = time.monotonic() - began
    print(f"\n{text}\n\n{seconds / 60:.1f} minutes")
    for row in rows:
        floor, node = row.report["floor_bytes"] / MIB, row.report["floor_node"]
        print(f"{row.unit} {row.with_tflms}: floor {floor:.0f} MiB at {node}")
    if args.json:
        args.json.write_text(rows_json(rows, args), encoding="utf-8")
    if args.write:
        args.write.write_text(page(text, args, seconds), encoding="utf-8")
    if not all(row.same_loss for row in rows):
        raise SystemExit("the losses differ")


if __name__ == "__main__":
    main()
