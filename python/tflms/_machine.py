# SPDX-License-Identifier: Apache-2.0
"""Which machine's figures plans are weighed by, when the user does not say.

The simulated GPU: ``simulated`` and the rates of its link. A real one: the machine of the catalog
that is nearest to what the driver calls it. Anything else: ``neutral``. No device is started.
"""

from __future__ import annotations

import ctypes
import platform
import re
from collections.abc import Collection
from typing import Any

from tflms import _simulated_gpu
from tflms._budget import read_each_gpu

UNKNOWN = "neutral"
_NAME_BYTES = 128

# The first that fits the driver's name counts. Cards stand beside the nearest of the catalog by
# compute, memory and link.
_MACHINES = (
    (r"GH200|GB200", "gh200"),
    (r"\b(H100|H200|H800|B100|B200|H20)\b", "h100-pcie5"),
    (r"\b(A100|A800|A30)\b", "a100-pcie4"),
    (r"RTX 40[6-9]0|RTX 50\d0|RTX \d+ Ada|\bL40S?\b", "rtx4090"),
    (r"RTX 30\d0|RTX A\d{4}|\b(A10G?|A40|A16|L4)\b", "rtx3090"),
    (r"\b(V100|P100|TITAN V|Quadro GV100)", "v100"),
    (r"\b(T4|P4|P40|M60|T1000)\b|RTX 20\d0|Quadro RTX|GTX 1[016]\d0", "t4"),
)


def find_machine(device_type: str, given: Collection[str] = ()) -> dict[str, Any]:
    """Options for devices of that type: ``machine`` and, where it is known, the link's rates.

    Args:
        given: options the user has set, which are left out.
    """
    found: dict[str, Any] = {"machine": UNKNOWN}
    simulated = _simulated_gpu.simulated_gpu()
    if simulated is not None and simulated.device_type == device_type:
        out_rate, in_rate = simulated.link_rates_bytes_per_s
        found = {
            "machine": "simulated",
            "link_out_bytes_per_s": int(out_rate),
            "link_in_bytes_per_s": int(in_rate),
        }
    elif device_type == "GPU":
        names = read_each_gpu(_nvml_name)
        found["machine"] = nearest_machine(names[0] if names else "")
    return {name: value for name, value in found.items() if value and name not in given}


def nearest_machine(name: str, processor: str | None = None) -> str:
    """The catalog's machine for what the driver calls a GPU; ``neutral`` for an unknown name."""
    for pattern, machine in _MACHINES:
        if re.search(pattern, name, re.IGNORECASE):
            if machine != "v100":
                return machine
            # Only POWER9 has NVLink between processor and GPU.
            is_power = (processor or platform.machine()) == "ppc64le"
            return "v100-nvlink2" if is_power else "v100-pcie3"
    return UNKNOWN


def _nvml_name(nvml: Any, handle: Any) -> str:
    name = ctypes.create_string_buffer(_NAME_BYTES)
    if nvml.nvmlDeviceGetName(handle, name, ctypes.c_uint(_NAME_BYTES)) != 0:
        return ""
    return name.value.decode("utf-8", "replace")
