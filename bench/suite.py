# SPDX-License-Identifier: Apache-2.0
"""The benchmark suite: everything that docs/results.md shows.

    python bench/suite.py                    # all, hours on two cores
    python bench/suite.py --quick            # all in small, minutes; a check that they run
    python bench/suite.py --long             # all, with the largest graphs
    python bench/suite.py --only dtr peers   # some
    python bench/suite.py --page             # runs nothing, writes docs/results.md anew

Each benchmark runs in a process of its own. What it found goes to bench/results/NAME.json, with the
command and the versions it was made with, and docs/results.md is rendered from all of these files
(results_page.py). With --quick both go to bench-out/quick instead: figures of small models are not to
be compared with anything. A failure is named at the end, makes the exit status 1, and leaves the file
of an earlier run as it is. The simulator's benchmarks need the programs of bench/core:
`cmake --preset release -DTFLMS_BENCH=ON && cmake --build --preset release`, as `make bench` does.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import results_page  # noqa: E402

RESULTS = HERE / "results"
QUICK_OUT = ROOT / "bench-out" / "quick"
PACKAGES = ("tensorflow", "tensorflow-cpu", "keras", "numpy", "tflms")
LEVEL_DISTANCE = '{"planner": "level-distance"}'


@dataclass(frozen=True)
class Benchmark:
    """One script and its arguments.

    Attributes:
        name: of the result's file, and of the table on the page.
        quick: arguments of the small form; None: there is none, it takes long in any form.
        usual: arguments else; `long`: those of the long form, None for the same.
    """

    name: str
    script: str
    quick: tuple[str, ...] | None
    usual: tuple[str, ...] = ()
    long: tuple[str, ...] | None = None

    def arguments(self, mode: str) -> tuple[str, ...] | None:
        if mode == "quick":
            return self.quick
        return self.long if mode == "long" and self.long is not None else self.usual


SMALL_SEARCH = (
    *("--model", "transformer", "--memory-mib", "24"),
    *("--first", "8", "--first-with", "16", "--grain", "8"),
)
BENCHMARKS = (
    Benchmark("planning", "planning.py", ("--quick",), (), ("--long",)),
    Benchmark("bounds", "bounds.py", ("--quick",)),
    Benchmark("peers", "peers.py", ("--budgets", "60%", "--policies", "vdnn-conv", "joint")),
    Benchmark("checkmate", "checkmate.py", ("--models", "VGG19", "--policies", "chen-sqrt")),
    Benchmark("dtr", "dtr.py", ("--models", "lstm", "--policies", "dtr")),
    Benchmark("max_batch", "max_batch.py", SMALL_SEARCH),
    Benchmark(
        "max_batch_v2_rules",
        "max_batch.py",
        (*SMALL_SEARCH, "--only", "with", "--options", LEVEL_DISTANCE),
        ("--only", "with", "--options", LEVEL_DISTANCE),
    ),
    Benchmark("bound_share", "bound_share.py", ("--quick",)),
    Benchmark("unet3d", "unet3d_mri.py", None),
    Benchmark(
        "step_time",
        "step_time.py",
        ("--model", "transformer", "--batch", "16", "--memory-mib", "32", "--links", "0", "100e6"),
    ),
    Benchmark(
        "predicted_peak", "predicted_peak.py", ("--models", "transformer", "--fractions", "0.9")
    ),
    Benchmark(
        "predicted_time",
        "predicted_time.py",
        ("--rates", "200e6", "--steps", "2"),
    ),
    Benchmark("remat", "remat.py", ("--quick",)),
)


def versions() -> dict[str, str]:
    """Versions of what results depend on, as far as they are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def without_paths(text: str) -> str:
    """Text that says nothing about the machine: paths in the repository are relative to it."""
    text = text.replace(f"{ROOT}/", "")
    return re.sub(r"(?<![\w.])/(?:tmp|home|root|usr|opt|var|work)/[^\s\"'\\:,]*", "...", text)


def run(benchmark: Benchmark, mode: str, out: Path) -> str:
    """Runs one and stores what it found; what went wrong, "" for nothing."""
    arguments = benchmark.arguments(mode)
    if arguments is None:
        return ""
    command = shlex.join(["python", f"bench/{benchmark.script}", *arguments])
    print(f"\n== {benchmark.name}: {command}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        done = subprocess.run(
            [sys.executable, str(HERE / benchmark.script), *arguments, "--json", str(file)],
            stderr=subprocess.PIPE,
            env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
            text=True,
            check=False,
        )
        failure = ""
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            failure = without_paths(lines[-1] if lines else f"ended with status {done.returncode}")
            print(done.stderr[-4000:], file=sys.stderr, flush=True)
        if not file.exists():
            return failure or "wrote no result"
        result = json.loads(without_paths(file.read_text(encoding="utf-8")))
    store(out / f"{benchmark.name}.json", envelope(command, mode, failure, result))
    return failure


def envelope(command: str, mode: str, failure: str, result: Any) -> dict[str, Any]:
    """What a result's file holds."""
    return {
        "command": command,
        "mode": mode,
        "cores": os.cpu_count(),
        "versions": versions(),
        "failure": failure,
        "result": result,
    }


def store(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def write_page(results: Path, page: Path) -> None:
    text = results_page.page(results_page.load(results))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_const", const="quick", dest="mode")
    mode.add_argument("--long", action="store_const", const="long", dest="mode")
    mode.add_argument("--page", action="store_true", help="only write the page")
    names = [benchmark.name for benchmark in BENCHMARKS]
    parser.add_argument("--only", nargs="*", choices=names, metavar="NAME", help=", ".join(names))
    parser.set_defaults(mode="usual")
    return parser.parse_args()


def main() -> None:
    args = parse()
    quick = args.mode == "quick"
    out = QUICK_OUT if quick else RESULTS
    page = QUICK_OUT / "results.md" if quick else ROOT / "docs" / "results.md"
    chosen = [b for b in BENCHMARKS if args.only is None or b.name in args.only]
    failures: dict[str, str] = {}
    if not args.page:
        for benchmark in chosen:
            failure = run(benchmark, args.mode, out)
            if failure:
                failures[benchmark.name] = failure
            elif benchmark.arguments(args.mode) is None:
                print(f"\n== {benchmark.name}: has no quick form, left out", flush=True)
    write_page(out, page)
    print(f"\n{page.relative_to(ROOT)} is written")
    for name, failure in failures.items():
        print(f"FAILED {name}: {failure}")
    if failures:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
