# SPDX-License-Identifier: Apache-2.0
"""The curve of `tflms curve`: predicted time and copied bytes over the budget, read and drawn.

Time is drawn as three layers that add up to the step: operations once, operations run again, waiting
for copies. A budget that no plan fits has a hollow mark. SVG without any library. O(points).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tflms._errors import TflmsError
from tflms._format import format_bytes
from tflms._version import __version__
from tflms.pictures import _style as style
from tflms.pictures._curve import byte_axis, nice_step
from tflms.pictures._plan import Reader, printable, read_json, short_device

WIDTH, LEFT, RIGHT = 900, 70, 870
_TOP, _PANEL, _GAP = 64, 190, 74
HEIGHT = _TOP + 2 * _PANEL + _GAP + 64
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_FONT = "font: 12px 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif; fill: " + style.INK


@dataclass(frozen=True)
class BudgetPoint:
    """One budget and the figures of its plan; see `CurvePoint` of src/rewrite/curve.h."""

    budget_bytes: int
    fits: bool
    peak_bytes: int
    time_us: int
    stall_us: int
    recompute_us: int
    swap_out_bytes: int
    swap_in_bytes: int


@dataclass(frozen=True)
class BudgetCurve:
    """The points of one graph on one device, by budget; never empty."""

    graph: str
    device: str
    floor_bytes: int
    unswapped_peak_bytes: int
    link_known: bool
    points: tuple[BudgetPoint, ...]

    @property
    def title(self) -> str:
        return f"{self.graph or 'graph'} on {short_device(self.device)}"


def is_curve_file(rows: Any) -> bool:
    """Whether parsed JSON is what `tflms curve` writes."""
    return isinstance(rows, Mapping) and "curves" in rows


def parse_curves(rows: Any, where: str = "curves") -> list[BudgetCurve]:
    """The curves in what `tflms curve` writes.

    Raises:
        TflmsError: something is missing or wrong; the message says where, and what was expected.
    """
    reader = Reader(where, "Curves are what `tflms curve --json` and `-o` write.")
    curves = []
    for place, row in reader.rows(reader.mapping(rows, ""), "curves"):
        points = [
            _parse_point(reader, f"{place}{at}", entry) for at, entry in reader.rows(row, "points")
        ]
        if not points:
            continue
        curves.append(
            BudgetCurve(
                graph=reader.text(row, "graph", place),
                device=reader.text(row, "device", place),
                floor_bytes=reader.size(row, "floor_bytes", place),
                unswapped_peak_bytes=reader.size(row, "unswapped_peak_bytes", place),
                link_known=reader.truth(row, "link_known", place),
                points=tuple(sorted(points, key=lambda point: point.budget_bytes)),
            )
        )
    return curves


def _parse_point(reader: Reader, place: str, entry: Mapping[str, Any]) -> BudgetPoint:
    sizes = {
        key: reader.size(entry, key, place)
        for key in (
            "budget_bytes",
            "peak_bytes",
            "time_us",
            "stall_us",
            "recompute_us",
            "swap_out_bytes",
            "swap_in_bytes",
        )
    }
    return BudgetPoint(fits=reader.truth(entry, "fits", place), **sizes)


def pick_curve(curves: Sequence[BudgetCurve], graph: str | None, device: str | None) -> BudgetCurve:
    """The curve of that graph and device; of several, the one with the largest peak.

    Raises:
        TflmsError: there is none; the message lists those that there are.
    """
    matching = [
        curve
        for curve in curves
        if (graph is None or curve.graph == graph)
        and (device is None or curve.device == device or curve.device.endswith(f":{device}"))
    ]
    if not matching:
        there = ", ".join(curve.title for curve in curves) or "none"
        raise TflmsError(f"there is no such curve in the file; there is: {there}")
    return max(matching, key=lambda curve: curve.unswapped_peak_bytes)


def draw_curve(path: Path, graph: str | None, device: str | None, out: Path) -> None:
    """Draws a curve of the file `path`; the suffix of `out`, .svg or .html, says how."""
    curve = pick_curve(parse_curves(read_json(path), str(path)), graph, device)
    if out.suffix.lower() == ".svg":
        out.write_text(curve_svg(curve) + "\n", encoding="utf-8")
    elif out.suffix.lower() == ".html":
        out.write_text(curve_page(curve), encoding="utf-8")
    else:
        raise TflmsError(f"{out}: a curve is drawn as .svg or .html")


@dataclass(frozen=True)
class _Scale:
    """From values to places of a panel; `ticks` are (value, label)."""

    top: int
    largest: float
    unit: str
    ticks: tuple[tuple[float, str], ...]

    def y(self, value: float) -> float:
        return self.top + _PANEL * (1 - value / self.largest)


def _time_scale(largest_us: int, top: int) -> _Scale:
    unit, factor = next(
        (u, f) for u, f in (("s", 1e6), ("ms", 1e3), ("us", 1.0)) if largest_us >= f or f == 1.0
    )
    reach = max(1.0, largest_us * 1.08)
    step = nice_step(reach / factor / 4)
    ticks = tuple(
        (i * step * factor, f"{i * step:g}") for i in range(int(reach / factor / step) + 1)
    )
    return _Scale(top, reach, unit, ticks)


def _byte_scale(largest: int, top: int) -> _Scale:
    axis = byte_axis(largest, 4, headroom=1.08)
    return _Scale(top, axis.top_bytes, axis.unit, axis.ticks)


class _Across:
    """The horizontal axis: budgets."""

    def __init__(self, curve: BudgetCurve) -> None:
        budgets = [point.budget_bytes for point in curve.points]
        low = min(budgets[0], curve.floor_bytes)
        high = max(budgets[-1], curve.unswapped_peak_bytes, low + 1)
        pad = (high - low) * 0.03
        self.low, self.high = low - pad, high + pad

    def x(self, budget: float) -> float:
        return LEFT + (RIGHT - LEFT) * (budget - self.low) / (self.high - self.low)


def curve_svg(curve: BudgetCurve) -> str:
    """The picture, as an SVG document."""
    across = _Across(curve)
    points = curve.points
    below = _TOP + _PANEL + _GAP
    time = _time_scale(max(p.time_us for p in points), _TOP)
    moved = _byte_scale(max(max(p.swap_out_bytes, p.swap_in_bytes) for p in points), below)
    waits = [p.time_us for p in points]
    again = [p.time_us - p.stall_us for p in points]
    once = [p.time_us - p.stall_us - p.recompute_us for p in points]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'style="{escape(_FONT)}" aria-label="Time and copies over the budget">',
        f'<text x="{LEFT}" y="20" font-weight="bold" font-size="15">'
        f"{_text(f'What memory buys: {curve.title}')}</text>",
        *_panel(time, "predicted time of a step", across, curve),
        _area(points, waits, again, time, across, style.AFTER),
        _area(points, again, once, time, across, style.COPY_OUT),
        _area(points, once, [0] * len(points), time, across, style.BEFORE),
        *_marks(points, waits, time, across, style.AFTER),
        *_legend(
            _TOP - 8,
            ((style.BEFORE, "operations"), (style.COPY_OUT, "run again"), (style.AFTER, "waiting")),
        ),
        *_panel(moved, "copied in a step", across, curve),
        _line(points, [p.swap_out_bytes for p in points], moved, across, style.COPY_OUT),
        _line(points, [p.swap_in_bytes for p in points], moved, across, style.COPY_IN),
        *_marks(points, [p.swap_in_bytes for p in points], moved, across, style.COPY_IN),
        *_legend(below - 8, ((style.COPY_OUT, "out"), (style.COPY_IN, "back"))),
        *_budget_axis(across),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _text(value: object) -> str:
    return escape(printable(str(value)))


def _panel(scale: _Scale, title: str, across: _Across, curve: BudgetCurve) -> list[str]:
    bottom = scale.top + _PANEL
    parts = [f'<text x="{LEFT}" y="{scale.top - 8}" font-weight="bold">{title}</text>']
    for value, label in scale.ticks:
        y = scale.y(value)
        parts.append(f'<path stroke="{style.FAINT}" d="M{LEFT} {y:.1f}H{RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    parts.append(
        f'<text transform="translate(16 {(scale.top + bottom) / 2:g}) rotate(-90)" '
        f'text-anchor="middle">{scale.unit}</text>'
    )
    for budget in (curve.floor_bytes, curve.unswapped_peak_bytes):
        x = across.x(budget)
        parts.append(
            f'<path stroke="{style.INK}" stroke-dasharray="5 4" d="M{x:.1f} {scale.top}V{bottom}"/>'
        )
    return parts


def _polyline(
    points: Sequence[BudgetPoint], values: Sequence[int], scale: _Scale, across: _Across
) -> list[str]:
    return [f"{across.x(p.budget_bytes):.1f} {scale.y(v):.1f}" for p, v in zip(points, values)]


def _area(
    points: Sequence[BudgetPoint],
    upper: Sequence[int],
    lower: Sequence[int],
    scale: _Scale,
    across: _Across,
    colour: str,
) -> str:
    if list(upper) == list(lower):
        return ""
    there = _polyline(points, upper, scale, across)
    back = reversed(_polyline(points, lower, scale, across))
    return f'<path fill="{colour}" fill-opacity="0.45" d="M{"L".join(there)}L{"L".join(back)}Z"/>'


def _line(
    points: Sequence[BudgetPoint],
    values: Sequence[int],
    scale: _Scale,
    across: _Across,
    colour: str,
) -> str:
    path = "L".join(_polyline(points, values, scale, across))
    return f'<path fill="none" stroke="{colour}" stroke-width="2" d="M{path}"/>'


def _marks(
    points: Sequence[BudgetPoint],
    values: Sequence[int],
    scale: _Scale,
    across: _Across,
    colour: str,
) -> list[str]:
    """A dot at each budget: full when the plan fits, hollow when it does not."""
    return [
        f'<circle cx="{across.x(point.budget_bytes):.1f}" cy="{scale.y(value):.1f}" r="4" '
        f'stroke="{colour}" stroke-width="1.5" fill="{colour if point.fits else "#fff"}"/>'
        for point, value in zip(points, values)
    ]


def _legend(y: int, entries: Sequence[tuple[str, str]]) -> list[str]:
    parts = []
    x = RIGHT
    for colour, name in reversed(entries):
        x -= 8 * len(name) + 24
        parts.append(f'<rect x="{x}" y="{y - 9}" width="12" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 17}" y="{y}">{name}</text>')
    return parts


def _budget_axis(across: _Across) -> list[str]:
    """Ticks under the lower panel, and what the dashed lines are."""
    y = _TOP + 2 * _PANEL + _GAP
    axis = byte_axis(int(across.high), 8, headroom=1.0)
    parts = []
    for value, label in axis.ticks:
        if across.low <= value <= across.high:
            x = across.x(value)
            parts.append(f'<path stroke="{style.INK}" d="M{x:.1f} {y}v5"/>')
            parts.append(f'<text x="{x:.1f}" y="{y + 19}" text-anchor="middle">{label}</text>')
    parts.append(
        f'<text x="{(LEFT + RIGHT) / 2:g}" y="{y + 40}" text-anchor="middle">budget, {axis.unit} '
        "(dashed: the floor, and the peak without swaps; hollow: does not fit)</text>"
    )
    return parts


def curve_page(curve: BudgetCurve) -> str:
    """The picture and its figures as one HTML page that opens offline."""
    head = ("budget", "fits", "peak", "step", "waiting", "run again", "copied out", "copied back")
    rows = [
        (
            format_bytes(p.budget_bytes),
            "yes" if p.fits else "no",
            format_bytes(p.peak_bytes),
            _time(p.time_us),
            _time(p.stall_us),
            _time(p.recompute_us),
            format_bytes(p.swap_out_bytes),
            format_bytes(p.swap_in_bytes),
        )
        for p in curve.points
    ]
    note = (
        "" if curve.link_known else "<p>Copies take no time here: no rate of the link is known.</p>"
    )
    css = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8"/>',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>',
            f"<title>tflms: what memory buys, {_text(curve.title)}</title>",
            f"<style>\n{css}</style>",
            "</head>",
            "<body>",
            f"<h1>What memory buys: {_text(curve.title)}</h1>",
            note,
            curve_svg(curve),
            '<table class="facts">',
            "<tr>" + "".join(f"<th>{word}</th>" for word in head) + "</tr>",
            *("<tr>" + "".join(f'<td class="n">{c}</td>' for c in row) + "</tr>" for row in rows),
            "</table>",
            f'<p class="quiet">Predictions. Written by tflms {__version__}.</p>',
            "</body>",
            "</html>",
            "",
        ]
    )


def _time(time_us: int) -> str:
    if time_us < 1000:
        return f"{time_us} us"
    return f"{time_us / 1e3:.1f} ms" if time_us < 1_000_000 else f"{time_us / 1e6:.2f} s"
