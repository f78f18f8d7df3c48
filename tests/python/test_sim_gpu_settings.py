# SPDX-License-Identifier: Apache-2.0
"""Starting the simulated GPU: by call and by environment, and what is said of wrong values."""

from __future__ import annotations

from typing import Any

import pytest
from tflms import _simulated_gpu
from tflms._simulated_gpu import SimulatedGpu
from tflms._simulated_gpu_build import SimulatedGpuError

from scripts import run_ok, run_script

ON = {"TFLMS_SIM_GPU": "1", "TFLMS_SIM_MEMORY_LIMIT_BYTES": "67108864"}


def test_twice_and_split_devices_say_what_to_do() -> None:
    result = run_script("""
        import tflms
        tflms.simulate_gpu(1 << 26)
        try:
            tflms.simulate_gpu(1 << 26)
        except tflms.SimulatedGpuError as error:
            print("TWICE", error)
        import tensorflow as tf
        gpu, = tf.config.list_physical_devices("GPU")
        logical = tf.config.LogicalDeviceConfiguration(memory_limit=16)
        tf.config.set_logical_device_configuration(gpu, [logical])
        tf.ones([2])
        """)
    assert "TWICE The simulated GPU has already been started" in result.stdout, result.stderr
    assert result.returncode != 0
    assert "cannot be split into logical devices" in result.stderr


def test_by_environment_alone() -> None:
    output = run_ok(
        """
        import sys
        import tensorflow as tf
        print([d.name for d in tf.config.list_physical_devices("GPU")], tf.ones([8]).device)
        import tflms
        gpu = tflms.simulated_gpu()
        print(gpu)
        x = tf.ones([4 << 20])
        try:
            x + 1.0, tf.ones([16 << 20])
        except tf.errors.ResourceExhaustedError as error:
            print("FULL", gpu.stats().num_waits)
        before = gpu.stats().copy_out_busy_us
        x.numpy()
        print("BUSY", gpu.stats().copy_out_busy_us - before >= (16 << 20) / 64e6 * 1e6 - 1000)
        """,
        **ON,
        TFLMS_SIM_COUNT="2",
        TFLMS_SIM_LINK_BYTES_PER_S="64e6",
        TFLMS_SIM_WAIT_WHEN_FULL="0",
    )
    names = "['/physical_device:GPU:0', '/physical_device:GPU:1']"
    assert output.splitlines() == [
        f"{names} /job:localhost/replica:0/task:0/device:GPU:0",
        "SimulatedGpu(device_type='GPU', count=2, memory_limit_bytes=67108864)",
        "FULL 0",
        "BUSY True",
    ]


