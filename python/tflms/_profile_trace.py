# SPDX-License-Identifier: Apache-2.0
"""Run times of operations from TensorFlow's profiler, for devices that are not simulated.

A trace is an XSpace: planes (devices, host threads) of lines of events. Taken are, from the planes
of the device, events that name their operation (``tf_op``); where no device plane has any, as on a
CPU, the events of the executor's threads, which are called ``name:Type``.

One operation may launch several kernels. Those of one step (``group_id``) are added up; without
steps, the sum is divided by how often the operation's rarest kernel ran.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
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
    hosts = [p for p in space.planes if p.name.startswith("/host:CPU")]
    found = False
    for plane in devices:
        found = _read_device(plane, sink) or found
    if not found:
        for plane in hosts:
            _read_host(plane, sink)


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


def _read_device(plane: Any, sink: Sink) -> bool:
    """Adds a device's kernels and copies; False when no event names an operation."""
    # By operation: by step the time, and by kernel how often it ran. 0 stands for "no step".
    steps: dict[tuple[str, str], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    kernels: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for line in plane.lines:
        for event in line.events:
            stats = _stats(plane, event)
            time_us = event.duration_ps / _PICOSECONDS
            kernel = plane.event_metadata[event.metadata_id].name
            size = _COPY_SIZE.search(str(stats.get("memcpy_details", "")))
            if kernel in _COPIES and size:
                sink.add_copy(_COPIES[kernel], int(size.group(1)), time_us)
            node = _NODE.match(str(stats.get("tf_op", "")))
            # Lines that sum kernels up per operation would count them twice.
            if node is None or "correlation_id" not in stats:
                continue
            op = (node.group("name"), node.group("type"))
            steps[op][int(stats.get("group_id", 0))] += time_us
            kernels[op][kernel] += 1
    for op, by_step in sorted(steps.items()):
        unknown = by_step.pop(0, 0.0)
        for _, time_us in sorted(by_step.items()):
            sink.add(*op, time_us)
        if not by_step:
            runs = min(kernels[op].values())
            for _ in range(runs):
                sink.add(*op, unknown / runs)
    return bool(steps)


def _read_host(plane: Any, sink: Sink) -> None:
    """Adds the runs of kernels on host threads."""
    runs = []
    for line in plane.lines:
        for event in line.events:
            node = _NODE.match(plane.event_metadata[event.metadata_id].name)
            if node is not None:
                begin_ps = line.timestamp_ns * 1000 + event.offset_ps
                runs.append((begin_ps, node.group("name"), node.group("type"), event.duration_ps))
    for _, name, op_type, duration_ps in sorted(runs):
        sink.add(name, op_type, duration_ps / _PICOSECONDS)
