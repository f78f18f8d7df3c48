# SPDX-License-Identifier: Apache-2.0
"""The simulated GPU: devices with a hard memory limit that stock CPU TensorFlow sees as GPUs.

The library behind it is tied to one TensorFlow build, so it is compiled for the TensorFlow that
runs, on first use, and cached. See docs/simulated-gpu.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NoReturn

from tflms import _simulated_gpu_build
from tflms._simulated_gpu_build import SimulatedGpuError
from tflms._simulated_gpu_library import SimulatedGpuLibrary
from tflms._simulated_gpu_log import EventKind, MemoryEvent, SimulatedGpuStats
from tflms._simulated_gpu_settings import (
    MOST_MEMORY_BYTES,
    LinkRate,
    check_settings,
    check_whole,
    link_rates,
    settings_from_environment,
)

__all__ = [
    "EventKind",
    "MemoryEvent",
    "SimulatedGpu",
    "SimulatedGpuStats",
    "simulate_gpu",
    "simulate_gpu_from_environment",
    "simulated_gpu",
]

DEFAULT_LOG_CAPACITY = 4_000_000
# What the device's allocator hands out is a multiple of this; a limit is rounded down to one.
_GRAIN_BYTES = 256


class SimulatedGpu:
    """Handle to the process's simulated devices. Made by `simulate_gpu`."""

    def __init__(
        self,
        library: SimulatedGpuLibrary,
        device_type: str,
        count: int,
        limit_bytes: int,
        link_rates_bytes_per_s: tuple[float, float] = (0, 0),
    ) -> None:
        self._library = library
        self.device_type = device_type
        self.count = count
        self.memory_limit_bytes = limit_bytes
        # Device to host, host to device; 0 for no limit.
        self.link_rates_bytes_per_s = link_rates_bytes_per_s

    def __repr__(self) -> str:
        return (
            f"SimulatedGpu(device_type={self.device_type!r}, count={self.count}, "
            f"memory_limit_bytes={self.memory_limit_bytes})"
        )

    def stats(self, device: int = 0) -> SimulatedGpuStats:
        """Figures of device number `device`, at this moment."""
        self._check_device(device)
        return self._library.stats(device)

    def reset_peak(self, device: int | None = None) -> None:
        """Lets the peaks start again from what is in use now; of all devices when None."""
        devices = range(self.count) if device is None else [device]
        for ordinal in devices:
            self._check_device(ordinal)
            self._library.reset_peak(ordinal)

    def start_log(self, capacity: int = DEFAULT_LOG_CAPACITY) -> None:
        """Starts a new log of allocations, frees and copies; keeps at most `capacity` events."""
        check_whole("capacity", capacity, 1, MOST_MEMORY_BYTES)
        self._library.start_log(capacity)

    def stop_log(self) -> list[MemoryEvent]:
        """Stops the log and returns its events in order."""
        return self._library.stop_log()

    def time_runs(self, on: bool) -> tuple[int, int]:
        """Whether kernels are timed for feedback, and where the plugin reads that; (0, 0) for off."""
        if on:
            return self._library.time_runs()
        self._library.stop_timing_runs()
        return 0, 0

    def _check_device(self, device: int) -> None:
        if not 0 <= device < self.count:
            raise ValueError(
                f"There is no simulated device {device}; there are {self.count}, from 0 on."
            )


_started: SimulatedGpu | None = None


def simulated_gpu() -> SimulatedGpu | None:
    """The handle of the running simulated GPU, or None."""
    return _started


