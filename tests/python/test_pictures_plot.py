# SPDX-License-Identifier: Apache-2.0
"""PNG and SVG: what they show, no text over another, and what is said without matplotlib."""

from __future__ import annotations

import struct
import sys
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pictures_data import REAL, by_hand, by_rule, events_by_hand, picture_of
from tflms import TflmsError, pictures
from tflms.pictures import _plot, _source


def svg_of(picture: _source.Picture, folder: Path) -> str:
    pytest.importorskip("matplotlib")
    path = folder / "a.svg"
    _plot.draw_picture(picture, path)
    return path.read_text(encoding="utf-8")


def texts_of(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]


def test_svg_says_what_the_plan_says(tmp_path: Path) -> None:
    picture = _source.from_file(REAL)
    svg = svg_of(picture, tmp_path)
    text = "\n".join(texts_of(svg))
    for place in (picture.plan.peak_before, picture.plan.peak_after):
        assert picture.plan.points[place].node in text
    for wanted in (
        "peak without swaps 51.1 MiB at operation 340",
        "peak with tflms 31.1 MiB at operation 339",
        "budget",
        "40.0 MiB",
        "39 stays of 25 tensors on the host",
        "sequential_1/dense_1/Relu:0, 4.0 MiB",
        "device memory, predicted",
        "host memory of swapped tensors, predicted",
    ):
        assert wanted in text, wanted
    assert "measured" not in text


def test_same_plan_same_svg(tmp_path: Path) -> None:
    picture = picture_of(by_hand())
    assert svg_of(picture, tmp_path) == svg_of(picture, tmp_path)


def test_names_are_no_markup(tmp_path: Path) -> None:
    row = by_hand()
    row["timeline"][2]["node"] = "$\\frac{a}$<&_{x}"
    row["graph"] = "$x^2$"
    texts = "\n".join(texts_of(svg_of(picture_of(row), tmp_path)))
    assert "$\\frac{a}$<&_{x}" in texts
    assert "$x^2$ on GPU:0" in texts


def test_measured_panels(tmp_path: Path) -> None:
    text = "\n".join(texts_of(svg_of(picture_of(by_hand(), events_by_hand()), tmp_path)))
    assert "measured, peak 30.0 MiB" in text
    assert "10.0 MiB out" in text
    assert "milliseconds from the begin of the log" in text
    logs = {"with": events_by_hand(), "without": events_by_hand()}
    path = pictures.plot_measured(
        tmp_path / "b.svg", logs, limit_bytes=20 << 20, limit_name="device", title="Two runs"
    )
    text = "\n".join(texts_of(path.read_text(encoding="utf-8")))
    for wanted in ("Two runs", "with, peak 30.0 MiB", "without, peak 30.0 MiB", "part of one step"):
        assert wanted in text
    assert "20.0 MiB" in text


def _drawn_texts(
    picture: _source.Picture, path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[str, Any]], Any]:
    """Every text as it was drawn, with its box; and the box of the picture."""
    from matplotlib.text import Text

    drawn: dict[int, tuple[str, Any]] = {}
    whole: list[Any] = []
    draw = Text.draw

    def keep(self: Any, renderer: Any, *args: Any, **kwargs: Any) -> None:
        if self.get_text() and self.get_visible():
            drawn[id(self)] = (self.get_text(), self.get_window_extent(renderer).frozen())
            whole[:] = [self.figure.bbox.frozen()]
        draw(self, renderer, *args, **kwargs)

    monkeypatch.setattr(Text, "draw", keep)
    _plot.draw_picture(picture, path)
    return list(drawn.values()), whole[0]


def _long_names() -> dict[str, Any]:
    row = by_rule(90)
    for point in row["timeline"]:
        point["node"] = "a_very_long_scope/" * 12 + point["node"]
    return row


CASES = {
    "by hand": lambda: picture_of(by_hand(), events_by_hand()),
    "real": lambda: _source.from_file(REAL),
    "long names": lambda: picture_of(_long_names()),
    "thousands": lambda: picture_of(
        by_rule(3000), {"a" * 40: events_by_hand(), "b": events_by_hand()}
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_no_text_over_another(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    boxes, inside = _drawn_texts(CASES[case](), tmp_path / "a.png", monkeypatch)
    assert len(boxes) > 25
    for text, box in boxes:
        assert box.x0 >= inside.x0 and box.x1 <= inside.x1, text
        assert box.y0 >= inside.y0 and box.y1 <= inside.y1, text
    for (one, a), (other, b) in combinations(boxes, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        tall = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert wide <= 1 or tall <= 2, f"{one!r} meets {other!r}"


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_large_steps(count: int, tmp_path: Path) -> None:
    svg = svg_of(picture_of(by_rule(count)), tmp_path)
    assert len(svg) < 1_000_000
    assert "are drawn" in "\n".join(texts_of(svg))


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.PNG"
    _plot.draw_picture(_source.from_file(REAL), path)
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    assert width == 1210 and height > 500


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.jpg: expected a name that ends in \.png or \.svg"):
        pictures.plot(tmp_path / "a.jpg")


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TflmsError, match=r"pip install matplotlib.*write_html"):
        pictures.plot(tmp_path / "a.png")
    with pytest.raises(TflmsError, match="pip install matplotlib"):
        pictures.plot_measured(tmp_path / "a.png", events_by_hand())
