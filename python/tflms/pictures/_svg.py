# SPDX-License-Identifier: Apache-2.0
"""The same picture as inline SVG, for the page; page.js redraws its curves and bars on zoom.

Every number that page.js needs to place things is in `Layout`, which goes into the page's data. The
SVG is complete without it. Cost: COLUMNS steps for each curve, at most MOST_BARS bars.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tflms._format import format_bytes
from tflms.pictures import _style as style
from tflms.pictures._curve import Step, byte_axis, count_ticks, envelope, nice_step, shorten
from tflms.pictures._measured import Measured
from tflms.pictures._plan import Plan

COLUMNS = 1000
CHAR = 6.2  # width of an average character of the bars' labels
LABELLED_ROW = 14  # the least height of a row whose bars have names


@dataclass(frozen=True)
class Layout:
    """Places in the step's picture, in its own units (pixels at full width)."""

    width: int = 1200
    left: int = 64
    right: int = 1096
    device_top: int = 14
    device_bottom: int = 304
    host_top: int = 354
    host_bottom: int = 434
    bars_top: int = 484
    row: float = 18
    bars_bottom: float = 484
    height: float = 560
    device_largest: float = 1
    host_largest: float = 1
    columns: int = COLUMNS
    char: float = CHAR
    labelled_row: int = LABELLED_ROW


def lay_out(plan: Plan, bars: style.Bars) -> Layout:
    """The layout for this plan."""
    largest = max(max(plan.unswapped), max(plan.running), plan.budget_bytes)
    row = min(18.0, max(480 / max(1, bars.rows), 4.0))
    bottom = Layout.bars_top + max(row * bars.rows, 20)
    return Layout(
        row=row,
        bars_bottom=bottom,
        height=bottom + 46,
        device_largest=byte_axis(largest, headroom=1.14).top_bytes,
        host_largest=byte_axis(max(plan.host), 3).top_bytes,
    )


def step_svg(plan: Plan, bars: style.Bars, layout: Layout) -> str:
    """The picture of the step."""
    parts = [
        f'<svg id="step" viewBox="0 0 {layout.width} {layout.height:g}" role="img" '
        'aria-label="Memory over one step, and the swaps">',
        f'<clipPath id="inside"><rect x="{layout.left}" y="0" width="{layout.right - layout.left}" '
        f'height="{layout.height:g}"/></clipPath>',
        *_device(plan, layout),
        *_host(plan, layout),
        *_bars(plan, bars, layout),
        '<g id="ticks">',
        *_count_axis(len(plan.points), layout),
        "</g>",
        f'<text class="axis" x="{(layout.left + layout.right) / 2:g}" y="{layout.height - 6:g}" '
        'text-anchor="middle">operation, in the planned order</text>',
        f'<line id="cross" class="cross" y1="{layout.device_top}" y2="{layout.bars_bottom:g}" '
        'x1="-9" x2="-9"/>',
        f'<rect id="brush" class="brush" y="{layout.device_top}" '
        f'height="{layout.bars_bottom - layout.device_top:g}" x="-9" width="0"/>',
        "</svg>",
    ]
    return "\n".join(parts)


def _y(value: float, top: float, bottom: float, largest: float) -> float:
    return bottom - (bottom - top) * min(value, largest) / largest


def step_path(
    steps: Sequence[Step],
    begin: float,
    end: float,
    layout: Layout,
    top: int,
    bottom: int,
    largest: float,
) -> str:
    """The `d` of a curve that is seen from `begin` to `end`."""
    scale = (layout.right - layout.left) / (end - begin)
    text, last = "", ""
    for step in steps:
        y = f"{_y(step.value, top, bottom, largest):.1f}"
        x = f"{layout.left + (step.begin - begin) * scale:.1f}"
        text += f"H{x}V{y}" if text else f"M{x} {y}"
        last = f"H{layout.left + (step.end - begin) * scale:.1f}"
    return text + last


def _closed(path: str, base: float, left: float) -> str:
    """The area between a curve and the line `base`."""
    return f"{path}V{base:.1f}H{left}Z" if path else ""


