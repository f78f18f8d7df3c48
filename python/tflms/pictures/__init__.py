# SPDX-License-Identifier: Apache-2.0
"""Pictures of a plan: memory over one step on device and host, before and after, and the swaps.

As PNG or SVG, as one HTML page that needs nothing else, and as a trace for Perfetto. What they show
is what the plugin predicted; with the event log of a simulated GPU also what was measured.
See docs/pictures.md.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

from tflms.pictures import _html, _plot, _source, _trace
from tflms.pictures._measured import Events, measure

__all__ = ["plot", "plot_measured", "write_html", "write_trace"]

AnyPath = Union[str, "os.PathLike[str]"]


def plot(
    path: AnyPath,
    *,
    graph: str | None = None,
    device: str | None = None,
    events: Events | None = None,
) -> Path:
    """Draws a rewritten graph's memory over one step, as PNG or SVG. Needs matplotlib.

    Args:
        path: ends in ``.png`` or ``.svg``.
        graph: name of the graph, as in ``tflms.report()``; by default the rewritten graph with the
            largest peak, which is the training step.
        device: the accelerator, in full or as ``"GPU:1"``, of a graph that uses several.
        events: what ``SimulatedGpu.stop_log()`` returned, or several such logs by label: adds what
            was measured.

    Returns:
        The path.

    Raises:
        TflmsError: nothing was rewritten (the message says why), there is no such graph, or
            matplotlib is missing.
        ValueError: another suffix.
    """
    target = Path(path)
    _plot.check_suffix(target)
    _plot.require_matplotlib()
    _plot.draw_picture(_source.from_process(graph, device, events), target)
    return target


def plot_measured(
    path: AnyPath,
    events: Events,
    *,
    device: int = 0,
    limit_bytes: int = 0,
    limit_name: str = "limit",
    title: str = "Device memory over one step",
) -> Path:
    """Draws measured memory alone: one event log, or several by label, to compare them.

    Args:
        path: ends in ``.png`` or ``.svg``.
        device: number of the simulated device.
        limit_bytes: draws a line there, named `limit_name`; 0: none.

    Raises:
        TflmsError: a log has no event of the device, or matplotlib is missing.
        ValueError: another suffix.
    """
    target = Path(path)
    _plot.draw_measured(measure(events, device), limit_bytes, limit_name, title, target)
    return target


def write_html(
    path: AnyPath,
    *,
    graph: str | None = None,
    device: str | None = None,
    events: Events | None = None,
) -> Path:
    """Writes the picture and the report as one HTML page that opens offline.

    Arguments and errors as of `plot`; no matplotlib is needed.
    """
    target = Path(path)
    picture = _source.from_process(graph, device, events)
    target.write_text(_html.page(picture), encoding="utf-8")
    return target


def write_trace(
    path: AnyPath,
    *,
    graph: str | None = None,
    device: str | None = None,
    events: Events | None = None,
) -> Path:
    """Writes a trace (Chrome's JSON format) that opens in Perfetto and in chrome://tracing.

    Arguments and errors as of `plot`; no matplotlib is needed.
    """
    target = Path(path)
    picture = _source.from_process(graph, device, events)
    target.write_text(_trace.trace_text(picture), encoding="utf-8")
    return target
