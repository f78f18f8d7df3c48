# SPDX-License-Identifier: Apache-2.0
"""Random DAGs and random Keras models with and without tflms: every result equal, bit for bit.

    python bench/random_models.py --models 200 --dags 1000     # the nightly form
    python bench/random_models.py --dags 1 --first-seed 417    # one graph again

The graphs are those of tests/python/random_graphs.py. Exits with 1 when any result differs, any run
fails or tflms declines a graph.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests" / "python"
sys.path.insert(0, str(TESTS))

from random_graphs import MARK  # noqa: E402


def run_seeds(kind: str, first: int, end: int, timeout_s: float = 3000) -> list[dict[str, Any]]:
    """Results of the seeds first .. end - 1, from one child process."""
    task = {"kind": kind, "seeds": [first, end], "progress": True}
    process = subprocess.run(
        [sys.executable, str(TESTS / "random_graphs.py"), json.dumps(task)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONPATH": python_path()},
        check=False,
    )
    for line in process.stdout.splitlines():
        if line.startswith(MARK):
            results: list[dict[str, Any]] = json.loads(line[len(MARK) :])
            return results
    raise RuntimeError(
        f"{kind} {first} to {end - 1} ended with status {process.returncode}:\n"
        f"{process.stderr[-4000:]}"
    )


def python_path() -> str:
    return os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))


def failures(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [r for r in results if not r["same"] or r["error"] or r["declined"]]


def run_all(kind: str, first: int, count: int, chunk: int) -> bool:
    """Runs `count` seeds in processes of `chunk`; prints what failed and a summary."""
    starts = range(first, first + count, chunk)
    with ThreadPoolExecutor(max_workers=2) as pool:
        parts = pool.map(lambda s: run_seeds(kind, s, min(s + chunk, first + count)), starts)
        results: list[dict[str, Any]] = []
        for part in parts:
            results += part
            print(f"{kind}: {len(results)} of {count}", flush=True)
    bad = failures(results)
    for result in bad:
        print(f"FAILED {kind} seed {result['seed']}: {json.dumps(result)}")
    swapped = [r for r in results if r["swapped_tensors"]]
    print(
        f"{kind}: {count} run both ways, {len(swapped)} with swaps "
        f"({sum(r['swapped_tensors'] for r in swapped)} tensors), {len(bad)} failed"
    )
    return not bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=0, help="number of Keras models")
    parser.add_argument("--dags", type=int, default=0, help="number of DAGs")
    parser.add_argument("--first-seed", type=int, default=0)
    args = parser.parse_args()
    good = True
    if args.dags:
        good &= run_all("dags", args.first_seed, args.dags, 50)
    if args.models:
        good &= run_all("models", args.first_seed, args.models, 25)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
