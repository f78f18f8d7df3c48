# SPDX-License-Identifier: Apache-2.0
"""Train TensorFlow models that do not fit into device memory, on stock TensorFlow.

    import tflms
    tflms.enable()

From then on every graph that TensorFlow optimises (Keras ``fit``, ``tf.function``, sessions) is
rewritten so that tensors which are not needed for a while wait in host memory. Results stay the
same to the last bit. ``print(tflms.report())`` says what was done and why.

Importing this package does not import TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflms._control import disable, enable, is_enabled
from tflms._errors import TflmsError
from tflms._options import Option, OptionTable, options
from tflms._plan_file import save_plan
from tflms._profile import record_profile
from tflms._report import CostCounts, Report, ReportList, RuleCount, SkipCount, report
from tflms._simulated_gpu import (
    EventKind,
    MemoryEvent,
    SimulatedGpu,
    SimulatedGpuStats,
    simulate_gpu,
    simulated_gpu,
)
from tflms._simulated_gpu_build import SimulatedGpuError
from tflms._stats import DeviceStats, GraphStats, Stats, reset_peak, stats
from tflms._version import __version__

if TYPE_CHECKING:
    from tflms._keras_callback import KerasCallback, KerasRecord
    from tflms.pictures import plot, write_html, write_trace

__all__ = [
    "CostCounts",
    "DeviceStats",
    "EventKind",
    "GraphStats",
    "KerasCallback",
    "KerasRecord",
    "MemoryEvent",
    "Option",
    "OptionTable",
    "Report",
    "ReportList",
    "RuleCount",
    "SimulatedGpu",
    "SimulatedGpuError",
    "SimulatedGpuStats",
    "SkipCount",
    "Stats",
    "TflmsError",
    "__version__",
    "disable",
    "enable",
    "is_enabled",
    "options",
    "plot",
    "record_profile",
    "report",
    "reset_peak",
    "save_plan",
    "simulate_gpu",
    "simulated_gpu",
    "stats",
    "write_html",
    "write_trace",
]


def __getattr__(name: str) -> Any:
    """Loads what few programs use, or what needs Keras and so TensorFlow, when it is asked for."""
    if name in ("KerasCallback", "KerasRecord"):
        from tflms import _keras_callback

        return getattr(_keras_callback, name)
    if name in ("plot", "write_html", "write_trace"):
        from tflms import pictures

        return getattr(pictures, name)
    raise AttributeError(f"module 'tflms' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
