# SPDX-License-Identifier: Apache-2.0
"""Curves of memory: fewer points with every maximum kept, axis ticks, names cut to length.

`envelope`: of n values in c columns, column k shows max(values[k n / c] .. values[(k+1) n / c - 1]).
So the peak is always drawn at its height, and no drawn value is lower than a hidden one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))


@dataclass(frozen=True)
class Step:
    """A piece of a curve: `value` from `begin` to `end`."""

    begin: float
    end: float
    value: int


def envelope(values: Sequence[int], columns: int) -> list[Step]:
    """The values as at most `columns` steps of the largest value each; O(values)."""
    count = min(len(values), columns)
    steps = []
    for k in range(count):
        begin, end = k * len(values) // count, (k + 1) * len(values) // count
        steps.append(Step(begin, end, max(values[begin:end])))
    return steps


def envelope_over_time(
    times: Sequence[float], values: Sequence[int], end: float, columns: int
) -> list[Step]:
    """A curve that is values[i] from times[i] on, up to `end`, as `envelope` does it.

    Args:
        times: ascending.
    """
    if not times:
        return []
    spans = [
        Step(begin, max(begin, until), value)
        for begin, until, value in zip(times, [*times[1:], end], values)
    ]
    if len(spans) <= columns:
        return spans
    start, width = times[0], max(end - times[0], 1e-9) / columns
    largest = [-1] * columns
    for span in spans:
        last = min(columns - 1, int((span.end - start) / width))
        for k in range(min(columns - 1, int((span.begin - start) / width)), last + 1):
            largest[k] = max(largest[k], span.value)
    return [
        Step(start + k * width, start + (k + 1) * width, value)
        for k, value in enumerate(largest)
        if value >= 0
    ]


@dataclass(frozen=True)
class ByteAxis:
    """A vertical axis from 0 to `top_bytes`, with ticks at whole numbers of its unit."""

    top_bytes: float
    unit: str
    unit_bytes: int
    ticks: tuple[tuple[int, str], ...]  # bytes and label


def byte_axis(largest_bytes: int, ticks: int = 5, headroom: float = 1.06) -> ByteAxis:
    """An axis that reaches a little above the largest value."""
    top = max(1.0, largest_bytes * headroom)
    unit, unit_bytes = next((u, b) for u, b in _UNITS if top >= b)
    step = nice_step(top / unit_bytes / ticks)
    if unit == "B":
        step = max(1.0, step)
    places = max(0, -math.floor(math.log10(step)))
    marks = range(int(top / unit_bytes / step) + 1)
    return ByteAxis(
        top,
        unit,
        unit_bytes,
        tuple((round(i * step * unit_bytes), f"{i * step:,.{places}f}") for i in marks),
    )


def nice_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50, ... (and their tenths) that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def count_ticks(begin: float, end: float, ticks: int = 10) -> list[int]:
    """Whole numbers from `begin` to `end` at a nice distance."""
    step = max(1, round(nice_step(max(end - begin, 1e-9) / ticks)))
    return list(range(math.ceil(begin / step) * step, math.floor(end) + 1, step))


def shorten(name: str, limit: int) -> str:
    """The name, or its end behind an ellipsis, cut at a slash where that loses little."""
    if len(name) <= limit:
        return name
    tail = name[len(name) - max(1, limit - 1) :]
    slash = tail.find("/")
    if 0 <= slash < len(tail) // 3:
        tail = tail[slash:]
    return "…" + tail


def pack_rows(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """A row for each interval so that those in one row keep `gap` between them; few rows.

    First fit in the order of the begins. O(n log n) for what a step looks like, n rows at worst.
    """
    rows = [0] * len(spans)
    ends: list[float] = []
    for i in sorted(range(len(spans)), key=lambda k: (spans[k][0], -spans[k][1])):
        begin, end = spans[i]
        row = next((r for r, taken in enumerate(ends) if taken + gap <= begin), len(ends))
        if row == len(ends):
            ends.append(end)
        ends[row] = end
        rows[i] = row
    return rows
