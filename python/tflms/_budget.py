# SPDX-License-Identifier: Apache-2.0
"""How much device memory a step may use, when the user does not say.

In this order: the limit of the simulated GPU; a limit set with
``tf.config.set_logical_device_configuration``; what the driver says is free on the smallest
visible GPU, less what TensorFlow leaves to the system. No device is started for this.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tflms import _simulated_gpu

_T = TypeVar("_T")

_MIB = 1 << 20
# What TensorFlow leaves to the system on current GPUs, rounded up.
_SYSTEM_RESERVE_BYTES = 2048 * _MIB
_SYSTEM_RESERVE_PART = 0.06


def find_budget(device_type: str) -> int:
    """Memory limit in bytes of the smallest device of that type; 0 when it cannot be told."""
    simulated = _simulated_gpu.simulated_gpu()
    if simulated is not None and simulated.device_type == device_type:
        return int(simulated.memory_limit_bytes)
    configured = _configured_limit(device_type)
    if configured:
        return configured
    return usable_bytes(_nvml_free_bytes()) if device_type == "GPU" else 0


def usable_bytes(free_bytes: list[int]) -> int:
    """What TensorFlow will take of the GPU with the least free memory; 0 for no GPU."""
    if not free_bytes:
        return 0
    smallest = min(free_bytes)
    reserve = max(min(_SYSTEM_RESERVE_BYTES, smallest // 4), int(smallest * _SYSTEM_RESERVE_PART))
    return smallest - reserve


def _configured_limit(device_type: str) -> int:
    """The smallest limit the user set on a logical device; 0 when there is none."""
    context_module = sys.modules.get("tensorflow.python.eager.context")
    tf = sys.modules.get("tensorflow")
    if tf is None or context_module is None:
        return 0
    # Listing devices would fix them; without a list there is no limit set either.
    if getattr(context_module.context(), "_physical_devices", None) is None:
        return 0
    limits: list[int] = []
    for device in tf.config.list_physical_devices(device_type):
        for logical in tf.config.get_logical_device_configuration(device) or []:
            if logical.memory_limit:
                limits.append(int(logical.memory_limit) * _MIB)
    return min(limits, default=0)


class _NvmlMemory(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    ]


def _nvml_free_bytes() -> list[int]:
    """Free memory of each visible GPU."""
    return read_each_gpu(_nvml_free)


def read_each_gpu(read: Callable[[Any, Any], _T]) -> list[_T]:
    """``read(library, handle)`` of each GPU that CUDA_VISIBLE_DEVICES leaves, by the driver's library.

    An empty list without a driver.
    """
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return []
    try:
        if nvml.nvmlInit_v2() != 0:
            return []
        try:
            handles = [_nvml_handle(nvml, name) for name in _visible_devices(nvml)]
            return [read(nvml, handle) for handle in handles if handle is not None]
        finally:
            nvml.nvmlShutdown()
    except AttributeError:  # a library that lacks one of the functions
        return []


def _visible_devices(nvml: Any) -> list[str]:
    """Names as in CUDA_VISIBLE_DEVICES: ordinals or UUIDs; what follows a bad name is ignored."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        names = [name.strip() for name in visible.split(",")]
        bad = next((i for i, name in enumerate(names) if name in ("", "-1")), len(names))
        return names[:bad]
    count = ctypes.c_uint()
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return []
    return [str(i) for i in range(count.value)]


def _nvml_handle(nvml: Any, name: str) -> Any:
    handle = ctypes.c_void_p()
    if name.isdigit():
        failed = nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(name)), ctypes.byref(handle))
    else:
        failed = nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle))
    return None if failed else handle


def _nvml_free(nvml: Any, handle: Any) -> int:
    memory = _NvmlMemory()
    if nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) != 0:
        return 0
    return int(memory.free)
