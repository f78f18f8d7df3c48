# SPDX-License-Identifier: Apache-2.0
"""The simulated GPU: devices with a hard memory limit that stock CPU TensorFlow sees as GPUs.

The library behind it is tied to one TensorFlow build, so it is compiled for the TensorFlow that
runs, on first use, and cached. See docs/simulated-gpu.md.
"""

from __future__ import annotations

import ctypes
import dataclasses
import enum
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Optional, Union

from tflms import _simulated_gpu_build as _build

ABI = 2
LEAST_MEMORY_BYTES = 1 << 20
DEFAULT_LOG_CAPACITY = 4_000_000

LinkRate = Union[None, float, tuple[Optional[float], Optional[float]]]


class SimulatedGpuError(RuntimeError):
    """The simulated GPU cannot be started or used; the message says what to do."""


@dataclasses.dataclass(frozen=True)
class SimulatedGpuStats:
    """Figures of one simulated device since the start (peaks: since `reset_peak`)."""

    limit_bytes: int
    in_use_bytes: int
    peak_in_use_bytes: int
    largest_allocation_bytes: int
    num_allocations: int
    num_failed_allocations: int
    num_waits: int
    wait_us: int
    scratch_bytes: int
    peak_scratch_bytes: int
    num_scratch_allocations: int
    copied_out_bytes: int
    num_copies_out: int
    copy_out_busy_us: int
    copied_in_bytes: int
    num_copies_in: int
    copy_in_busy_us: int
    same_device_bytes: int
    moved_output_bytes: int
    num_moved_outputs: int


class EventKind(enum.IntEnum):
    """What an event of the log is."""

    ALLOCATE = 0
    FREE = 1
    COPY_OUT = 2
    COPY_IN = 3
    SCRATCH = 4
    SCRATCH_FREE = 5
    MOVE = 6


@dataclasses.dataclass(frozen=True)
class MemoryEvent:
    """One event of the log.

    `bytes` is positive for what is taken, negative for what is given back, and the bytes moved of a
    copy. `in_use_bytes` is the device's memory in use after the event. `offset` is where in the
    device's memory, -1 outside it. `op` is the operation that took the memory, or the copied edge;
    for a free it is the operation that had taken it, where the log saw that.
    """

    time_us: int
    duration_us: int
    kind: EventKind
    device: int
    op: str
    bytes: int
    requested_bytes: int
    offset: int
    in_use_bytes: int


class _Workspace(ctypes.Structure):
    _fields_ = [("op", ctypes.c_char_p), ("bytes", ctypes.c_int64)]


class _Settings(ctypes.Structure):
    _fields_ = [
        ("device_type", ctypes.c_char_p),
        ("memory_limit_bytes", ctypes.c_int64),
        ("link_out_bytes_per_s", ctypes.c_double),
        ("link_in_bytes_per_s", ctypes.c_double),
        ("workspaces", ctypes.POINTER(_Workspace)),
        ("num_workspaces", ctypes.c_int32),
        ("count", ctypes.c_int32),
        ("wait_when_full", ctypes.c_int32),
        ("scratch_on_device", ctypes.c_int32),
    ]


class _Stats(ctypes.Structure):
    _fields_ = [(field.name, ctypes.c_int64) for field in dataclasses.fields(SimulatedGpuStats)]


