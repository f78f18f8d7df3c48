# SPDX-License-Identifier: Apache-2.0
"""Plans that one process leaves to the next: as a file, and in the cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tflms
from test_plugin import PRELUDE

from scripts import run_ok

TRAIN = """
def told():
    return [(r["plan_source"], r["peak_bytes_after"]) for r in reports() if r["swapped_tensors"]]

def sha(tensor):
    import hashlib
    return hashlib.sha256(tensor.numpy().tobytes()).hexdigest()
"""


def run(options: str, after: str = "", **environ: str) -> tuple[list[list[object]], str]:
    """One process that runs the step: (plan_source, peak) of the rewritten graphs, its result."""
    out = run_ok(
        PRELUDE
        + TRAIN
        + f"tflms.enable(**OPTIONS, {options})\n"
        + "result = sha(step()(X))\n"
        + after
        + "\nprint(json.dumps([told(), result]))",
        **environ,
    )
    told, result = json.loads(out.splitlines()[-1])
    return told, result


def test_the_next_process_takes_the_plan_from_the_cache_or_a_file(tmp_path: Path) -> None:
    cache, file = tmp_path / "cache", tmp_path / "step.plan.json"
    save = f"tflms.save_plan({str(file)!r})"
    first, result = run(f"cache_dir={str(cache)!r}", save)
    assert [source for source, _ in first] == ["planner"]
    cached = list(cache.iterdir())
    assert len(cached) == 1
    second, again = run(f"cache_dir={str(cache)!r}")
    assert [source for source, _ in second] == ["cache"]
    assert second[0][1] == first[0][1]
    assert again == result
    # The file wins over the cache, whatever the options of the planner say.
    third, from_file = run(f"cache_dir={str(cache)!r}, plan={str(file)!r}, n_tensors=0")
    assert [source for source, _ in third] == ["file"]
    assert third[0][1] == first[0][1]
    assert from_file == result
    content = json.loads(file.read_text())
    assert content["format"] == 1
    assert (
        content["plans"][0]["fingerprint"]
        == json.loads(cached[0].read_text())["plans"][0]["fingerprint"]
    )


def test_a_plan_of_another_step_is_refused_with_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps({"format": 1, "tflms": tflms.__version__, "plans": []}))
    out = run_ok(
        PRELUDE
        + f"tflms.enable(**OPTIONS, plan={str(file)!r})\n"
        + "step()(X)\n"
        + "print([r.plan_refused for r in tflms.report() if r.outcome == 'rewritten'])"
    )
    assert "it has no plan" in out


def test_nothing_to_save_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(tflms.TflmsError, match="no such plan"):
        tflms.save_plan(tmp_path / "a.json")
