# SPDX-License-Identifier: Apache-2.0
"""The C surface of the simulated GPU's library, through ctypes.

Mirrors ``src/tensorflow/sim_gpu/c_api.h`` and ``event_log.h`` one to one: the structs here have the
members there, in the same order. ``ABI`` changes with them.
"""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from collections.abc import Mapping
from typing import Any

from tflms._simulated_gpu_build import SimulatedGpuError
from tflms._simulated_gpu_log import MemoryEvent, SimulatedGpuStats, decode_events

ABI = 4
_MESSAGE_BYTES = 1024


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


_STATS_NAMES = [field.name for field in dataclasses.fields(SimulatedGpuStats)]


class _Stats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in _STATS_NAMES]


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
        ("op_type", ctypes.c_int32),
    ]


class SimulatedGpuLibrary:
    """The loaded library. `start` must have succeeded before anything else is called."""

    def __init__(self, path: str) -> None:
        try:
            self._handle = ctypes.CDLL(path)
            abi = self._handle.tflms_sim_gpu_abi()
        except (OSError, AttributeError) as error:
            raise SimulatedGpuError(
                f"The simulated GPU's library {path} cannot be loaded: {error}. Remove the file to "
                "have it built again."
            ) from error
        if abi != ABI:
            raise SimulatedGpuError(
                f"The simulated GPU's library {path} has interface {abi}; this version of tflms "
                f"expects {ABI}. Remove the file to have it built again."
            )
        self._handle.tflms_sim_gpu_log_size.restype = ctypes.c_int64
        self._handle.tflms_sim_gpu_log_dropped.restype = ctypes.c_int64
        self._handle.tflms_sim_gpu_log_read.restype = ctypes.c_int64
        self._handle.tflms_sim_gpu_log_read.argtypes = [
            ctypes.c_int64,
            ctypes.c_int64,
            ctypes.c_void_p,
        ]
        self._handle.tflms_sim_gpu_log_start.argtypes = [ctypes.c_int64]
        self._handle.tflms_sim_gpu_log_name.restype = ctypes.c_char_p

    def start(
        self,
        *,
        device_type: str,
        link_rates: tuple[float, float],
        workspaces: Mapping[str, int],
        **numbers: int,
    ) -> None:
        """Registers the devices with TensorFlow; `numbers` are the other members of the settings."""
        array = (_Workspace * max(len(workspaces), 1))()
        for slot, (op, size) in zip(array, workspaces.items()):
            slot.op, slot.bytes = op.encode(), size
        settings = _Settings(
            device_type=device_type.encode(),
            link_out_bytes_per_s=link_rates[0],
            link_in_bytes_per_s=link_rates[1],
            workspaces=array,
            num_workspaces=len(workspaces),
            **numbers,
        )
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        if self._handle.tflms_sim_gpu_start(
            ctypes.byref(settings), message, ctypes.c_size_t(_MESSAGE_BYTES)
        ):
            text = message.value.decode("utf-8", "replace")
            raise SimulatedGpuError(f"The simulated GPU could not be started: {text}")

    def stats(self, device: int) -> SimulatedGpuStats:
        """Figures of a device that is there."""
        raw = _Stats()
        self._handle.tflms_sim_gpu_stats(device, ctypes.byref(raw))
        return SimulatedGpuStats(**{name: getattr(raw, name) for name in _STATS_NAMES})

    def time_runs(self) -> tuple[int, int]:
        """Starts timing kernels for feedback; the addresses of the functions that tell.

        They are ``TflmsReadCopies`` and ``TflmsTakeRuns`` of ``include/tflms/c_api.h``.
        """
        self._handle.tflms_sim_gpu_time_runs(1)
        functions = (self._handle.tflms_sim_gpu_copies, self._handle.tflms_sim_gpu_take_runs)
        copies, runs = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
        return copies, runs

    def stop_timing_runs(self) -> None:
        """Lets kernels run without being timed again."""
        self._handle.tflms_sim_gpu_time_runs(0)

    def reset_peak(self, device: int) -> None:
        """Lets the peaks of a device that is there start again."""
        self._handle.tflms_sim_gpu_reset_peak(device)

    def start_log(self, capacity: int) -> None:
        """Starts a new log."""
        self._handle.tflms_sim_gpu_log_start(capacity)

    def stop_log(self) -> list[MemoryEvent]:
        """Stops the log and gives its events; says so on standard error when it was too small."""
        self._handle.tflms_sim_gpu_log_stop()
        dropped = self._handle.tflms_sim_gpu_log_dropped()
        if dropped:
            sys.stderr.write(
                f"tflms: the memory log was full and left out its last {dropped} events; "
                "start it with a larger capacity.\n"
            )
        size = self._handle.tflms_sim_gpu_log_size()
        raw: Any = (_Event * size)()
        size = self._handle.tflms_sim_gpu_log_read(0, size, ctypes.byref(raw)) if size else 0
        return decode_events(raw[:size], self._log_name)

    def _log_name(self, index: int) -> str:
        name: bytes | None = self._handle.tflms_sim_gpu_log_name(index)
        return (name or b"").decode("utf-8", "replace")
