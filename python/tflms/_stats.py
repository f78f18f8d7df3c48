# SPDX-License-Identifier: Apache-2.0
"""Statistics: what the devices measured, beside what the plans predicted."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass, replace

from tflms import _simulated_gpu, _tensorflow
from tflms._format import format_bytes, format_count
from tflms._library import library
from tflms._report import Report, ReportList, compiled_advice, report


@dataclass(frozen=True)
class DeviceStats:
    """Measured on one accelerator since the start of the process.

    Copies are those of the device's link, whoever asked for them; they are counted on simulated
    GPUs only and ``None`` elsewhere.

    Attributes:
        device: ``"GPU:0"``.
        limit_bytes: size of the device's memory; ``None`` when it cannot be told.
        in_use_bytes: held by tensors now.
        peak_bytes: the most that was held at once, since the start or ``reset_peak()``.
        predicted_peak_bytes: the most that the rewritten graphs of this device reach by the same
            count, however slow copies are; ``None`` when none was rewritten.
        largest_allocation_bytes: the largest single request.
        allocations: number of requests.
        waits, wait_us: requests that had to wait for memory, and for how long in sum.
    """

    device: str
    in_use_bytes: int
    peak_bytes: int
    limit_bytes: int | None = None
    copied_out_bytes: int | None = None
    copied_in_bytes: int | None = None
    copies_out: int | None = None
    copies_in: int | None = None
    failed_allocations: int | None = None
    predicted_peak_bytes: int | None = None
    largest_allocation_bytes: int | None = None
    allocations: int | None = None
    waits: int | None = None
    wait_us: int | None = None


@dataclass(frozen=True)
class GraphStats:
    """What one rewritten graph (a function, a session's step) moves and needs in each run.

    Attributes:
        graph: as in ``tflms.report()``.
        device: ``"GPU:0"``.
        predicted_peak_bytes: by the count of the device's allocator.
        reclaimed_bytes: how much lower the swaps and the order bring the predicted peak.
        host_peak_bytes: of swapped tensors on the host at once.
    """

    graph: str
    device: str
    predicted_peak_bytes: int
    reclaimed_bytes: int
    host_peak_bytes: int
    swapped_tensors: int
    swap_out_bytes: int
    swap_in_bytes: int


@dataclass(frozen=True)
class Stats:
    """A snapshot from ``tflms.stats()``. ``str()`` is readable.

    ``planned_...`` figures are sums over the rewritten graphs, for one run of each.
    """

    enabled: bool
    graphs_seen: int
    graphs_rewritten: int
    nodes_added: int
    compiled_nodes: int
    planned_swapped_tensors: int
    planned_swap_out_bytes: int
    planned_swap_in_bytes: int
    planned_peak_bytes: int
    host_in_use_bytes: int
    host_peak_bytes: int
    devices: tuple[DeviceStats, ...] = ()
    graphs: tuple[GraphStats, ...] = ()

    def device(self, name: str = "GPU:0") -> DeviceStats:
        """The statistics of one device, e.g. ``"GPU:1"``."""
        for device in self.devices:
            if device.device == name:
                return device
        known = ", ".join(d.device for d in self.devices) or "none (not started yet?)"
        raise KeyError(f"no device {name!r}; devices: {known}")

    def __str__(self) -> str:
        lines = [
            f"tflms is {'on' if self.enabled else 'off'}: "
            f"{format_count(self.graphs_seen, 'graph')} seen, {self.graphs_rewritten} rewritten, "
            f"{format_count(self.nodes_added, 'node')} added",
            f"planned for one run of each: {format_count(self.planned_swapped_tensors, 'tensor')}, "
            f"{format_bytes(self.planned_swap_out_bytes)} out, "
            f"{format_bytes(self.planned_swap_in_bytes)} in",
            f"host process: {format_bytes(self.host_in_use_bytes)}, "
            f"peak {format_bytes(self.host_peak_bytes)}",
        ]
        for device in self.devices:
            line = (
                f"{device.device}: {format_bytes(device.in_use_bytes)} in use, "
                f"peak {format_bytes(device.peak_bytes)}"
            )
            if device.limit_bytes:
                line += f" of {format_bytes(device.limit_bytes)}"
            if device.predicted_peak_bytes:
                line += f", predicted {format_bytes(device.predicted_peak_bytes)}"
            if device.copied_out_bytes is not None and device.copied_in_bytes is not None:
                line += (
                    f"; copied {format_bytes(device.copied_out_bytes)} out in {device.copies_out}, "
                    f"{format_bytes(device.copied_in_bytes)} in in {device.copies_in}"
                )
            if device.waits:
                line += f"; {device.waits} requests waited {(device.wait_us or 0) / 1e6:.1f} s for memory"
            lines.append(line)
        for graph in self.graphs:
            lines.append(
                f"{graph.graph} on {graph.device}: {format_count(graph.swapped_tensors, 'tensor')}, "
                f"{format_bytes(graph.swap_out_bytes)} out, {format_bytes(graph.swap_in_bytes)} in, "
                f"{format_bytes(graph.reclaimed_bytes)} off the peak"
            )
        if self.compiled_nodes:
            lines.append(compiled_advice(self.compiled_nodes))
        return "\n".join(lines)


def stats() -> Stats:
    """What is known now; cheap enough to call after each step. Starts no device."""
    reports = report()
    rewritten = reports.rewritten
    settings = library().settings()
    in_use, peak = _host_bytes()
    return Stats(
        enabled=bool(settings["on"]) and bool(settings["registered_device_types"]),
        graphs_seen=int(library().reports()["graphs_seen"]),
        graphs_rewritten=len({r.graph for r in rewritten}),
        nodes_added=_total(rewritten, "nodes_added"),
        compiled_nodes=_total(reports, "compiled_nodes"),
        planned_swapped_tensors=_total(rewritten, "swapped_tensors"),
        planned_swap_out_bytes=_total(rewritten, "swap_out_bytes"),
        planned_swap_in_bytes=_total(rewritten, "swap_in_bytes"),
        planned_peak_bytes=max((r.peak_bytes_after for r in rewritten), default=0),
        host_in_use_bytes=in_use,
        host_peak_bytes=peak,
        devices=_devices(str(settings["options"]["device_type"]), rewritten),
        graphs=tuple(_graph(r) for r in rewritten),
    )


def _short(device: str) -> str:
    """``"GPU:0"`` of ``"/job:localhost/replica:0/task:0/device:GPU:0"``."""
    return device.rsplit("device:", 1)[-1]


def _graph(row: Report) -> GraphStats:
    return GraphStats(
        graph=row.graph,
        device=_short(row.device),
        predicted_peak_bytes=row.allocator_peak_bytes,
        reclaimed_bytes=row.peak_bytes_before - row.peak_bytes_after,
        host_peak_bytes=row.host_peak_bytes,
        swapped_tensors=row.swapped_tensors,
        swap_out_bytes=row.swap_out_bytes,
        swap_in_bytes=row.swap_in_bytes,
    )


def reset_peak(device: str = "GPU:0") -> None:
    """Starts the device's peak anew from what is in use."""
    tf = _tensorflow.require()
    tf.config.experimental.reset_memory_stats(device)


def _total(reports: ReportList, name: str) -> int:
    return sum(int(getattr(r, name)) for r in reports)


def _host_bytes() -> tuple[int, int]:
    """Resident set of this process, now and at its peak."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            pages = int(statm.read().split()[1])
    except (OSError, IndexError, ValueError):
        return peak, peak
    now = pages * resource.getpagesize()
    return now, max(now, peak)


def _devices(device_type: str, rewritten: ReportList) -> tuple[DeviceStats, ...]:
    """One entry for each started accelerator of that type."""
    if "tensorflow" not in sys.modules or _tensorflow.initialized_context() is None:
        return ()
    tf = _tensorflow.require()
    found = []
    for ordinal, _ in enumerate(tf.config.list_logical_devices(device_type)):
        name = f"{device_type}:{ordinal}"
        try:
            memory = tf.config.experimental.get_memory_info(name)
        except (ValueError, RuntimeError):  # a device that keeps no statistics, e.g. CPU:1
            memory = {"current": 0, "peak": 0}
        predicted = max(
            (r.allocator_peak_bytes for r in rewritten if _short(r.device) == name), default=None
        )
        found.append(_device(name, ordinal, device_type, memory, predicted))
    return tuple(found)


def _device(
    name: str, ordinal: int, device_type: str, memory: dict[str, int], predicted: int | None
) -> DeviceStats:
    base = DeviceStats(
        device=name,
        in_use_bytes=int(memory["current"]),
        peak_bytes=int(memory["peak"]),
        predicted_peak_bytes=predicted,
    )
    simulated = _simulated_gpu.simulated_gpu()
    if simulated is None or simulated.device_type != device_type:
        return base
    counters = simulated.stats(ordinal)
    return replace(
        base,
        limit_bytes=counters.limit_bytes,
        copied_out_bytes=counters.copied_out_bytes,
        copied_in_bytes=counters.copied_in_bytes,
        copies_out=counters.num_copies_out,
        copies_in=counters.num_copies_in,
        failed_allocations=counters.num_failed_allocations,
        largest_allocation_bytes=counters.largest_allocation_bytes,
        allocations=counters.num_allocations,
        waits=counters.num_waits,
        wait_us=counters.wait_us,
    )