class _Event(ctypes.Structure):
    _fields_ = [
        ("time_us", ctypes.c_int64),
        ("duration_us", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
        ("requested_bytes", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("in_use_bytes", ctypes.c_int64),
        ("kind", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("name", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class SimulatedGpu:
    """Handle to the process's simulated devices. Made by `simulate_gpu`."""

    def __init__(self, library: ctypes.CDLL, device_type: str, count: int, limit_bytes: int):
        self._library = library
        self.device_type = device_type
        self.count = count
        self.memory_limit_bytes = limit_bytes

    def __repr__(self) -> str:
        return (
            f"SimulatedGpu(device_type={self.device_type!r}, count={self.count}, "
            f"memory_limit_bytes={self.memory_limit_bytes})"
        )

    def stats(self, device: int = 0) -> SimulatedGpuStats:
        """Figures of device number `device`, at this moment."""
        self._check_device(device)
        raw = _Stats()
        self._library.tflms_sim_gpu_stats(device, ctypes.byref(raw))
        return SimulatedGpuStats(**{name: getattr(raw, name) for name, _ in _Stats._fields_})

    def reset_peak(self, device: Optional[int] = None) -> None:
        """Lets the peaks start again from what is in use now; of all devices when None."""
        devices = range(self.count) if device is None else [device]
        for ordinal in devices:
            self._check_device(ordinal)
            self._library.tflms_sim_gpu_reset_peak(ordinal)

    def start_log(self, capacity: int = DEFAULT_LOG_CAPACITY) -> None:
        """Starts a new log of allocations, frees and copies; keeps at most `capacity` events."""
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1; found {capacity}.")
        self._library.tflms_sim_gpu_log_start(capacity)

    def stop_log(self) -> list[MemoryEvent]:
        """Stops the log and returns its events in order."""
        self._library.tflms_sim_gpu_log_stop()
        dropped = self._library.tflms_sim_gpu_log_dropped()
        if dropped:
            print(
                f"tflms: the memory log was full and left out its last {dropped} events; "
                "start it with a larger capacity.",
                file=sys.stderr,
            )
        size = self._library.tflms_sim_gpu_log_size()
        raw = (_Event * size)()
        size = self._library.tflms_sim_gpu_log_read(0, size, ctypes.byref(raw)) if size else 0
        return self._events(raw[:size])

    def _events(self, raw: Sequence[_Event]) -> list[MemoryEvent]:
        names: dict[int, str] = {}
        owners: dict[tuple[int, int], str] = {}
        taken: dict[tuple[int, int], int] = {}
        events: list[MemoryEvent] = []
        for event in raw:
            if event.name not in names:
                text = self._library.tflms_sim_gpu_log_name(event.name)
                names[event.name] = (text or b"").decode("utf-8", "replace")
            op = names[event.name]
            place = (event.device, event.offset)
            if event.kind == EventKind.ALLOCATE:
                owners[place] = op
            elif event.kind == EventKind.FREE:
                op = owners.pop(place, "")
            elif event.kind == EventKind.COPY_IN and place in owners:
                # Memory for a received value is taken before its receiver is known to the allocator.
                owners[place] = op
                index = taken.get(place)
                if index is not None:
                    events[index] = dataclasses.replace(events[index], op=op)
            if event.kind == EventKind.ALLOCATE:
                taken[place] = len(events)
            events.append(
                MemoryEvent(
                    time_us=event.time_us,
                    duration_us=event.duration_us,
                    kind=EventKind(event.kind),
                    device=event.device,
                    op=op,
                    bytes=event.bytes,
                    requested_bytes=event.requested_bytes,
                    offset=event.offset,
                    in_use_bytes=event.in_use_bytes,
                )
            )
        return events

    def _check_device(self, device: int) -> None:
        if not 0 <= device < self.count:
            raise ValueError(
                f"There is no simulated device {device}; there are {self.count}, from 0 on."
            )


_started: Optional[SimulatedGpu] = None


def simulated_gpu() -> Optional[SimulatedGpu]:
    """The handle of the running simulated GPU, or None."""
    return _started


def simulate_gpu(
    memory_limit_bytes: int,
    count: int = 1,
    link_bytes_per_s: LinkRate = None,
    device_type: str = "GPU",
    *,
    workspace_bytes: Optional[Mapping[str, int]] = None,
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
    out_rate, in_rate = _link_rates(link_bytes_per_s)
    workspaces = dict(workspace_bytes or {})
    _check_values(memory_limit_bytes, count, device_type, workspaces)
    if _started is not None:
        raise SimulatedGpuError(
            "The simulated GPU has already been started in this process; its settings cannot "
            "change. Start a new process."
        )
    _check_tensorflow(device_type)
    library = _load(_build.library_path())
    settings = _Settings(
        device_type=device_type.encode(),
        memory_limit_bytes=memory_limit_bytes,
        link_out_bytes_per_s=out_rate,
        link_in_bytes_per_s=in_rate,
        count=count,
        wait_when_full=int(wait_when_full),
        scratch_on_device=int(scratch_on_device),
    )
    _start(library, settings, workspaces)
    _hide_cudnn_rnn()
    _started = SimulatedGpu(library, device_type, count, memory_limit_bytes // 256 * 256)
    return _started


_ENVIRONMENT = {
    "TFLMS_SIM_GPU": "1 starts the simulated GPU with the settings below, 0 or unset does not",
    "TFLMS_SIM_MEMORY_LIMIT_BYTES": "memory of each device, in bytes; needed",
    "TFLMS_SIM_COUNT": "number of devices (1)",
    "TFLMS_SIM_LINK_BYTES_PER_S": "rate of the link, both ways (no limit)",
    "TFLMS_SIM_LINK_OUT_BYTES_PER_S": "rate of the link, device to host (no limit)",
    "TFLMS_SIM_LINK_IN_BYTES_PER_S": "rate of the link, host to device (no limit)",
    "TFLMS_SIM_DEVICE_TYPE": "device type (GPU)",
    "TFLMS_SIM_WORKSPACE_BYTES": "workspaces, as Conv2D=16777216,Conv3D=33554432 (none)",
    "TFLMS_SIM_WAIT_WHEN_FULL": "0 lets allocations that do not fit fail at once (1)",
    "TFLMS_SIM_SCRATCH_ON_DEVICE": "1 counts the scratch of CPU kernels as device memory (0)",
}


def simulate_gpu_from_environment(
    environ: Optional[Mapping[str, str]] = None,
) -> Optional[SimulatedGpu]:
    """Starts the simulated GPU if the environment asks for it (`TFLMS_SIM_GPU=1`).

    Returns the handle, also when it had been started before; None when it is not asked for.
    """
    env = os.environ if environ is None else environ
    for name in env:
        if name.startswith("TFLMS_SIM_") and name not in _ENVIRONMENT:
            raise SimulatedGpuError(
                f"{name} is not known. Known are: {', '.join(_ENVIRONMENT)}."
            )
    if not _flag(env, "TFLMS_SIM_GPU", False):
        return None
    if _started is not None:
        return _started
    if "TFLMS_SIM_MEMORY_LIMIT_BYTES" not in env:
        raise SimulatedGpuError(
            "TFLMS_SIM_GPU is set, but TFLMS_SIM_MEMORY_LIMIT_BYTES is not: set it to the memory of "
            "each device, in bytes."
        )
    both = _number(env, "TFLMS_SIM_LINK_BYTES_PER_S", float, None)
    return simulate_gpu(
        memory_limit_bytes=_number(env, "TFLMS_SIM_MEMORY_LIMIT_BYTES", int, 0),
        count=_number(env, "TFLMS_SIM_COUNT", int, 1),
        link_bytes_per_s=(
            _number(env, "TFLMS_SIM_LINK_OUT_BYTES_PER_S", float, both),
            _number(env, "TFLMS_SIM_LINK_IN_BYTES_PER_S", float, both),
        ),
        device_type=env.get("TFLMS_SIM_DEVICE_TYPE", "GPU"),
        workspace_bytes=_workspaces(env.get("TFLMS_SIM_WORKSPACE_BYTES", "")),
        wait_when_full=_flag(env, "TFLMS_SIM_WAIT_WHEN_FULL", True),
        scratch_on_device=_flag(env, "TFLMS_SIM_SCRATCH_ON_DEVICE", False),
    )


def _number(env: Mapping[str, str], name: str, kind: type, default):
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        return kind(text)
    except ValueError:
        raise SimulatedGpuError(f"{name} must be a number; found {text!r}.") from None


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    text = env.get(name, "").strip().lower()
    if text in ("", "0", "1", "false", "true"):
        return default if not text else text in ("1", "true")
    raise SimulatedGpuError(f"{name} must be 0 or 1; found {text!r}.")


def _workspaces(text: str) -> dict[str, int]:
    result = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        op, _, size = item.partition("=")
        if not op or not size.isdigit():
            raise SimulatedGpuError(
                "TFLMS_SIM_WORKSPACE_BYTES must be pairs like Conv2D=16777216, separated by "
                f"commas; found {item!r}."
            )
        result[op] = int(size)
    return result


def _link_rates(rate: LinkRate) -> tuple[float, float]:
    """The pair (out, in) in bytes per second, 0 for no limit."""
    pair = rate if isinstance(rate, (tuple, list)) else (rate, rate)
    if len(pair) != 2:
        raise ValueError(
            f"link_bytes_per_s must be one number or a pair (out, in); found {rate!r}."
        )
    for value in pair:
        if value is not None and not 0 < value < float("inf"):
            raise ValueError(
                "A link rate must be more than 0 bytes per second, or None for no limit; "
                f"found {value!r}."
            )
    out_rate, in_rate = (0.0 if value is None else float(value) for value in pair)
    return out_rate, in_rate


def _check_values(limit: int, count: int, device_type: str, workspaces: Mapping[str, int]) -> None:
    if not LEAST_MEMORY_BYTES <= limit < 1 << 62:
        raise ValueError(f"memory_limit_bytes must be at least {LEAST_MEMORY_BYTES}; found {limit}.")
    if not 1 <= count <= 64:
        raise ValueError(f"count must be 1 to 64; found {count}.")
    if not device_type.isidentifier() or not device_type.isupper() or device_type == "CPU":
        raise ValueError(
            "device_type must be a device type in capital letters other than CPU, usually GPU; "
            f"found {device_type!r}."
        )
    for op, size in workspaces.items():
        if not 0 <= size <= limit:
            raise ValueError(
                f"workspace_bytes of {op!r} must be 0 to the memory limit; found {size}."
            )


def _check_tensorflow(device_type: str) -> None:
    try:
        import tensorflow as tf
        from tensorflow.python.eager import context
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

    def not_found(*_, **__):
        raise tf.errors.NotFoundError(
            None, None, "The simulated GPU has no cuDNN. Pass use_cudnn=False to the layer."
        )

    for name in ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"):
        if hasattr(tf.raw_ops, name):
            setattr(tf.raw_ops, name, not_found)


def _load(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise SimulatedGpuError(
            f"The simulated GPU's library {path} cannot be loaded: {error}. Remove the file to "
            "have it built again."
        ) from error
    library.tflms_sim_gpu_log_size.restype = ctypes.c_int64
    library.tflms_sim_gpu_log_dropped.restype = ctypes.c_int64
    library.tflms_sim_gpu_log_read.restype = ctypes.c_int64
    library.tflms_sim_gpu_log_read.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    library.tflms_sim_gpu_log_start.argtypes = [ctypes.c_int64]
    library.tflms_sim_gpu_log_name.restype = ctypes.c_char_p
    if library.tflms_sim_gpu_abi() != ABI:
        raise SimulatedGpuError(
            f"The simulated GPU's library {path} is not of this version of tflms. Remove the file "
            "to have it built again."
        )
    return library


def _start(library: ctypes.CDLL, settings: _Settings, workspaces: Mapping[str, int]) -> None:
    array = (_Workspace * max(len(workspaces), 1))()
    for slot, (op, size) in zip(array, workspaces.items()):
        slot.op, slot.bytes = op.encode(), size
    settings.workspaces = array
    settings.num_workspaces = len(workspaces)
    message = ctypes.create_string_buffer(1024)
    if library.tflms_sim_gpu_start(ctypes.byref(settings), message, ctypes.c_size_t(1024)):
        raise SimulatedGpuError(
            f"The simulated GPU could not be started: {message.value.decode('utf-8', 'replace')}"
        )
