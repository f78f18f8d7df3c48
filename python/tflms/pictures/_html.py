# SPDX-License-Identifier: Apache-2.0
"""The report as one page of HTML: picture, figures, tables. It opens offline.

Style and script are inside the page, and a content policy in its head forbids every request. Names
of operations go into the page once, as parts ("a/b/c" is three numbers), so that a step of 10,000
operations stays below 2 MB.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tflms._format import format_bytes
from tflms._report import Report
from tflms._version import __version__
from tflms.pictures import _style as style
from tflms.pictures import _svg
from tflms.pictures._plan import Plan, Swap, printable
from tflms.pictures._source import Picture

FULL_ROWS = 50  # swaps whose operations are named in the table
PEAK_ROWS = 10
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def page(picture: Picture) -> str:
    """The page's text."""
    plan = picture.plan
    bars = style.lay_out_bars(plan)
    layout = _svg.lay_out(plan, bars)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>tflms: memory of {_text(plan.title)}</title>",
        f"<style>\n{_asset('page.css')}</style>",
        "</head>",
        '<body class="no-script">',
        *_head(picture),
        *_step(plan, bars, layout),
        *_measured(picture),
        *_peak_tables(plan),
        *_swap_tables(plan),
        *_report(picture.report),
        f'<p class="quiet">Written by tflms {__version__}. Sizes are in units of 1,024.</p>',
        '<div id="tip"></div>',
        f'<script type="application/json" id="data">{_data(plan, layout)}</script>',
        f"<script>\n{_asset('page.js')}</script>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(parts)


def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _text(value: object) -> str:
    return escape(printable(str(value)))


def _head(picture: Picture) -> list[str]:
    plan, report = picture.plan, picture.report
    before, after = plan.unswapped[plan.peak_before], plan.running[plan.peak_after]
    cards = [
        ("peak without swaps", format_bytes(before)),
        ("peak with tflms", format_bytes(after)),
        ("budget", format_bytes(plan.budget_bytes) if plan.budget_bytes else "not known"),
        ("host memory at peak", format_bytes(max(plan.host))),
        ("copied out a step", format_bytes(sum(s.size_bytes for s in plan.swaps if s.copied))),
        ("copied back a step", format_bytes(sum(s.size_bytes for s in plan.swaps))),
        ("operations", f"{len(plan.points):,}"),
    ]
    parts = [f"<h1>Memory of {_text(plan.title)} over one step</h1>"]
    if report is not None and report.reason:
        parts.append(f"<p>{_text(report.outcome)}: {_text(report.reason)}</p>")
    if picture.others:
        parts.append(f'<p class="quiet">Also rewritten: {_text(", ".join(picture.others))}.</p>')
    parts.append('<ul class="cards">')
    parts += [f"<li>{word}<b>{figure}</b></li>" for word, figure in cards]
    return [*parts, "</ul>"]


def _step(plan: Plan, bars: style.Bars, layout: _svg.Layout) -> list[str]:
    lines = style.peak_lines(plan)
    note = style.column_note(plan, _svg.COLUMNS)
    marks = (("A", "before", plan.peak_before), ("B", "after", plan.peak_after))
    keys = [
        ("without swaps", style.BEFORE),
        ("with tflms", style.AFTER),
        ("variables and constants", "#BEBEBE"),
        ("tensor leaving", style.COPY_OUT),
        ("on the host", style.AWAY),
        ("coming back", style.COPY_IN),
    ]
    return [
        '<h2>Predicted memory on the device<span id="seen" class="quiet"></span></h2>',
        '<ul class="peaks">',
        *(
            f'<li><span class="letter {kind}">{letter}</span>{_text(line)}: '
            f"<b>{_text(plan.points[at].node)}</b></li>"
            for (letter, kind, at), line in zip(marks, lines)
        ),
        "</ul>",
        '<div class="bar-row">',
        *(
            f'<span><span class="key" style="background:{colour}"></span>{word}</span>'
            for word, colour in keys
        ),
        '<span class="tools">'
        '<button id="closer">closer</button> <button id="wider">wider</button> '
        '<button id="whole">whole step</button></span>',
        "</div>",
        _svg.step_svg(plan, bars, layout),
        '<p class="quiet">Drag over a part to see it closer, double-click for the whole step. '
        f"Point at an operation or a swap for its name and sizes{_text(note)}.</p>",
    ]


