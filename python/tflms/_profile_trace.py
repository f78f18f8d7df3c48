# SPDX-License-Identifier: Apache-2.0
"""Run times of operations from TensorFlow's profiler, for devices that are not simulated.

A trace is an XSpace: planes (devices, host threads) of lines of events. Taken are, from the planes
of the device, events that name their operation (``tf_op``); where no device plane has any, as on a
CPU, the events of the executor's threads, which are called ``name:Type``.

One operation may launch several kernels, the same ones in each run. How often it ran is told by the
host's threads, else by the rarest of its kernels: its kernels, in order of time, are cut into as many
equal parts, each of which is one run.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from tflms import _tensorflow
from tflms._errors import TflmsError

_PROTO_MODULES = (
    "tensorflow.tsl.profiler.protobuf.xplane_pb2",
    "tsl.profiler.protobuf.xplane_pb2",
    "tensorflow.core.profiler.protobuf.xplane_pb2",
)
_PICOSECONDS = 1e6  # in a microsecond
_NODE = re.compile(r"^(?P<name>[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*):(?P<type>_?[A-Za-z]\w*)$")
_COPIES = {"MemcpyD2H": "out", "MemcpyH2D": "in"}
_COPY_SIZE = re.compile(r"\bsize:(\d+)")

Op = tuple[str, str]  # name and type


class Sink(Protocol):
    """Where measured runs go, as ``tflms._profile.Runs``."""

    def add(self, name: str, op_type: str, time_us: float) -> None: ...
    def add_copy(self, direction: str, size_bytes: int, time_us: float) -> None: ...


@contextlib.contextmanager
def trace(device_type: str, sink: Sink) -> Iterator[None]:
    """Profiles what runs inside and adds it to the sink; a trace that raises adds nothing."""
    tf = _tensorflow.require()
    xplane = xplane_module()
    options = tf.profiler.experimental.ProfilerOptions(
        host_tracer_level=2, python_tracer_level=0, device_tracer_level=1
    )
    with tempfile.TemporaryDirectory(prefix="tflms-profile-") as folder:
        tf.profiler.experimental.start(folder, options)
        try:
            yield
        finally:
            tf.profiler.experimental.stop()
        for file in sorted(Path(folder).rglob("*.xplane.pb")):
            space = xplane.XSpace()
            space.ParseFromString(file.read_bytes())
            read_space(space, device_type, sink)


def xplane_module() -> Any:
    """TensorFlow's own module of the trace's messages, wherever this version has it."""
    for name in _PROTO_MODULES:
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise TflmsError(
        "this TensorFlow has no xplane_pb2, so its profiler's traces cannot be read; measure on "
        f"another version, {'.'.join(map(str, _tensorflow.NEWEST_TESTED_VERSION))} has it"
    )


def read_space(space: Any, device_type: str, sink: Sink) -> None:
    """Adds the operations and copies of a trace."""
    devices = [p for p in space.planes if p.name.startswith(f"/device:{device_type}:")]
    host = [run for p in space.planes if p.name.startswith("/host:CPU") for run in _host_runs(p)]
    counts = Counter((name, op_type) for _, name, op_type, _ in host)
    found = False
    for plane in devices:
        found = _read_device(plane, counts, sink) or found
    if not found:
        for _, name, op_type, time_us in sorted(host):
            sink.add(name, op_type, time_us)


def _stats(plane: Any, event: Any) -> dict[str, Any]:
    """The event's own statistics by name, texts and numbers."""
    values: dict[str, Any] = {}
    for stat in event.stats:
        kind = stat.WhichOneof("value")
        value = getattr(stat, kind) if kind else None
        if kind == "ref_value":
            value = plane.stat_metadata[value].name
        values[plane.stat_metadata[stat.metadata_id].name] = value
    return values


def _read_device(plane: Any, host_runs: Mapping[Op, int], sink: Sink) -> bool:
    """Adds a device's kernels and copies; False when no event names an operation."""
    # By operation its kernels: begin, name, time.
    kernels: dict[Op, list[tuple[int, str, float]]] = defaultdict(list)
    for line in plane.lines:
        for event in line.events:
            stats = _stats(plane, event)
            time_us = event.duration_ps / _PICOSECONDS
            kernel = plane.event_metadata[event.metadata_id].name
            if kernel in _COPIES:
                size = _COPY_SIZE.search(str(stats.get("memcpy_details", "")))
                if size:
                    sink.add_copy(_COPIES[kernel], int(size.group(1)), time_us)
                continue
            node = _NODE.match(str(stats.get("tf_op", "")))
            # Lines that sum kernels up per operation would count them twice.
            if node is not None and "correlation_id" in stats:
                begin_ps = line.timestamp_ns * 1000 + event.offset_ps
                kernels[node.group("name"), node.group("type")].append((begin_ps, kernel, time_us))
    for op, events in sorted(kernels.items()):
        for time_us in _runs(sorted(events), host_runs.get(op, 0)):
            sink.add(*op, time_us)
    return bool(kernels)


def _runs(events: list[tuple[int, str, float]], host_runs: int) -> list[float]:
    """The time of each run of one operation, given its kernels in order of time."""
    runs = host_runs or min(Counter(kernel for _, kernel, _ in events).values())
    times = [time_us for *_, time_us in events]
    each, rest = divmod(len(times), runs)
    if rest or not each:  # not the same kernels each time: the mean of all
        return [sum(times) / runs] * runs
    return [sum(times[i : i + each]) for i in range(0, len(times), each)]


def _host_runs(plane: Any) -> list[tuple[int, str, str, float]]:
    """The runs of kernels on host threads: begin, name, type, time."""
    runs = []
    for line in plane.lines:
        for event in line.events:
            node = _NODE.match(plane.event_metadata[event.metadata_id].name)
            if node is not None:
                begin_ps = line.timestamp_ns * 1000 + event.offset_ps
                time_us = event.duration_ps / _PICOSECONDS
                runs.append((begin_ps, node.group("name"), node.group("type"), time_us))
    return runs
