# SPDX-License-Identifier: Apache-2.0
"""The HTML report: what it says, that it is well formed, safe with any name, and needs nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from pictures_data import MIB, REAL, by_hand, by_rule, events_by_hand, picture_of
from tflms._format import format_bytes
from tflms.pictures import _html, _source, _style

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Checks that tags close in the order they open; collects texts, attributes and table rows."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += [(f"{tag}.{name}", value or "") for name, value in attrs]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.handle_startendtag(tag, attrs)
        assert tag not in VOID
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)
            if self.open[-1] in ("td", "th"):
                self.rows[-1].append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0])


def svgs(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.S)]


@pytest.fixture(scope="module")
def real() -> tuple[_source.Picture, str]:
    picture = _source.from_file(REAL)
    return picture, _html.page(picture)


def test_says_all_of_a_real_plan(real: tuple[_source.Picture, str]) -> None:
    picture, text = real
    reader = Reader(text)
    plan, report = picture.plan, picture.report
    assert report is not None
    for swap in plan.swaps:
        rows = [row for row in reader.rows if row[0] == swap.tensor]
        wanted = [
            swap.tensor,
            format_bytes(swap.size_bytes),
            "yes" if swap.copied else "no",
            f"{swap.leave_after}: {plan.points[swap.leave_after].node}",
            f"{swap.back_for}: {plan.points[swap.back_for].node}",
        ]
        assert wanted in [row[:2] + row[3:] for row in rows], swap
    assert "peak without swaps 51.1 MiB at operation 340" in reader.text
    assert "peak with tflms 31.1 MiB at operation 339" in reader.text
    for place in (plan.peak_before, plan.peak_after):
        assert reader.texts.count(plan.points[place].node) >= 2  # beside the mark, and in the table
    assert "budget" in reader.texts and "40.0 MiB" in reader.texts
    assert report.reason in reader.text
    for note in report.notes:
        assert note in reader.text
    for skip in report.skipped:
        assert [skip.reason, str(skip.tensors), format_bytes(skip.bytes)] in reader.rows
    for rule in report.rules:
        assert [rule.rule, str(rule.changes), str(rule.refused)] in reader.rows
    assert ["floor node", report.floor_node] in reader.rows


def test_needs_nothing_outside(real: tuple[_source.Picture, str]) -> None:
    _, text = real
    for word in ("http://", "https://", "src=", "@import", "href=", "fetch(", "XMLHttpRequest"):
        assert word not in text, word
    assert not re.search(r"url\((?!#)", text)
    reader = Reader(text)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(reader.tags)
    policy = next(v for k, v in reader.attributes if k == "meta.content" and "default-src" in v)
    assert policy.startswith("default-src 'none'")


def test_pictures_in_the_page_are_xml(real: tuple[_source.Picture, str]) -> None:
    picture, text = real
    (step,) = svgs(text)
    bars = step.findall(".//g[@class='bar']")
    assert sorted(int(bar.get("data-swap", "")) for bar in bars) == list(range(39))
    assert len(step.findall(".//path[@class='limit']")) == 1
    marks = step.findall(".//g[@data-at]")
    assert [float(m.get("data-at", "")) - 0.5 for m in marks] == [
        picture.plan.peak_before,
        picture.plan.peak_after,
    ]


def name(data: Any, code: str) -> str:
    """A name as the script puts it together."""
    return "/".join(data["parts"][int(part, 36)] for part in code.split("/"))


def test_data_for_the_script(real: tuple[_source.Picture, str]) -> None:
    picture, text = real
    data = Reader(text).data

    def sums(deltas: list[int]) -> list[int]:
        return [sum(deltas[: i + 1]) for i in range(len(deltas))]

    assert [name(data, code) for code in data["names"]] == [p.node for p in picture.plan.points]
    assert sums(data["running"]) == picture.plan.running
    assert sums(data["unswapped"]) == picture.plan.unswapped
    assert sums(data["host"]) == picture.plan.host
    assert sums(data["waiting"]) == [p.waiting_bytes for p in picture.plan.points]
    assert [name(data, s[0]) for s in data["swaps"]] == [s.tensor for s in picture.plan.swaps]


def path_heights(path: str) -> list[float]:
    return [float(y) for y in re.findall(r"(?:V|M[\d.]+ )([\d.]+)", path)]


def test_curves_are_at_the_heights_of_the_plan() -> None:
    picture = picture_of(by_hand())
    (step,) = svgs(_html.page(picture))
    data = Reader(_html.page(picture)).data["layout"]
    line = step.find(".//path[@id='after-line']")
    assert line is not None
    tall = data["device_bottom"] - data["device_top"]
    wanted = [
        data["device_bottom"] - tall * p.running_bytes / data["device_largest"]
        for p in picture.plan.points
    ]
    assert path_heights(line.get("d", "")) == pytest.approx(wanted, abs=0.06)


EVIL = "<!--<script></script><script>alert(1)</script>\"'&<b>]]>--!>\x07"


def test_any_name_is_safe() -> None:
    row = by_hand()
    row["graph"] = EVIL
    row["timeline"][2]["node"] = row["timeline"][3]["node"] = EVIL
    row["swaps"][0]["tensor"] = EVIL
    events = events_by_hand()
    events[4]["op"] = EVIL
    text = _html.page(picture_of(row, {EVIL: events}))
    reader = Reader(text)
    assert len(reader.scripts) == 2
    assert not set("<>&") & set(reader.scripts[0])
    assert reader.tags.count("b") == Reader(
        _html.page(picture_of(by_hand(), {"m": events_by_hand()}))
    ).tags.count("b")
    clean = EVIL.replace("\x07", "\ufffd")
    assert reader.text.count(clean) >= 6
    assert name(reader.data, reader.data["names"][2]) == clean
    assert len(svgs(text)) == 2
    assert "\x07" not in text


def test_measured_part() -> None:
    text = _html.page(
        picture_of(by_hand(), {"first": events_by_hand(), "second": events_by_hand()})
    )
    reader = Reader(text)
    assert "first: peak 30.0 MiB at large, 0.1 ms" in reader.text
    assert "part of one step" in reader.text
    _, measured = svgs(text)
    assert len(measured.findall(".//rect[@class='out']")) == 2
    assert len(measured.findall(".//rect[@class='in']")) == 4
    alone = Reader(_html.page(picture_of(by_hand(), events_by_hand())))
    assert "milliseconds from the begin of the log" in alone.text


def test_without_budget_swaps_or_report() -> None:
    row = by_hand()
    row.update(budget_bytes=0, swaps=[], persistent_bytes=0)
    reader = Reader(_html.page(picture_of(row)))
    assert "not known" in reader.text
    assert "No tensor is swapped" in reader.text
    assert "Report" not in reader.texts


def test_one_operation_without_memory() -> None:
    row = by_hand()
    row.update(budget_bytes=0, swaps=[], persistent_bytes=0, timeline=row["timeline"][:1])
    row["timeline"][0].update(waiting_bytes=0, running_bytes=0, unswapped_bytes=0, host_bytes=0)
    text = _html.page(picture_of(row))
    Reader(text)
    assert "nan" not in text.lower() and "inf" not in re.sub(r"inf\w", "", text.lower())


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_large_steps(count: int) -> None:
    row = by_rule(count)
    text = _html.page(picture_of(row))
    assert len(text.encode()) < 2_000_000
    reader = Reader(text)
    names = set(reader.texts)
    assert all(swap["tensor"] in names for swap in row["swaps"])
    (step,) = svgs(text)
    line = step.find(".//path[@id='before-line']")
    assert line is not None
    heights = path_heights(line.get("d", ""))
    assert len(heights) == 1000
    # The peak is drawn at its height, though each point stands for several operations.
    layout = reader.data["layout"]
    peak = max(point["unswapped_bytes"] for point in row["timeline"])
    tall = layout["device_bottom"] - layout["device_top"]
    wanted = layout["device_bottom"] - tall * peak / layout["device_largest"]
    assert min(heights) == pytest.approx(wanted, abs=0.06)
    assert len(step.findall(".//g[@class='bar']")) <= _style.MOST_BARS


def test_colours_of_style_and_page_agree() -> None:
    css = _html._asset("page.css")
    for colour in (
        _style.BEFORE,
        _style.AFTER,
        _style.HOST,
        _style.COPY_OUT,
        _style.COPY_IN,
        _style.AWAY,
    ):
        assert colour.lower() in css


def test_hills() -> None:
    assert _html.highest([1, 3, 3, 2, 5, 4, 4, 6], 10) == [7, 4, 1]
    assert _html.highest([1, 3, 3, 2, 5, 4, 4, 6], 2) == [7, 4]
    assert _html.highest([MIB], 2) == [0]
