# SPDX-License-Identifier: Apache-2.0
"""Colours, and which swaps are drawn where. Shared by plot and page, so that they look the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflms._format import format_bytes
from tflms.pictures._curve import pack_rows
from tflms.pictures._measured import Measured
from tflms.pictures._plan import Plan, Span, Swap

# The palette of Okabe and Ito, which people with any kind of colour blindness tell apart.
BEFORE = "#0072B2"  # blue
AFTER = "#D55E00"  # vermillion
HOST = "#009E73"  # bluish green
COPY_OUT = "#CC79A7"  # reddish purple
COPY_IN = "#56B4E9"  # sky blue
AWAY = "#D9D9D9"
ALWAYS = "#8C8C8C"  # variables and constants
INK = "#222222"
FAINT = "#E6E6E6"
_MEASURED = (BEFORE, AFTER, HOST, "#E69F00", COPY_OUT, "#000000")

MOST_BARS = 400
MOST_ROWS = 100


@dataclass(frozen=True)
class Bar:
    """A swap as drawn: where, and in which row."""

    number: int  # in plan.swaps
    swap: Swap
    span: Span
    row: int


@dataclass(frozen=True)
class Bars:
    bars: tuple[Bar, ...]
    rows: int
    hidden: int  # swaps not drawn, no larger than those drawn


def lay_out_bars(plan: Plan) -> Bars:
    """The largest swaps, as many as MOST_ROWS rows hold; O(swaps log swaps)."""
    spans = [plan.span(swap) for swap in plan.swaps]
    order = sorted(
        range(len(spans)),
        key=lambda i: (-plan.swaps[i].size_bytes, spans[i].begin - spans[i].end, spans[i].begin),
    )
    low, high = 0, min(len(order), MOST_BARS)
    while low < high:  # the largest number whose rows are few enough
        middle = (low + high + 1) // 2
        if _row_count(_pack(plan, spans, order[:middle])) <= MOST_ROWS:
            low = middle
        else:
            high = middle - 1
    chosen = order[:low]
    rows = _pack(plan, spans, chosen)
    bars = tuple(Bar(i, plan.swaps[i], spans[i], row) for i, row in zip(chosen, rows))
    return Bars(bars, _row_count(rows), len(plan.swaps) - len(bars))


def _pack(plan: Plan, spans: Sequence[Span], chosen: Sequence[int]) -> list[int]:
    gap = len(plan.points) / 300
    return pack_rows([(spans[i].begin, spans[i].end) for i in chosen], gap)


def _row_count(rows: Sequence[int]) -> int:
    return max(rows, default=-1) + 1


def peak_lines(plan: Plan) -> tuple[str, str]:
    """What the marks A and B stand for, without the operation's name: it is cut where it is drawn."""
    before, after = plan.peak_before, plan.peak_after
    return (
        f"peak without swaps {format_bytes(plan.unswapped[before])} at operation {before:,}",
        f"peak with tflms {format_bytes(plan.running[after])} at operation {after:,}",
    )


def bars_title(plan: Plan, bars: Bars) -> str:
    """Heading of the panel of swaps."""
    if not plan.swaps:
        return "no tensor is swapped"
    tensors = len({swap.tensor for swap in plan.swaps})
    text = (
        f"{len(plan.swaps):,} stay{'s' if len(plan.swaps) != 1 else ''} of "
        f"{tensors:,} tensor{'s' if tensors != 1 else ''} on the host"
    )
    return text + (f"; the {len(bars.bars):,} largest are drawn" if bars.hidden else "")


def log_colours(count: int) -> list[str]:
    """A colour for each log: a single one looks like what tflms predicts."""
    return [AFTER] if count == 1 else [_MEASURED[i % len(_MEASURED)] for i in range(count)]


def clip(label: str, limit: int) -> str:
    """The label, or its begin and an ellipsis."""
    return label if len(label) <= limit else label[: limit - 1] + "…"


def copies_title(logs: Sequence[Measured], is_only: bool) -> str:
    """Heading of the lanes of copies; says whose they are when there are several logs."""
    if is_only:
        return "copies over the link, measured"
    return "copies over the link: " + ", then ".join(clip(log.label, 30) for log in logs)


def column_note(plan: Plan, columns: int) -> str:
    """Says that a column stands for several operations, when it does."""
    if len(plan.points) <= columns:
        return ""
    return f"; each point is the largest of up to {-(-len(plan.points) // columns)} operations"
