# SPDX-License-Identifier: Apache-2.0
"""Pictures of a training as a user makes them: in the process that trains, with what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import run_ok

HERE = Path(__file__).resolve().parent
CODE = """
    import json, sys
    sys.path.insert(0, {here!r})
    import tflms
    try:
        tflms.write_html({out!r} + "/early.html")
    except tflms.TflmsError as error:
        early = str(error)
    gpu = tflms.simulate_gpu(40 << 20)
    tflms.enable()
    from models import MODELS
    training = MODELS["mlp_adam"](batch=2048, depth=6)
    training.step()
    gpu.start_log()
    training.step()
    events = gpu.stop_log()
    paths = [
        tflms.write_html({out!r} + "/a.html", events=events),
        tflms.write_trace({out!r} + "/a.json", events={{"one step": events}}),
    ]
    try:
        paths.append(tflms.plot({out!r} + "/a.svg", events=events))
    except tflms.TflmsError as error:
        assert "pip install matplotlib" in str(error)
    rewritten = tflms.report().rewritten[-1]
    print("seen " + json.dumps({{
        "early": early,
        "paths": [str(path) for path in paths],
        "graph": rewritten.graph,
        "tensors": rewritten.swapped_tensors,
        "peak": rewritten.peak_bytes_after,
        "in_use": max(e.in_use_bytes for e in events),
    }}))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("out")
    printed = run_ok(CODE.format(here=str(HERE), out=str(out)))
    (line,) = [line for line in printed.splitlines() if line.startswith("seen ")]
    result: dict[str, Any] = json.loads(line[len("seen ") :])
    return result


def test_before_anything_has_run(seen: dict[str, Any]) -> None:
    assert seen["early"].startswith(
        "no graph was rewritten, so there is nothing to draw. tflms has seen"
    )


def test_page(seen: dict[str, Any]) -> None:
    page = Path(seen["paths"][0]).read_text(encoding="utf-8")
    assert f"Memory of {seen['graph']} on GPU:0" in page
    assert f"of {seen['tensors']} tensors on the host" in page
    assert "Measured memory on the simulated device" in page


def test_trace_agrees_with_report_and_log(seen: dict[str, Any]) -> None:
    events = json.loads(Path(seen["paths"][1]).read_text(encoding="utf-8"))["traceEvents"]

    def counter(name: str) -> list[int]:
        return [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == name]

    assert max(counter("device, with tflms")) == seen["peak"]
    assert max(counter("device, in use")) == seen["in_use"]
    # Every planned stay on the host is found in the log: it left, and it came back.
    arrows = {pid: [e for e in events if e["ph"] == "s" and e["pid"] == pid] for pid in (1, 2)}
    assert len({e["name"] for e in arrows[1]}) == seen["tensors"] > 0
    assert len(arrows[2]) == len(arrows[1])


def test_picture(seen: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    svg = Path(seen["paths"][2]).read_text(encoding="utf-8")
    assert "device memory, measured" in svg
    assert f"Memory over one step: {seen['graph']} on GPU:0" in svg