def simulate_gpu(
    memory_limit_bytes: int,
    count: int = 1,
    link_bytes_per_s: LinkRate = None,
    device_type: str = "GPU",
    *,
    workspace_bytes: Mapping[str, int] | None = None,
    wait_when_full: bool = True,
    scratch_on_device: bool = False,
) -> SimulatedGpu:
    """Adds `count` simulated devices to this process's TensorFlow. Once, before its first use.

    Args:
      memory_limit_bytes: memory of each device, at least 1 MiB. Allocations beyond it fail with
        ResourceExhaustedError, as on a GPU.
      count: number of devices, 1 to 64.
      link_bytes_per_s: rate of the link between each device and the host, in bytes per second: one
        number for both directions, or a pair (device to host, host to device). None is no limit.
      device_type: the device type TensorFlow sees.
      workspace_bytes: device memory that operations of a type hold while they run, such as
        {"Conv2D": 16 << 20}: a model of the workspace of library kernels. None by default.
      wait_when_full: an allocation that does not fit waits up to 10 s for memory to be freed, as
        TensorFlow's does, before it fails. False fails at once.
      scratch_on_device: counts what CPU kernels take as scratch (such as im2col buffers) as device
        memory. False keeps it on the host: no GPU needs it.

    Raises:
      SimulatedGpuError: TensorFlow is missing or already lists its devices, has real devices of the
        type, or the library cannot be built. The message says what to do.
      ValueError: a value is out of range.
    """
    global _started
    rates = link_rates(link_bytes_per_s)
    workspaces = dict(workspace_bytes or {})
    check_settings(memory_limit_bytes, count, device_type, workspaces)
    if _started is not None:
        raise SimulatedGpuError(
            "The simulated GPU has already been started in this process; its settings cannot "
            "change. Start a new process."
        )
    _check_tensorflow(device_type)
    library = SimulatedGpuLibrary(_simulated_gpu_build.library_path())
    library.start(
        device_type=device_type,
        link_rates=rates,
        workspaces=workspaces,
        memory_limit_bytes=memory_limit_bytes,
        count=count,
        wait_when_full=int(wait_when_full),
        scratch_on_device=int(scratch_on_device),
    )
    _hide_cudnn_rnn()
    limit = memory_limit_bytes // _GRAIN_BYTES * _GRAIN_BYTES
    _started = SimulatedGpu(library, device_type, count, limit, rates)
    return _started


def simulate_gpu_from_environment(
    environ: Mapping[str, str] | None = None,
) -> SimulatedGpu | None:
    """Starts the simulated GPU if the environment asks for it (`TFLMS_SIM_GPU=1`).

    Returns the handle, also when it had been started before; None when it is not asked for.
    """
    settings = settings_from_environment(os.environ if environ is None else environ)
    if settings is None:
        return None
    if _started is not None:
        return _started
    try:
        return simulate_gpu(**settings)
    except ValueError as error:
        raise SimulatedGpuError(f"A TFLMS_SIM_ variable is out of range: {error}") from error


def _check_tensorflow(device_type: str) -> None:
    try:
        from tensorflow.python.eager import context

        import tensorflow as tf
    except ImportError as error:
        raise SimulatedGpuError(
            "The simulated GPU needs TensorFlow, which cannot be imported "
            f"({error}). Install it: pip install tensorflow-cpu."
        ) from error
    # TensorFlow lists its devices once; it shows only in this private field that it has.
    if getattr(context.context(), "_physical_devices", None) is not None:
        names = [device.device_type for device in tf.config.list_physical_devices()]
        if device_type in names:
            raise SimulatedGpuError(
                f"This machine has devices of type {device_type} already. Choose another "
                "device_type, or hide them with CUDA_VISIBLE_DEVICES=-1 and a CPU build of "
                "TensorFlow."
            )
        raise SimulatedGpuError(
            "TensorFlow has already listed its devices, so no simulated GPU can be added. Call "
            "tflms.simulate_gpu directly after importing, before the first tensor, model or "
            "tf.config call."
        )


def _hide_cudnn_rnn() -> None:
    """Lets Keras find out in time that its recurrent layers cannot use cuDNN here.

    CPU builds know the cuDNN operations but have no kernels for them, which would show only when
    the step runs. Keras 3 picks the operation as soon as there is a GPU, and falls back to its
    general implementation when the operation is not found. Keras 2 builds the general one and
    leaves it to TensorFlow's implementation selector to put the other in its place on GPUs.
    """
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options({"implementation_selector": False})

    def not_found(*_: Any, **__: Any) -> NoReturn:
        raise tf.errors.NotFoundError(
            None, None, "The simulated GPU has no cuDNN. Pass use_cudnn=False to the layer."
        )

    for name in ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"):
        if hasattr(tf.raw_ops, name):
            setattr(tf.raw_ops, name, not_found)
