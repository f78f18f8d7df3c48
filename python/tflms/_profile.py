# SPDX-License-Identifier: Apache-2.0
"""Recording how long each operation of real steps takes, into a file that plans are made from.

On the simulated GPU the times are those of its event log, on other devices those of TensorFlow's
profiler. Formats and use: docs/costs.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from tflms import _profile_trace, _simulated_gpu, _tensorflow
from tflms._errors import TflmsError
from tflms._library import library
from tflms._simulated_gpu_log import EventKind, MemoryEvent

FORMAT = 1
# Smaller copies tell the latency of the link, not its rate.
_LEAST_COPY_BYTES = 1 << 16
# On CPUs TensorFlow puts kernels of oneDNN in the place of its own after every graph pass.
_ONEDNN = re.compile(r"^_Mkl(?:Native)?(?=(Fused)?)")

Path = Union[str, "os.PathLike[str]"]


@dataclass
class Runs:
    """What was measured: of each operation its type and the times of its runs, in order."""

    op_types: dict[str, str] = field(default_factory=dict)
    times_us: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    # Bytes and microseconds of the copies out of the device and into it.
    copies: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, name: str, op_type: str, time_us: float) -> None:
        """One run of the operation `name`."""
        self.op_types[name] = _ONEDNN.sub(lambda found: "_" if found[1] else "", op_type)
        self.times_us[name].append(time_us)

    def add_copy(self, direction: str, size_bytes: int, time_us: float) -> None:
        """One copy, ``"out"`` or ``"in"``; small ones are left out."""
        if size_bytes < _LEAST_COPY_BYTES or time_us <= 0:
            return
        total_bytes, total_us = self.copies.get(direction, (0, 0.0))
        self.copies[direction] = (total_bytes + size_bytes, total_us + time_us)


@contextlib.contextmanager
def record_profile(path: Path, steps: int = 3) -> Iterator[None]:
    """Measures the operations that run inside and writes their times to `path` at the end.

        with tflms.record_profile("resnet.json"):
            for _ in range(4):
                train_step()
        tflms.enable(profile="resnet.json")

    Of each operation the median of up to `steps` runs counts, without its first one when there are
    more: that one warms up caches and memory. Run at least one step more than `steps`. It works with
    tflms on or off; shapes, by which times are found for other models, are known of graphs that
    TensorFlow builds after the first ``enable()`` or inside. On the simulated GPU it takes the event
    log, so no other log can be kept meanwhile. Nothing is written when what runs inside raises.

    Args:
        path: a JSON file, replaced in one step when it exists.
        steps: runs of each operation that count.

    Raises:
        ValueError: `steps` is less than 1, or the file's folder does not exist.
        TflmsError: no operation ran on an accelerator inside.
    """
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f"steps: expected a whole number from 1 on, found {steps!r}")
    target = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(target))
    if not os.path.isdir(folder) or os.path.isdir(target):
        raise ValueError(f"path: expected a file in a folder that exists, found {target!r}")
    device_type = _device_type()
    _watch_graphs(device_type)
    runs = Runs()
    try:
        simulated = _simulated_gpu.simulated_gpu()
        if simulated is not None and simulated.device_type == device_type:
            device = f"simulated {device_type}"
            simulated.start_log()
            try:
                yield
            finally:
                events = simulated.stop_log()
            add_events(runs, events)
        else:
            device = device_type
            with _profile_trace.trace(device_type, runs):
                yield
        tables = library().cost_tables()
    finally:
        library().watch_costs(False)
    write_profile(target, make_profile(runs, tables, device, steps))


def _device_type() -> str:
    simulated = _simulated_gpu.simulated_gpu()
    settings = library().settings()
    if settings["on"] or simulated is None:
        return str(settings["options"]["device_type"])
    return str(simulated.device_type)


def _watch_graphs(device_type: str) -> None:
    """Lets the plugin note the shapes of graphs that TensorFlow builds from now on."""
    plugin = library()
    settings = plugin.settings()
    if not settings["on"] and device_type not in settings["registered_device_types"]:
        _tensorflow.require()
        plugin.configure(True, {"device_type": device_type})
        try:
            _tensorflow.load_plugin(plugin.path)
        finally:
            plugin.configure(False, {"device_type": device_type})
    plugin.watch_costs(True)


def add_events(runs: Runs, events: Iterable[MemoryEvent]) -> None:
    """What the event log of the simulated GPU tells."""
    for event in events:
        if event.kind == EventKind.COMPUTE:
            runs.add(event.op, event.op_type, float(event.duration_us))
        elif event.kind in (EventKind.COPY_OUT, EventKind.COPY_IN):
            direction = "out" if event.kind == EventKind.COPY_OUT else "in"
            runs.add_copy(direction, event.bytes, float(event.duration_us))


def make_profile(
    runs: Runs, tables: Iterable[Mapping[str, Any]], device: str, steps: int
) -> dict[str, Any]:
    """The profile as the file holds it.

    Args:
        tables: what the plugin knows of the graphs, for the shapes.

    Raises:
        TflmsError: nothing was measured.
    """
    if not runs.times_us:
        raise TflmsError(
            f"no operation ran on {device} inside record_profile: run some training steps there. "
            "Functions compiled by XLA show no operations (jit_compile=True)."
        )
    keys, conflicts = _keys(tables)
    ops: dict[str, Any] = {}
    by_key: dict[str, list[float]] = defaultdict(list)
    for name, times in sorted(runs.times_us.items()):
        op_type = runs.op_types[name]
        # Two graphs with other shapes under one name: which of them ran when is not known.
        if name in conflicts or not op_type:
            continue
        counted = times[1 : steps + 1] if len(times) > 1 else times
        time_us = statistics.median(counted)
        row: dict[str, Any] = {"op": op_type, "time_us": time_us, "n": len(counted)}
        known_op, key = keys.get(name, ("", ""))
        if key and known_op == op_type:
            row["key"] = key
            by_key[key].append(time_us)
        ops[name] = row
    return {
        "format": FORMAT,
        "device": device,
        "ops": ops,
        "shapes": {key: statistics.median(times) for key, times in sorted(by_key.items())},
        "link": {
            f"{direction}_bytes_per_us": round(size_bytes / time_us, 3)
            for direction, (size_bytes, time_us) in sorted(runs.copies.items())
        },
    }


def _keys(tables: Iterable[Mapping[str, Any]]) -> tuple[dict[str, tuple[str, str]], set[str]]:
    """By node the operation and its shapes, and the nodes of which two graphs say different things."""
    keys: dict[str, tuple[str, str]] = {}
    conflicts: set[str] = set()
    for table in tables:
        for name, row in table["ops"].items():
            found = (row["op"], row["key"])
            if name in keys and keys[name][1] and found[1] and keys[name] != found:
                conflicts.add(name)
            if found[1] or name not in keys:
                keys[name] = found
    return keys, conflicts


def write_profile(path: str, profile: Mapping[str, Any]) -> None:
    """Writes the file anew in one step: whoever reads it meanwhile sees the old one or the new."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(profile, file, indent=1, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
