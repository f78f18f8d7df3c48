# SPDX-License-Identifier: Apache-2.0
"""The picture as PNG or SVG, with matplotlib: device memory, host memory, swaps, and what was measured.

All text stands at places of its own (head, margins, inside bars that are wide enough), so that no
text can meet another. Cost: envelopes of the curves, and at most MOST_BARS bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tflms._errors import TflmsError
from tflms._format import format_bytes
from tflms.pictures import _style as style
from tflms.pictures._curve import ByteAxis, Step, byte_axis, envelope, shorten
from tflms.pictures._measured import Measured
from tflms.pictures._plan import Plan
from tflms.pictures._source import Picture

WIDTH, LEFT, RIGHT = 11.0, 0.85, 1.15  # inches
PLOT_WIDTH = WIDTH - LEFT - RIGHT
COLUMNS = 1200
CHAR = 0.078  # inches: width of an average character of 8.5 points, generously
SMALL_CHAR = 0.062  # of 7 points
_SETTINGS = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "tflms",
    "axes.edgecolor": style.ALWAYS,
    "axes.labelcolor": style.INK,
    "text.color": style.INK,
    "xtick.color": style.INK,
    "ytick.color": style.INK,
}


class Panel(NamedTuple):
    """A part of the figure and what draws it."""

    height: float  # inches
    below: float  # inches kept free below it
    draw: Any  # called with the axes


def draw_picture(picture: Picture, path: Path) -> None:
    """Writes the picture; the suffix of the path says which kind."""
    bars = style.lay_out_bars(picture.plan)
    row = min(0.19, max(3.4 / max(1, bars.rows), 0.03))
    panels = [
        Panel(2.7, 0.42, lambda axes: _device(axes, picture.plan)),
        Panel(0.9, 0.42, lambda axes: _host(axes, picture.plan)),
        Panel(max(0.25, row * bars.rows), 0.6, lambda axes: _swaps(axes, picture.plan, bars, row)),
    ]
    if picture.measured:
        panels += _measured_panels(picture.measured, picture.plan.budget_bytes, "budget")
    _draw(path, _head(picture.plan), panels)


def draw_measured(
    measured: Sequence[Measured], limit_bytes: int, limit_name: str, title: str, path: Path
) -> None:
    """Writes a picture of measured memory alone."""
    lines = [("bold", title)]
    _draw(path, lines, _measured_panels(measured, limit_bytes, limit_name))


def _draw(path: Path, head: list[tuple[str, str]], panels: Sequence[Panel]) -> None:
    check_suffix(path)
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        top = 0.35 + 0.2 * len(head)
        height = top + sum(panel.height + panel.below for panel in panels)
        figure = Figure(figsize=(WIDTH, height), facecolor="white")
        for i, (weight, text) in enumerate(head):
            figure.text(
                LEFT / WIDTH,
                1 - (0.22 + 0.2 * i) / height,
                text,
                fontsize=11 if weight == "bold" else 8.5,
                fontweight=weight,
                parse_math=False,
                va="center",
            )
        for panel in panels:
            at = height - top - panel.height
            place = (LEFT / WIDTH, at / height, PLOT_WIDTH / WIDTH, panel.height / height)
            panel.draw(figure.add_axes(place))
            top += panel.height + panel.below
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=110, metadata=metadata)


def check_suffix(path: Path) -> None:
    """Raises ValueError for a path whose kind of picture is not drawn."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"{path}: expected a name that ends in .png or .svg")


def require_matplotlib() -> Any:
    """matplotlib, or an error that says how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise TflmsError(
            "pictures as PNG and SVG need matplotlib, which is not installed here: "
            "pip install matplotlib. tflms.write_html() and tflms.write_trace() work without it."
        ) from error
    return matplotlib


def _head(plan: Plan) -> list[tuple[str, str]]:
    before, after = style.peak_lines(plan)
    room = int((WIDTH - LEFT - 0.3) / CHAR)
    lines = [("bold", f"Memory over one step: {shorten(plan.title, 90)}")]
    for mark, text, at in (("A", before, plan.peak_before), ("B", after, plan.peak_after)):
        line = f"{mark}   {text}: "
        lines.append(("normal", line + shorten(plan.points[at].node, room - len(line))))
    return lines


def _frame(axes: Any, axis: ByteAxis | None, label: str) -> None:
    """What all panels have in common."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=3)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(label, loc="left", fontsize=8.5, fontweight="bold", pad=5)
    if axis is None:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        return
    axes.set_ylim(0, axis.top_bytes)
    axes.set_yticks([at for at, _ in axis.ticks], [text for _, text in axis.ticks])
    axes.set_ylabel(axis.unit)
    axes.grid(axis="y", color=style.FAINT, linewidth=0.7)
    axes.set_axisbelow(True)