def _measured(picture: Picture) -> list[str]:
    logs = picture.measured
    if not logs:
        return []
    parts = ["<h2>Measured memory on the simulated device</h2>", '<ul class="peaks">']
    for log, colour in zip(logs, style.log_colours(len(logs))):
        line = f'<li><span class="key" style="background:{colour}"></span>{_text(log.label)}'
        if log.in_use_bytes:
            line += (
                f": peak {format_bytes(log.in_use_bytes[log.peak])} at {_text(log.ops[log.peak])}"
            )
        parts.append(line + f", {log.end_us / 1000:,.1f} ms</li>")
    return [*parts, "</ul>", _svg.measured_svg(logs, picture.plan.budget_bytes)]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> list[str]:
    """A table; a head that begins with # is of a column of numbers. Cells are HTML."""
    numeric = [head.startswith("#") for head in heads]

    def line(tag: str, cells: Sequence[str]) -> str:
        return (
            "<tr>"
            + "".join(
                f'<{tag} class="n">{cell}</{tag}>' if is_number else f"<{tag}>{cell}</{tag}>"
                for cell, is_number in zip(cells, numeric)
            )
            + "</tr>"
        )

    return [
        f'<table class="{kind}">' if kind else "<table>",
        line("th", [head.lstrip("#") for head in heads]),
        *(line("td", row) for row in rows),
        "</table>",
    ]


def highest(values: Sequence[int], most: int) -> list[int]:
    """Where the values rise to their largest: one place for each hill, largest first."""
    hills = [
        i
        for i, value in enumerate(values)
        if (i == 0 or values[i - 1] < value) and (i + 1 == len(values) or values[i + 1] <= value)
    ]
    return sorted(hills, key=lambda i: (-values[i], i))[:most]


def _peak_tables(plan: Plan) -> list[str]:
    parts = ["<h2>Operations at the peaks</h2>"]
    for title, values in (("with tflms", plan.running), ("without swaps", plan.unswapped)):
        places = highest(values, PEAK_ROWS)
        parts.append(f"<p>Highest {title}:</p>")
        parts += _table(
            ["#place", "#with tflms", "#without swaps", "operation"],
            (
                [
                    f"{i:,}",
                    format_bytes(plan.points[i].running_bytes),
                    format_bytes(plan.points[i].unswapped_bytes),
                    _text(plan.points[i].node),
                ]
                for i in places
            ),
            "highest",
        )
    return parts


def _swap_tables(plan: Plan) -> list[str]:
    """The largest swaps with their operations by name; all others by place."""
    if not plan.swaps:
        return [
            "<h2>Swaps</h2>",
            "<p>No tensor is swapped: the order of operations alone helps.</p>",
        ]
    ordered = sorted(
        plan.swaps, key=lambda s: (-s.size_bytes, s.leave_after - s.back_for, s.tensor)
    )
    heads = ["tensor", "#size", "#away", "copy out", "leaves after", "back for"]
    named = _table(heads, (_swap_row(plan, swap, True) for swap in ordered[:FULL_ROWS]), "swaps")
    parts = [
        "<h2>Swaps, largest first</h2>",
        '<p class="quiet">Away: how many operations run meanwhile. Copy out: no where the host has a '
        "copy from an earlier stay.</p>",
        *named,
    ]
    rest = ordered[FULL_ROWS:]
    if rest:
        parts.append(f"<details><summary>{len(rest):,} more</summary>")
        parts += _table(heads, (_swap_row(plan, swap, False) for swap in rest), "swaps")
        parts.append("</details>")
    return parts