def _grid(layout: Layout, top: int, bottom: int, largest: float, ticks: int) -> list[str]:
    """Horizontal lines, their labels, and the unit above them."""
    # `largest` has the headroom already.
    axis = byte_axis(int(largest), ticks, headroom=1.0)
    parts = []
    for at, label in axis.ticks:
        y = _y(at, top, bottom, largest)
        parts.append(f'<path class="grid" d="M{layout.left} {y:.1f}H{layout.right}"/>')
        parts.append(
            f'<text class="axis" x="{layout.left - 7}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    middle = (top + bottom) / 2
    parts.append(
        f'<text class="axis" transform="translate(14 {middle:g}) rotate(-90)" '
        f'text-anchor="middle">{axis.unit}</text>'
    )
    return parts


def _limit(
    limit_bytes: int, name: str, layout: Layout, top: int, bottom: int, largest: float
) -> list[str]:
    if not limit_bytes:
        return []
    y = _y(limit_bytes, top, bottom, largest)
    return [
        f'<path class="limit" d="M{layout.left} {y:.1f}H{layout.right}"/>',
        f'<text x="{layout.right + 7}" y="{y - 2:.1f}">{escape(name)}</text>',
        f'<text x="{layout.right + 7}" y="{y + 12:.1f}">{format_bytes(limit_bytes)}</text>',
    ]


def _mark(letter: str, at: int, value: int, plan: Plan, layout: Layout, up: bool) -> list[str]:
    """A dot at the peak and its letter in a circle; page.js moves the group."""
    scale = (layout.right - layout.left) / len(plan.points)
    x = layout.left + (at + 0.5) * scale
    y = _y(value, layout.device_top, layout.device_bottom, layout.device_largest)
    away = -15 if up else 15
    kind = "before" if up else "after"
    return [
        f'<g class="mark {kind}" data-at="{at + 0.5}" transform="translate({x:.1f} {y:.1f})">'
        f'<circle class="dot" r="3.2"/><circle class="ring" cy="{away}" r="8.5"/>'
        f'<text y="{away + 4}" text-anchor="middle">{letter}</text></g>'
    ]


def _device(plan: Plan, layout: Layout) -> list[str]:
    place = (layout, layout.device_top, layout.device_bottom, layout.device_largest)
    base = _y(plan.persistent_bytes, *place[1:])
    count = len(plan.points)
    parts = _grid(*place, 5)
    parts.append('<g clip-path="url(#inside)">')
    for name, values in (("before", plan.unswapped), ("after", plan.running)):
        path = step_path(envelope(values, COLUMNS), 0, count, *place)
        parts.append(
            f'<path id="{name}-area" class="area {name}" d="{_closed(path, base, layout.left)}"/>'
        )
        parts.append(f'<path id="{name}-line" class="line {name}" d="{path}"/>')
    if plan.persistent_bytes:
        parts.append(
            f'<rect class="always" x="{layout.left}" y="{base:.1f}" '
            f'width="{layout.right - layout.left}" height="{layout.device_bottom - base:.1f}"/>'
        )
    parts += _limit_line_only(plan, place)
    parts += _mark("A", plan.peak_before, plan.unswapped[plan.peak_before], plan, layout, True)
    parts += _mark("B", plan.peak_after, plan.running[plan.peak_after], plan, layout, False)
    return [*parts, "</g>", *_limit(plan.budget_bytes, "budget", *place)[1:]]


def _limit_line_only(plan: Plan, place: tuple[Layout, int, int, float]) -> list[str]:
    return _limit(plan.budget_bytes, "budget", *place)[:1]


def _host(plan: Plan, layout: Layout) -> list[str]:
    place = (layout, layout.host_top, layout.host_bottom, layout.host_largest)
    path = step_path(envelope(plan.host, COLUMNS), 0, len(plan.points), *place)
    return [
        f'<text class="panel" x="{layout.left}" y="{layout.host_top - 14}">'
        "host memory of swapped tensors</text>",
        *_grid(*place, 3),
        '<g clip-path="url(#inside)">',
        f'<path id="host-area" class="area host" d="{_closed(path, layout.host_bottom, layout.left)}"/>',
        f'<path id="host-line" class="line host" d="{path}"/>',
        "</g>",
    ]


def _bars(plan: Plan, bars: style.Bars, layout: Layout) -> list[str]:
    """One group for each swap, with three rectangles and, where it fits, the tensor's name."""
    scale = (layout.right - layout.left) / len(plan.points)
    parts = [
        f'<text class="panel" x="{layout.left}" y="{layout.bars_top - 14}">'
        f"{escape(style.bars_title(plan, bars))}</text>",
        '<g id="bars" clip-path="url(#inside)">',
    ]
    for bar in bars.bars:
        span = bar.span
        x = [layout.left + at * scale for at in (span.begin, span.out_end, span.in_begin, span.end)]
        y = layout.bars_top + bar.row * layout.row
        height = layout.row * 0.78
        parts.append(f'<g class="bar" data-swap="{bar.number}">')
        for kind, begin, end in (("away", x[0], x[3]), ("out", x[0], x[1]), ("in", x[2], x[3])):
            parts.append(_bar_part(kind, begin, end, y, height))
        label = bar_label(bar, x[2] - x[1], layout)
        if layout.row >= LABELLED_ROW:
            parts.append(
                f'<text x="{(x[1] + x[2]) / 2:.1f}" y="{y + height * 0.76:.1f}" '
                f'text-anchor="middle">{escape(label)}</text>'
            )
        parts.append("</g>")
    return [*parts, "</g>"]


def _bar_part(kind: str, begin: float, end: float, y: float, height: float) -> str:
    """A part of a bar; copies are at least two units wide, so that they are seen."""
    width = end - begin
    if kind != "away" and 0 < width < 2:
        begin, width = (begin, 2) if kind == "out" else (end - 2, 2)
    return f'<rect class="{kind}" x="{begin:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def bar_label(bar: style.Bar, width: float, layout: Layout) -> str:
    """The tensor's name and size, or as much of it as is wide enough to be useful."""
    size = ", " + format_bytes(bar.swap.size_bytes)
    room = int((width - 8) / layout.char) - len(size)
    if room < min(10, len(bar.swap.tensor)):
        return ""
    return shorten(bar.swap.tensor, room) + size


def _count_axis(count: int, layout: Layout) -> list[str]:
    """Ticks of the operations below each of the three panels."""
    scale = (layout.right - layout.left) / count
    parts = []
    for bottom in (layout.device_bottom, layout.host_bottom, layout.bars_bottom):
        parts.append(f'<path class="base" d="M{layout.left} {bottom:g}H{layout.right}"/>')
        for at in count_ticks(0, count):
            x = layout.left + at * scale
            parts.append(f'<path class="base" d="M{x:.1f} {bottom:g}v4"/>')
            parts.append(
                f'<text class="axis" x="{x:.1f}" y="{bottom + 17:g}" text-anchor="middle">{at:,}</text>'
            )
    return parts


def measured_svg(logs: Sequence[Measured], limit_bytes: int) -> str:
    """Measured memory over time and the copies, each log from its begin to its end."""
    copying = [log for log in logs if log.copies]
    lanes_top = 354
    bottom = lanes_top + 24 * 2 * len(copying) if copying else 304
    largest = max([limit_bytes, 1, *(b for log in logs for b in log.in_use_bytes)])
    layout = dataclasses.replace(
        Layout(), height=bottom + 46, device_largest=byte_axis(largest, headroom=1.1).top_bytes
    )
    place = (layout, layout.device_top, layout.device_bottom, layout.device_largest)
    parts = [
        f'<svg id="measured" viewBox="0 0 {layout.width} {layout.height:g}" role="img" '
        'aria-label="Measured memory and copies">',
        *_grid(*place, 5),
    ]
    for log, colour in zip(logs, style.log_colours(len(logs))):
        path = step_path(log.steps(COLUMNS), 0, log.end_us, *place)
        area = (
            _closed(path, layout.device_bottom, layout.left + log.times_us[0] / log.end_us * 1032)
            if log.times_us
            else ""
        )
        parts.append(f'<path d="{area}" fill="{colour}" fill-opacity="0.15"/>')
        parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.4"/>')
    parts += _limit(limit_bytes, "budget", *place)
    if copying:
        title = escape(style.copies_title(copying, len(logs) == 1))
        parts.append(f'<text class="panel" x="{layout.left}" y="{lanes_top - 14}">{title}</text>')
    for number, log in enumerate(copying):
        parts += _lanes(log, lanes_top + 48 * number, layout)
    parts += _time_axis(logs, [layout.device_bottom, bottom] if copying else [bottom], layout)
    return "\n".join([*parts, "</svg>"])


def _lanes(log: Measured, top: int, layout: Layout) -> list[str]:
    """What left, and what came back."""
    scale = (layout.right - layout.left) / log.end_us
    parts = []
    for y, out in ((top, True), (top + 24, False)):
        word = "out" if out else "in"
        copies = [copy for copy in log.copies if copy.out == out]
        parts.append(
            f'<text class="axis" x="{layout.left - 7}" y="{y + 14}" text-anchor="end">{word}</text>'
        )
        for copy in copies:
            width = max(1.0, (copy.end_us - copy.begin_us) * scale)
            parts.append(
                f'<rect class="{word}" x="{layout.left + copy.begin_us * scale:.1f}" y="{y}" '
                f'width="{width:.1f}" height="18"><title>{escape(copy.edge)}, '
                f"{format_bytes(copy.size_bytes)}, {copy.end_us - copy.begin_us:,} µs</title></rect>"
            )
        note = format_bytes(sum(copy.size_bytes for copy in copies))
        parts.append(f'<text x="{layout.right + 7}" y="{y + 14}">{escape(note)}</text>')
    return parts


def _time_axis(logs: Sequence[Measured], bottoms: Sequence[float], layout: Layout) -> list[str]:
    """Milliseconds of a single log, parts of the step of several."""
    end = logs[0].end_us / 1000 if len(logs) == 1 else 1.0
    step = nice_step(end / 10)
    places = 0 if step >= 1 else len(f"{step:.6f}".rstrip("0").partition(".")[2])
    title = "milliseconds from the begin of the log" if len(logs) == 1 else "part of one step"
    parts = []
    for bottom in bottoms:
        parts.append(f'<path class="base" d="M{layout.left} {bottom:g}H{layout.right}"/>')
        for i in range(int(end / step + 1e-9) + 1):
            x = layout.left + (layout.right - layout.left) * i * step / end
            parts.append(f'<path class="base" d="M{x:.1f} {bottom:g}v4"/>')
            parts.append(
                f'<text class="axis" x="{x:.1f}" y="{bottom + 17:g}" '
                f'text-anchor="middle">{i * step:,.{places}f}</text>'
            )
    parts.append(
        f'<text class="axis" x="{(layout.left + layout.right) / 2:g}" y="{layout.height - 6:g}" '
        f'text-anchor="middle">{title}</text>'
    )
    return parts