def _curve(
    axes: Any, steps: Sequence[Step], colour: str, label: str, fill: float, floor: int = 0
) -> None:
    x = [at for step in steps for at in (step.begin, step.end)]
    y = [step.value for step in steps for _ in (0, 1)]
    axes.plot(x, y, color=colour, linewidth=1.2, label=label, solid_joinstyle="round")
    if fill:
        axes.fill_between(x, y, floor, color=colour, alpha=fill, linewidth=0)


def _legend(axes: Any, columns: int, handles: list[Any] | None = None) -> None:
    """Above the panel, at the right: the title is at the left."""
    axes.legend(
        handles=axes.get_legend_handles_labels()[0] if handles is None else handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        frameon=False,
        borderaxespad=0.1,
        handlelength=1.6,
        columnspacing=1.4,
        fontsize=8,
    )


def _limit(axes: Any, limit_bytes: int, name: str) -> None:
    """The dashed line, named in the right margin."""
    if not limit_bytes:
        return
    axes.axhline(limit_bytes, color="black", linestyle=(0, (5, 3)), linewidth=1.1)
    axes.annotate(
        f"{name}\n{format_bytes(limit_bytes)}",
        (1, limit_bytes),
        xycoords=("axes fraction", "data"),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        annotation_clip=False,
    )


def _mark(axes: Any, letter: str, x: float, y: int, up: bool, colour: str) -> None:
    axes.plot([x], [y], marker="o", markersize=3.5, color=colour, zorder=5)
    axes.annotate(
        letter,
        (x, y),
        xytext=(0, 11 if up else -11),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=8,
        fontweight="bold",
        color=colour,
        zorder=6,
        bbox={"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": colour, "lw": 0.9},
        annotation_clip=False,
    )


def _device(axes: Any, plan: Plan) -> None:
    count = len(plan.points)
    before, after = plan.peak_before, plan.peak_after
    largest = max(plan.unswapped[before], plan.running[after], plan.budget_bytes)
    axis = byte_axis(largest, headroom=1.14)
    _frame(axes, axis, "device memory, predicted")
    floor = plan.persistent_bytes
    _curve(axes, envelope(plan.unswapped, COLUMNS), style.BEFORE, "without swaps", 0.10, floor)
    _curve(axes, envelope(plan.running, COLUMNS), style.AFTER, "with tflms", 0.22, floor)
    if floor:
        axes.axhspan(
            0,
            floor,
            facecolor=style.ALWAYS,
            alpha=0.35,
            linewidth=0,
            label="variables and constants",
        )
    _limit(axes, plan.budget_bytes, "budget")
    _mark(axes, "A", before + 0.5, plan.unswapped[before], True, style.BEFORE)
    _mark(axes, "B", after + 0.5, plan.running[after], False, style.AFTER)
    axes.set_xlim(0, count)
    _legend(axes, 3)


def _host(axes: Any, plan: Plan) -> None:
    _frame(axes, byte_axis(max(plan.host), 3), "host memory of swapped tensors, predicted")
    _curve(axes, envelope(plan.host, COLUMNS), style.HOST, "host", 0.25)
    axes.set_xlim(0, len(plan.points))


def _swaps(axes: Any, plan: Plan, bars: style.Bars, row: float) -> None:
    """One bar for each swap; its tensor's name inside where it fits."""
    from matplotlib.patches import Patch

    _frame(axes, None, style.bars_title(plan, bars))
    for begin, end, colour in (
        ("out_end", "in_begin", style.AWAY),
        ("begin", "out_end", style.COPY_OUT),
        ("in_begin", "end", style.COPY_IN),
    ):
        left = [getattr(bar.span, begin) for bar in bars.bars]
        width = [getattr(bar.span, end) - at for bar, at in zip(bars.bars, left)]
        # A copy is seen even where a step has thousands of operations.
        least = len(plan.points) / 400 if colour != style.AWAY else 0
        if end == "end":
            left = [min(at, at + w - least) for at, w in zip(left, width)]
        width = [max(w, least) if w > 0 else 0 for w in width]
        axes.barh([bar.row for bar in bars.bars], width, 0.78, left, color=colour, linewidth=0)
    if row >= 0.15:
        for bar in bars.bars:
            _bar_label(axes, plan, bar)
    axes.set_xlim(0, len(plan.points))
    axes.set_ylim(max(1, bars.rows) - 0.5, -0.5)
    axes.set_xlabel("operation, in the planned order" + style.column_note(plan, COLUMNS))
    if bars.bars:
        parts = (
            ("leaving", style.COPY_OUT),
            ("on the host", style.AWAY),
            ("coming back", style.COPY_IN),
        )
        _legend(axes, 3, [Patch(color=colour, label=label) for label, colour in parts])