def _swap_row(plan: Plan, swap: Swap, named: bool) -> list[str]:
    def op(place: int) -> str:
        if place < 0:
            return "-"
        return f"{place:,}" + (f": {_text(plan.points[place].node)}" if named else "")

    span = plan.span(swap)
    return [
        _text(swap.tensor),
        format_bytes(swap.size_bytes),
        f"{max(0, int(span.end) - int(span.begin)):,}",
        "yes" if swap.copied else "no",
        op(swap.leave_after),
        op(swap.back_for),
    ]


def _report(report: Report | None) -> list[str]:
    if report is None:
        return []
    facts: list[tuple[str, str]] = []
    for field in dataclasses.fields(report):
        value = getattr(report, field.name)
        if field.name in ("skipped", "rules", "notes", "outcome", "reason"):
            continue
        facts.append(
            (field.name.replace("_bytes", "").replace("_", " "), _figure(field.name, value))
        )
    parts = ["<h2>Report</h2>", *_table(["what", "value"], facts, "facts")]
    if report.skipped:
        parts.append("<h2>Not swapped, by reason</h2>")
        skipped = sorted(report.skipped, key=lambda s: (-s.bytes, -s.tensors))
        rows = ([_text(s.reason), f"{s.tensors:,}", format_bytes(s.bytes)] for s in skipped)
        parts += _table(["reason", "#tensors", "#size"], rows, "facts")
    if report.rules:
        parts.append("<h2>Rules</h2>")
        rules = ([_text(r.rule), f"{r.changes:,}", f"{r.refused:,}"] for r in report.rules)
        parts += _table(["rule", "#changes", "#refused"], rules, "facts")
    if report.notes:
        parts += [
            "<h2>Notes</h2>",
            "<ul>",
            *(f"<li>{_text(n)}</li>" for n in report.notes),
            "</ul>",
        ]
    return parts


def _figure(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes"):
        return format_bytes(value) if value or name != "budget_bytes" else "not known"
    if name == "time_us":
        return f"{value / 1000:,.1f} ms"
    return f"{value:,}" if isinstance(value, int) else _text(value)


def _data(plan: Plan, layout: _svg.Layout) -> str:
    """What page.js reads, as JSON that is safe inside a script element."""
    code, parts = _name_coder()
    spans = [plan.span(swap) for swap in plan.swaps]
    data = {
        "count": len(plan.points),
        "persistent": plan.persistent_bytes,
        "layout": dataclasses.asdict(layout),
        "running": _deltas(plan.running),
        "waiting": _deltas([point.waiting_bytes for point in plan.points]),
        "unswapped": _deltas(plan.unswapped),
        "host": _deltas(plan.host),
        "names": [code(point.node) for point in plan.points],
        "swaps": [
            [code(s.tensor), s.size_bytes, s.leave_after, s.sync, s.trigger, s.back_for]
            + [round(x, 1) for x in (p.begin, p.out_end, p.in_begin, p.end)]
            + [int(s.copied)]
            for s, p in zip(plan.swaps, spans)
        ],
        "parts": parts,
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _deltas(values: Sequence[int]) -> list[int]:
    return [value - before for before, value in zip([0, *values], values)]


def _name_coder() -> tuple[Callable[[str], str], list[str]]:
    """A function that writes a name as numbers of its parts, and the list of parts it fills."""
    parts: list[str] = []
    numbers: dict[str, str] = {}

    def code(name: str) -> str:
        for part in name.split("/"):
            if part not in numbers:
                numbers[part] = _base36(len(parts))
                parts.append(part)
        return "/".join(numbers[part] for part in name.split("/"))

    return code, parts


def _base36(number: int) -> str:
    text = ""
    while True:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
        if not number:
            return text