def test_a_wrong_environment_is_one_line_and_a_late_start_an_error() -> None:
    result = run_script(
        """
        import tensorflow as tf
        tf.ones([2])
        import tflms
        try:
            tflms.simulate_gpu(1 << 26)
        except tflms.SimulatedGpuError as error:
            print("LATE", error)
        print(tflms.simulated_gpu(), tf.config.list_physical_devices("GPU"))
        """,
        **{**ON, "TFLMS_SIM_COUNT": "65"},
    )
    assert result.returncode == 0, result.stderr
    assert "count must be a whole number, 1 to 64; found 65" in result.stderr
    assert "LATE TensorFlow has already listed its devices" in result.stdout
    assert "directly after importing" in result.stdout
    assert result.stdout.rstrip().endswith("None []")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"memory_limit_bytes": 1000}, "memory_limit_bytes .*, 1048576 to .*; found 1000"),
        ({"memory_limit_bytes": -1}, "memory_limit_bytes .*; found -1"),
        ({"memory_limit_bytes": 1 << 62}, "memory_limit_bytes .*; found 4611686018427387904"),
        ({"memory_limit_bytes": 1e9}, "memory_limit_bytes must be a whole number.*; found 1000000"),
        ({"count": 0}, "count must be a whole number, 1 to 64; found 0"),
        ({"count": 65}, "count .*; found 65"),
        ({"count": "2"}, "count must be a whole number.*; found '2'"),
        ({"link_bytes_per_s": 0}, "link_bytes_per_s must be more than 0 .*; found 0"),
        ({"link_bytes_per_s": (1e6, -1)}, "link_bytes_per_s .*; found -1"),
        ({"link_bytes_per_s": float("nan")}, "link_bytes_per_s .*; found nan"),
        ({"link_bytes_per_s": float("inf")}, "link_bytes_per_s .*; found inf"),
        ({"link_bytes_per_s": "1e6"}, "link_bytes_per_s .*; found '1e6'"),
        ({"link_bytes_per_s": (1, 2, 3)}, r"one number or a pair .*; found \(1, 2, 3\)"),
        ({"device_type": "CPU"}, "other than CPU.*; found 'CPU'"),
        ({"device_type": "gpu"}, "capital letters .*; found 'gpu'"),
        ({"device_type": "G P U"}, "capital letters .*; found 'G P U'"),
        ({"device_type": ""}, "capital letters .*; found ''"),
        ({"workspace_bytes": {"MatMul": -1}}, "workspace_bytes of 'MatMul' .*; found -1"),
        ({"workspace_bytes": {"MatMul": 1 << 27}}, "'MatMul' .*, 0 to 67108864; found 134217728"),
        ({"workspace_bytes": {"MatMul": 0.5}}, "'MatMul' must be a whole number.*; found 0.5"),
        ({"workspace_bytes": {"": 1}}, "keyed by operation types; found ''"),
    ],
)
def test_values_out_of_range_name_themselves(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        _simulated_gpu.simulate_gpu(**{"memory_limit_bytes": 1 << 26, **settings})
    assert _simulated_gpu.simulated_gpu() is None


def test_device_numbers_and_log_sizes_are_checked() -> None:
    gpu = SimulatedGpu(None, "GPU", 2, 1 << 20)  # type: ignore[arg-type]
    for use in (gpu.stats, gpu.reset_peak):
        with pytest.raises(ValueError, match="no simulated device 2; there are 2"):
            use(2)
        with pytest.raises(ValueError, match="no simulated device -1"):
            use(-1)
    with pytest.raises(ValueError, match=r"capacity .*; found 0"):
        gpu.start_log(0)


def test_the_environment_gives_every_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(_simulated_gpu, "simulate_gpu", lambda **kwargs: seen.update(kwargs))
    start = _simulated_gpu.simulate_gpu_from_environment
    assert start({}) is None and start({"TFLMS_SIM_GPU": "0"}) is None and seen == {}
    start(
        {
            **ON,
            "TFLMS_SIM_COUNT": "2",
            "TFLMS_SIM_LINK_BYTES_PER_S": "4e8",
            "TFLMS_SIM_LINK_IN_BYTES_PER_S": "1e8",
            "TFLMS_SIM_DEVICE_TYPE": "SIM",
            "TFLMS_SIM_WORKSPACE_BYTES": "Conv2D=1024, Conv3D=2048",
            "TFLMS_SIM_WAIT_WHEN_FULL": "0",
            "TFLMS_SIM_SCRATCH_ON_DEVICE": "1",
        }
    )
    assert seen == {
        "memory_limit_bytes": 67108864,
        "count": 2,
        "link_bytes_per_s": (4e8, 1e8),
        "device_type": "SIM",
        "workspace_bytes": {"Conv2D": 1024, "Conv3D": 2048},
        "wait_when_full": False,
        "scratch_on_device": True,
    }
    start(ON)
    assert seen == {
        "memory_limit_bytes": 67108864,
        "count": 1,
        "link_bytes_per_s": (None, None),
        "device_type": "GPU",
        "workspace_bytes": {},
        "wait_when_full": True,
        "scratch_on_device": False,
    }


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"TFLMS_SIM_GPU": "maybe"}, "TFLMS_SIM_GPU must be 0 or 1; found 'maybe'"),
        ({"TFLMS_SIM_GPU": "1"}, "TFLMS_SIM_MEMORY_LIMIT_BYTES is not"),
        ({**ON, "TFLMS_SIM_COUNTS": "1"}, "TFLMS_SIM_COUNTS is not known"),
        ({**ON, "TFLMS_SIM_COUNT": "two"}, "TFLMS_SIM_COUNT must be a whole number; found 'two'"),
        ({**ON, "TFLMS_SIM_COUNT": "0"}, "count .*; found 0"),
        ({**ON, "TFLMS_SIM_MEMORY_LIMIT_BYTES": "4GB"}, "_BYTES must be a whole number"),
        ({**ON, "TFLMS_SIM_MEMORY_LIMIT_BYTES": "4"}, "memory_limit_bytes .*; found 4"),
        ({**ON, "TFLMS_SIM_LINK_BYTES_PER_S": "fast"}, "_PER_S must be a number; found 'fast'"),
        ({**ON, "TFLMS_SIM_LINK_OUT_BYTES_PER_S": "-1"}, "link_bytes_per_s .*; found -1.0"),
        ({**ON, "TFLMS_SIM_LINK_IN_BYTES_PER_S": "nan"}, "link_bytes_per_s .*; found nan"),
        ({**ON, "TFLMS_SIM_DEVICE_TYPE": "gpu"}, "device_type .*; found 'gpu'"),
        ({**ON, "TFLMS_SIM_WORKSPACE_BYTES": "Conv2D"}, "pairs like .*; found 'Conv2D'"),
        ({**ON, "TFLMS_SIM_WAIT_WHEN_FULL": "2"}, "_WAIT_WHEN_FULL must be 0 or 1; found '2'"),
        ({**ON, "TFLMS_SIM_SCRATCH_ON_DEVICE": "x"}, "_ON_DEVICE must be 0 or 1; found 'x'"),
    ],
)
def test_a_wrong_variable_is_named(environ: dict[str, str], says: str) -> None:
    with pytest.raises(SimulatedGpuError, match=says):
        _simulated_gpu.simulate_gpu_from_environment(environ)