def _bar_label(axes: Any, plan: Plan, bar: style.Bar) -> None:
    inches = (bar.span.in_begin - bar.span.out_end) / len(plan.points) * PLOT_WIDTH
    size = ", " + format_bytes(bar.swap.size_bytes)
    room = int((inches - 0.1) / SMALL_CHAR) - len(size)
    if room < min(10, len(bar.swap.tensor)):
        return
    axes.text(
        (bar.span.out_end + bar.span.in_begin) / 2,
        bar.row,
        shorten(bar.swap.tensor, room) + size,
        fontsize=7,
        ha="center",
        va="center_baseline",
        parse_math=False,
    )


def _measured_panels(
    measured: Sequence[Measured], limit_bytes: int, limit_name: str
) -> list[Panel]:
    """Memory over time, and the copies of each log; parts of the step when there are several."""
    lanes = [log for log in measured if log.copies]
    own_time = len(measured) == 1
    last = "milliseconds from the begin of the log" if own_time else "part of one step"
    panels = [
        Panel(
            2.7,
            0.45 if lanes else 0.6,
            lambda axes: _measured_memory(axes, measured, limit_bytes, limit_name, last, not lanes),
        )
    ]
    if lanes:
        panels.append(
            Panel(0.34 * len(lanes), 0.6, lambda axes: _copies(axes, lanes, own_time, last))
        )
    return panels


def _scale(log: Measured, own_time: bool) -> float:
    return 1000.0 if own_time else float(log.end_us)


def _measured_memory(
    axes: Any,
    measured: Sequence[Measured],
    limit_bytes: int,
    limit_name: str,
    label: str,
    is_last: bool,
) -> None:
    largest = max([limit_bytes, *(b for log in measured for b in log.in_use_bytes)])
    _frame(axes, byte_axis(largest, headroom=1.1), "device memory, measured")
    own_time = len(measured) == 1
    for log, colour in zip(measured, style.log_colours(len(measured))):
        scale = _scale(log, own_time)
        steps = [Step(s.begin / scale, s.end / scale, s.value) for s in log.steps(COLUMNS)]
        peak = f", peak {format_bytes(max(log.in_use_bytes, default=0))}"
        _curve(axes, steps, colour, style.clip(log.label, 40) + peak, 0.15)
    _limit(axes, limit_bytes, limit_name)
    _time_axis(axes, measured, own_time)
    if is_last:
        axes.set_xlabel(label)
    _legend(axes, 2)


def _copies(axes: Any, logs: Sequence[Measured], own_time: bool, label: str) -> None:
    """Two lanes for each log: what left and what came back."""
    _frame(axes, None, style.copies_title(logs, own_time))
    names: list[str] = []
    for log in logs:
        scale = _scale(log, own_time)
        for out, colour, word in ((True, style.COPY_OUT, "out"), (False, style.COPY_IN, "in")):
            spans = [
                (copy.begin_us / scale, (copy.end_us - copy.begin_us) / scale)
                for copy in log.copies
                if copy.out == out
            ]
            axes.broken_barh(spans, (len(names) - 0.4, 0.8), color=colour, linewidth=0.4)
            moved = sum(copy.size_bytes for copy in log.copies if copy.out == out)
            note = f"{format_bytes(moved)} {word}"
            axes.text(1.006, len(names), note, transform=axes.get_yaxis_transform(), va="center")
            names.append(word)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    _time_axis(axes, logs, own_time)
    axes.set_xlabel(label)


def _time_axis(axes: Any, logs: Sequence[Measured], own_time: bool) -> None:
    axes.set_xlim(0, logs[0].end_us / 1000 if own_time else 1)
    if not own_time or logs[0].end_us < 10_000:
        axes.xaxis.set_major_formatter("{x:.1f}")
