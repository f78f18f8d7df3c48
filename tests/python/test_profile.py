# SPDX-License-Identifier: Apache-2.0
"""Profiles without running steps: what is written, what is refused, which machine is which."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import tflms
from tflms import _machine, _profile, _profile_trace
from tflms._library import library
from tflms._profile import Runs, add_events, make_profile, write_profile

from scripts import run_ok

KEY = "MatMul|f32[2,3],f32[3,4]->f32[2,4]"


def event(kind: tflms.EventKind, op: str, duration_us: int, size: int = 0) -> tflms.MemoryEvent:
    return tflms.MemoryEvent(0, duration_us, kind, 0, op, size, 0, -1, 0, "MatMul")


def measured(*times_us: float, name: str = "a") -> Runs:
    runs = Runs()
    for time_us in times_us:
        runs.add(name, "MatMul", time_us)
    return runs


def table(key: str, name: str = "a", op: str = "MatMul") -> dict[str, Any]:
    return {"graph": "g", "ops": {name: {"op": op, "key": key, "time_us": 1}}}


def test_the_first_run_warms_up_and_the_median_of_the_next_counts() -> None:
    ops = make_profile(measured(99, 7, 3, 5, 1000), [table(KEY)], "d", steps=3)["ops"]
    assert ops == {"a": {"op": "MatMul", "time_us": 5, "n": 3, "key": KEY}}
    assert make_profile(measured(99), [], "d", 3)["ops"]["a"] == {
        "op": "MatMul",
        "time_us": 99,
        "n": 1,
    }


def test_shapes_are_those_of_the_graphs_and_doubtful_names_are_left_out() -> None:
    runs = measured(1, 2)
    for name, time_us in (("b", 4), ("c", 9), ("d", 9)):
        runs.add(name, "MatMul", time_us)
    other = KEY.replace("2", "7")
    tables = [
        table(KEY),
        table("", name="a"),  # an earlier pass over the same graph, with less known
        table(KEY, name="b"),
        table(KEY, name="c"),
        table(other, name="c"),  # another graph: which of them ran?
        table(KEY, name="d", op="Relu"),  # not what ran
    ]
    profile = make_profile(runs, tables, "d", 3)
    assert profile["shapes"] == {KEY: 3}
    assert sorted(profile["ops"]) == ["a", "b", "d"]
    assert "key" not in profile["ops"]["d"]


def test_the_link_is_measured_on_large_copies() -> None:
    runs = measured(1)
    kind = tflms.EventKind
    add_events(
        runs,
        [
            event(kind.COMPUTE, "b", 5),
            event(kind.ALLOCATE, "b", 0, 256),
            event(kind.COPY_OUT, "x", 1000, 400_000),
            event(kind.COPY_OUT, "x", 2000, 800_000),
            event(kind.COPY_OUT, "x", 1000, 4),
            event(kind.COPY_IN, "x", 0, 400_000),
        ],
    )
    profile = make_profile(runs, [], "d", 3)
    assert profile["link"] == {"out_bytes_per_us": 400}
    assert sorted(profile["ops"]) == ["a", "b"]


def test_nothing_measured_is_an_error() -> None:
    with pytest.raises(tflms.TflmsError, match="no operation ran on GPU inside record_profile"):
        make_profile(Runs(), [], "GPU", 3)


def test_what_is_written_is_what_the_planner_reads(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("old")
    profile = make_profile(measured(1, 2.5), [table(KEY)], "GPU", 3)
    write_profile(str(path), profile)
    assert json.loads(path.read_text()) == profile
    assert os.listdir(tmp_path) == ["p.json"]
    library().configure(False, {"profile": str(path)})
    assert library().settings()["options"]["profile"] == str(path)
    library().configure(False, {})


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("old")
    with pytest.raises(ValueError, match="JSON"):
        write_profile(str(path), {"time": float("nan")})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["p.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON from byte"),
        ('{"format": 7}', "key `format`: expected 1, the only version there is, found `7`"),
        (
            '{"format": 1, "ops": {"a": {"op": "A", "time_us": -3}}}',
            "key `ops.a.time_us`: expected",
        ),
    ],
)
def test_a_bad_profile_is_refused_with_its_fault(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    before = library().settings()
    with pytest.raises(ValueError, match=r"option profile: .*bad\.json: ") as raised:
        library().configure(True, {"profile": str(path)})
    assert message in str(raised.value)
    assert library().settings() == before


def test_a_bad_machine_is_refused_with_its_fault(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"base": "t4", "flops": 3}')
    with pytest.raises(ValueError, match=r"m\.json: key `flops` is not known; expected base, name"):
        library().configure(True, {"machine": str(path)})
    with pytest.raises(ValueError, match="`v99` is not known; expected one of neutral, v100-pcie3"):
        library().configure(True, {"machine": "v99"})


@pytest.mark.parametrize("steps", [0, -1, 2.0, "3"])
def test_steps_must_be_a_number_from_one_on(tmp_path: Path, steps: Any) -> None:
    message = "steps: expected a whole number from 1 on"
    with pytest.raises(ValueError, match=message), tflms.record_profile(tmp_path / "p.json", steps):
        pass


def test_the_folder_must_exist(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "p.json", tmp_path):
        message = "path: expected a file in a folder that exists"
        with pytest.raises(ValueError, match=message), tflms.record_profile(path):
            pass


def test_drivers_names_lead_to_the_nearest_machine() -> None:
    names = {
        "Tesla V100-SXM2-16GB": "v100-pcie3",
        "Tesla P100-PCIE-16GB": "v100-pcie3",
        "NVIDIA A100-SXM4-80GB": "a100-pcie4",
        "NVIDIA H100 PCIe": "h100-pcie5",
        "NVIDIA H200": "h100-pcie5",
        "NVIDIA GH200 480GB": "gh200",
        "Tesla T4": "t4",
        "NVIDIA GeForce RTX 2080 Ti": "t4",
        "NVIDIA GeForce RTX 3080": "rtx3090",
        "NVIDIA RTX A6000": "rtx3090",
        "NVIDIA A10G": "rtx3090",
        "NVIDIA GeForce RTX 4090": "rtx4090",
        "NVIDIA L40S": "rtx4090",
        "A card of another maker": "neutral",
        "": "neutral",
    }
    found = {name: _machine.nearest_machine(name, "x86_64") for name in names}
    assert found == names
    assert _machine.nearest_machine("Tesla V100-SXM2-16GB", "ppc64le") == "v100-nvlink2"
    machines = next(r for r in library().option_table() if r["name"] == "machine")["range"]
    assert set(found.values()) | {"v100-nvlink2"} <= set(machines.split(" | "))


def test_without_a_driver_the_machine_is_neutral() -> None:
    assert _machine.find_machine("XPU") == {"machine": "neutral"}
    assert _machine.find_machine("XPU", ["machine"]) == {}


def test_the_environment_goes_before_what_is_found() -> None:
    script = (
        "import tflms\n"
        "tflms.simulate_gpu(64 << 20, link_bytes_per_s=(3e6, 4e6))\n"
        "tflms.enable(log_level='silent')\n"
        "rows = {row.name: row.value for row in tflms.options()}\n"
        "print([rows[n] for n in "
        "('machine', 'link_out_bytes_per_s', 'link_in_bytes_per_s')])\n"
    )
    assert "['simulated', 3000000, 7000000]" in run_ok(script, TFLMS_LINK_IN_BYTES_PER_S="7 MB")
    assert "['t4', 0, 0]" in run_ok(script, TFLMS_MACHINE="t4")


def _space() -> Any:
    pytest.importorskip("tensorflow")
    return _profile_trace.xplane_module().XSpace()


def _add(plane: Any, line: Any, name: str, duration_us: float, **stats: Any) -> None:
    """One event; statistics by name, texts as references."""
    number = len(plane.event_metadata) + 1
    plane.event_metadata[number].name = name
    made = line.events.add(metadata_id=number, duration_ps=int(duration_us * 1e6))
    made.offset_ps = 10**6 * len(line.events)
    for key, value in stats.items():
        which = len(plane.stat_metadata) + 1
        plane.stat_metadata[which].name = key
        stat = made.stats.add(metadata_id=which)
        if isinstance(value, str):
            plane.stat_metadata[which + 1].name = value
            stat.ref_value = which + 1
        else:
            stat.uint64_value = value


def _kernel(plane: Any, line: Any, kernel: str, duration_us: float, op: str) -> None:
    _add(plane, line, kernel, duration_us, tf_op=op, correlation_id=7)


def test_a_devices_kernels_are_added_up_by_run() -> None:
    space = _space()
    plane = space.planes.add(name="/device:GPU:0")
    line = plane.lines.add()
    for factor in (1, 2):
        for kernel, time_us in (("gemm", 10), ("bias", 3), ("bias", 4)):
            _kernel(plane, line, kernel, factor * time_us, "net/dense/MatMul:MatMul")
        # The host's threads tell that these two are one run.
        _kernel(plane, line, "sum", factor * 5, "s:Sum")
        _kernel(plane, line, "sum", factor * 6, "s:Sum")
    for time_us in (1, 2, 6):  # cannot be three equal runs of two
        _kernel(plane, line, "r", time_us, "r:Relu")
    _add(plane, line, "gemm", 50, tf_op="net/dense/MatMul:MatMul")  # a line that sums up
    details = "kind_src:device size:1200000 dest:0"
    _add(
        plane, line, "MemcpyD2H", 100, memcpy_details=details, tf_op="r:Relu", correlation_id=1
    )  # fmt: skip
    host = space.planes.add(name="/host:CPU")
    host_line = host.lines.add()
    for _ in range(2):
        _add(host, host_line, "s:Sum", 77)
        _add(host, host_line, "r:Relu", 77)
    runs = Runs()
    _profile_trace.read_space(space, "GPU", runs)
    assert dict(runs.times_us) == {
        "net/dense/MatMul": [17, 34],
        "s": [11, 22],
        "r": [4.5, 4.5],
    }
    assert runs.op_types == {"net/dense/MatMul": "MatMul", "s": "Sum", "r": "Relu"}
    assert runs.copies == {"out": (1_200_000, 100.0)}


def test_kernels_of_other_libraries_count_as_the_graphs_operations() -> None:
    runs = Runs()
    for op_type in ("MatMul", "_MklMatMul", "_MklNativeMatMul"):
        runs.add("a", op_type, 1)
        assert runs.op_types["a"] == "MatMul"
    for op_type in ("_FusedConv2D", "_MklFusedConv2D", "_MklNativeFusedConv2D"):
        runs.add("a", op_type, 1)
        assert runs.op_types["a"] == "_FusedConv2D"


def test_without_device_planes_the_hosts_threads_count() -> None:
    space = _space()
    plane = space.planes.add(name="/host:CPU")
    first, second = plane.lines.add(timestamp_ns=5000), plane.lines.add(timestamp_ns=1000)
    _add(plane, first, "a/MatMul:MatMul", 20)
    _add(plane, second, "a/MatMul:MatMul", 10)
    _add(plane, second, "ExecutorState::Process", 99)
    _add(plane, second, "Session::Run: x", 99)
    runs = Runs()
    _profile_trace.read_space(space, "GPU", runs)
    assert dict(runs.times_us) == {"a/MatMul": [10, 20]}


def test_the_profilers_own_trace_is_read(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    run_ok(
        "import tensorflow as tf, tflms\n"
        "@tf.function\n"
        "def f(x):\n"
        "    return tf.reduce_sum(tf.matmul(x, x, name='product'), name='total')\n"
        "x = tf.ones([200, 200])\n"
        f"with tflms.record_profile({str(path)!r}):\n"
        "    for _ in range(5): f(x).numpy()\n"
    )
    profile = json.loads(path.read_text())
    product = profile["ops"]["product"]
    assert product["op"] == "MatMul" and product["n"] == 3
    assert 1 < product["time_us"] < 1e6
    assert profile["ops"]["total"]["op"] == "Sum"
    assert profile["format"] == _profile.FORMAT
    library().configure(False, {"profile": str(path)})
    library().configure(False, {})


def test_a_failing_step_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    run_ok(
        "import tensorflow as tf, tflms\n"
        "try:\n"
        f"    with tflms.record_profile({str(path)!r}):\n"
        "        tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))\n"
        "        raise KeyError('mine')\n"
        "except KeyError as error:\n"
        "    assert error.args == ('mine',)\n"
    )
    assert os.listdir(tmp_path) == []


def test_the_function_is_where_the_docs_say() -> None:
    assert tflms.record_profile is _profile.record_profile
