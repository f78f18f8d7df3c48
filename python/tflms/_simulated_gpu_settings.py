# SPDX-License-Identifier: Apache-2.0
"""The settings of the simulated GPU: their ranges, and how the environment gives them.

A value that is out of range is named in the error, with what was expected and what was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar, Union

from tflms._simulated_gpu_build import SimulatedGpuError

LEAST_MEMORY_BYTES = 1 << 20
MOST_MEMORY_BYTES = (1 << 62) - 1
MOST_DEVICES = 64

LinkRate = Union[None, float, tuple[Optional[float], Optional[float]]]

_Number = TypeVar("_Number", int, float)

ENVIRONMENT = {
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


def check_settings(
    memory_limit_bytes: int, count: int, device_type: str, workspaces: Mapping[str, int]
) -> None:
    """Raises ValueError for the first value out of range."""
    check_whole("memory_limit_bytes", memory_limit_bytes, LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES)
    check_whole("count", count, 1, MOST_DEVICES)
    is_name = isinstance(device_type, str) and device_type.isascii() and device_type.isidentifier()
    if not is_name or not device_type.isupper() or device_type == "CPU":
        raise ValueError(
            "device_type must be a device type in capital letters other than CPU, usually GPU; "
            f"found {device_type!r}."
        )
    for op, size in workspaces.items():
        if not isinstance(op, str) or not op:
            raise ValueError(f"workspace_bytes must be keyed by operation types; found {op!r}.")
        check_whole(f"workspace_bytes of {op!r}", size, 0, memory_limit_bytes)


def check_whole(name: str, value: int, least: int, most: int) -> None:
    """Raises ValueError unless `value` is a whole number from `least` to `most`."""
    if not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number, {least} to {most}; found {value!r}.")


def link_rates(rate: LinkRate) -> tuple[float, float]:
    """The pair (out, in) in bytes per second, 0 for no limit. ValueError when out of range."""
    pair = rate if isinstance(rate, (tuple, list)) else (rate, rate)
    if len(pair) != 2:
        raise ValueError(
            f"link_bytes_per_s must be one number or a pair (out, in); found {rate!r}."
        )
    for value in pair:
        is_number = isinstance(value, (int, float))
        if value is not None and not (is_number and 0 < value < float("inf")):
            raise ValueError(
                "link_bytes_per_s must be more than 0 bytes per second, or None for no limit; "
                f"found {value!r}."
            )
    out_rate, in_rate = (0.0 if value is None else float(value) for value in pair)
    return out_rate, in_rate


def settings_from_environment(env: Mapping[str, str]) -> dict[str, Any] | None:
    """Arguments for `simulate_gpu`, or None when the environment does not ask for it.

    Raises SimulatedGpuError for a variable that is unknown, missing or malformed. Ranges are
    checked by `simulate_gpu`.
    """
    for name in env:
        if name.startswith("TFLMS_SIM_") and name not in ENVIRONMENT:
            raise SimulatedGpuError(f"{name} is not known. Known are: {', '.join(ENVIRONMENT)}.")
    if not _flag(env, "TFLMS_SIM_GPU", False):
        return None
    limit = _number(env, "TFLMS_SIM_MEMORY_LIMIT_BYTES", int, None)
    if limit is None:
        raise SimulatedGpuError(
            "TFLMS_SIM_GPU is set, but TFLMS_SIM_MEMORY_LIMIT_BYTES is not: set it to the memory of "
            "each device, in bytes."
        )
    both = _number(env, "TFLMS_SIM_LINK_BYTES_PER_S", float, None)
    return {
        "memory_limit_bytes": limit,
        "count": _number(env, "TFLMS_SIM_COUNT", int, 1),
        "link_bytes_per_s": (
            _number(env, "TFLMS_SIM_LINK_OUT_BYTES_PER_S", float, both),
            _number(env, "TFLMS_SIM_LINK_IN_BYTES_PER_S", float, both),
        ),
        "device_type": env.get("TFLMS_SIM_DEVICE_TYPE", "").strip() or "GPU",
        "workspace_bytes": _workspaces(env.get("TFLMS_SIM_WORKSPACE_BYTES", "")),
        "wait_when_full": _flag(env, "TFLMS_SIM_WAIT_WHEN_FULL", True),
        "scratch_on_device": _flag(env, "TFLMS_SIM_SCRATCH_ON_DEVICE", False),
    }


def _number(
    env: Mapping[str, str], name: str, kind: Callable[[str], _Number], default: _Number | None
) -> _Number | None:
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        return kind(text)
    except ValueError:
        whole = "a whole number" if kind is int else "a number"
        raise SimulatedGpuError(f"{name} must be {whole}; found {text!r}.") from None


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    text = env.get(name, "").strip().lower()
    if text in ("", "0", "1", "false", "true"):
        return default if not text else text in ("1", "true")
    raise SimulatedGpuError(f"{name} must be 0 or 1; found {text!r}.")


def _workspaces(text: str) -> dict[str, int]:
    result: dict[str, int] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        op, _, size = item.partition("=")
        if not op or not size.isdecimal():
            raise SimulatedGpuError(
                "TFLMS_SIM_WORKSPACE_BYTES must be pairs like Conv2D=16777216, separated by "
                f"commas; found {item!r}."
            )
        result[op.strip()] = int(size)
    return result
