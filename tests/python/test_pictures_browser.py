# SPDX-License-Identifier: Apache-2.0
"""The HTML report in a headless browser: no error, no request, no text over another, hover and zoom.

Skipped where there is no Chromium (or Chrome). A script is appended to a copy of the page; it acts
as a user would and leaves what it saw in the page, which the browser then prints.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from pictures_data import REAL, by_hand, by_rule, events_by_hand, picture_of
from tflms.pictures import _html, _source

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), ""
)
pytestmark = pytest.mark.skipif(not BROWSER, reason="no chromium here")

# What the browser asks its maker for by itself, whatever page it shows.
OWN_REQUEST = re.compile(r"[/. ](google|googleapis|gvt1|gstatic)\.com[:/]")

PROBE = """
<script>
const faults = [];
addEventListener("error", (event) => faults.push("error: " + event.message));
addEventListener("securitypolicyviolation", (event) => faults.push("blocked: " + event.blockedURI));
</script>
"""

ACT = """
<pre id="seen-by-test"></pre>
<script>
addEventListener("load", () => {
  const svg = document.getElementById("step");
  const box = svg.getBoundingClientRect();
  const scale = box.width / 1200;
  const data = JSON.parse(document.getElementById("data").textContent);
  const mouse = (kind, x, y) => {
    const at = { clientX: box.left + x * scale, clientY: box.top + y * scale, bubbles: true };
    const under = document.elementFromPoint(at.clientX, at.clientY);
    (svg.contains(under) ? under : svg).dispatchEvent(new MouseEvent(kind, at));
  };
  const tip = () => document.getElementById("tip").textContent;
  const paths = () => [...svg.querySelectorAll(".line")].map((path) => path.getAttribute("d"));
  const overlaps = (root) => {
    const found = [];
    const boxes = [...root.querySelectorAll("text")]
      .filter((text) => text.textContent && text.getBoundingClientRect().width > 0)
      .map((text) => [text.textContent, text.getBoundingClientRect()]);
    const frame = root.getBoundingClientRect();
    boxes.forEach(([text, a], i) => {
      if (a.left < frame.left || a.right > frame.right + 0.5) found.push("outside: " + text);
      if (a.top < frame.top || a.bottom > frame.bottom + 0.5) found.push("outside: " + text);
      for (const [other, b] of boxes.slice(i + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && tall > 2) found.push(text + " meets " + other);
      }
    });
    for (const text of root.querySelectorAll(".bar text")) {
      const label = text.getBoundingClientRect();
      const bar = text.parentNode.firstElementChild.getBoundingClientRect();
      const fits = label.left >= bar.left && label.right <= bar.right;
      if (text.textContent && !fits) found.push("wider than its bar: " + text.textContent);
    }
    return found;
  };
  const seen = { faults, paths: paths() };
  const middle = 64 + (1032 * (Math.floor(data.count / 2) + 0.5)) / data.count;
  mouse("mousemove", middle, 300);
  seen.operation = tip();
  const bar = svg.querySelector(".bar .away").getBoundingClientRect();
  mouse("mousemove", ((bar.left + bar.right) / 2 - box.left) / scale, ((bar.top + bar.bottom) / 2 - box.top) / scale);
  seen.swap = tip();
  seen.chosen = svg.querySelectorAll(".chosen").length;
  mouse("mouseleave", 5, 5);
  seen.overlaps = [...document.querySelectorAll("svg")].flatMap(overlaps);
  mouse("mousedown", 64 + 1032 / 4, 100);
  mouse("mousemove", 64 + 1032 / 2, 100);
  mouse("mouseup", 64 + 1032 / 2, 100);
  seen.zoomed = document.getElementById("seen").textContent;
  seen.zoomedPaths = paths();
  seen.zoomedOverlaps = overlaps(svg);
  document.getElementById("whole").click();
  seen.wholePaths = paths();
  seen.wholeLabel = document.getElementById("seen").textContent;
  seen.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
  document.getElementById("seen-by-test").textContent = JSON.stringify(seen);
});
</script>
</body>
"""


@pytest.fixture
def connections() -> Iterator[tuple[int, list[str]]]:
    """A port that stands in for the whole network, and the first lines of what was asked of it."""
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(5)
                    line = connection.recv(4096).decode(errors="replace").partition("\r")[0]
                    # Browsers also connect ahead of time, and then ask for nothing.
                    if line and not OWN_REQUEST.search(line):
                        asked.append(line)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], asked
        server.shutdown(socket.SHUT_RDWR)


def open_page(path: Path, proxy: int, hash_: str = "") -> tuple[str, list[str]]:
    """The page as it stands after its scripts have run, and what the console said."""
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        f"--proxy-server=127.0.0.1:{proxy}",
        f"--user-data-dir={path.parent / 'profile'}",
        "--window-size=1280,2400",
        "--enable-logging=stderr",
        "--virtual-time-budget=5000",
        "--dump-dom",
        path.as_uri() + hash_,
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    console = [line for line in result.stderr.splitlines() if ":CONSOLE" in line]
    return result.stdout, console


def act(text: str, folder: Path, proxy: int) -> tuple[dict[str, Any], list[str]]:
    path = folder / "page.html"
    probed = text.replace("</style>", "</style>" + PROBE, 1)
    head, _, tail = probed.rpartition("</body>")
    path.write_text(head + ACT + tail, encoding="utf-8")
    dom, console = open_page(path, proxy)
    found = re.search(r'<pre id="seen-by-test">(.*?)</pre>', dom, re.S)
    assert found and found.group(1), (console, dom[-2000:])
    seen: dict[str, Any] = json.loads(unescape(found.group(1)))
    return seen, console


def _evil() -> dict[str, Any]:
    row = by_hand()
    row["timeline"][3]["node"] = "</script><img src=x onerror=alert(1)>"
    row["swaps"][2]["tensor"] = "<b>&amp;</b>:0"
    return row


PICTURES = {
    "real": lambda: _source.from_file(REAL),
    "evil": lambda: picture_of(_evil(), {"<b>": events_by_hand(), "c" * 50: events_by_hand()}),
    "thousands": lambda: picture_of(by_rule(3000), events_by_hand()),
}


@pytest.mark.parametrize("case", PICTURES)
def test_as_a_user(case: str, tmp_path: Path, connections: tuple[int, list[str]]) -> None:
    picture = PICTURES[case]()
    port, asked = connections
    seen, console = act(_html.page(picture), tmp_path, port)
    assert (seen["faults"], console, seen["requests"], asked) == ([], [], [], [])
    assert seen["overlaps"] == []
    assert seen["zoomedOverlaps"] == []
    plan = picture.plan
    count = len(plan.points)
    head, name = seen["operation"].split("\n")[:2]
    place = int(head.replace("operation ", "").replace(",", ""))
    assert abs(place - count // 2) <= count / 1000  # the mouse is at whole pixels
    assert name == plan.points[place].node
    assert seen["swap"].split("\n")[0] in [swap.tensor for swap in plan.swaps]
    assert seen["chosen"] == 1
    zoomed = [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", seen["zoomed"])]
    wanted = [count / 4, count / 2] if count > 16 else [0, 5]  # no less than four operations
    assert zoomed == pytest.approx(wanted, abs=2 + count / 500)
    assert all(a != b for a, b in zip(seen["paths"], seen["zoomedPaths"]))
    assert (seen["wholePaths"], seen["wholeLabel"]) == (seen["paths"], "")


def lines_of(text: str) -> list[str]:
    """The curves of the step, as paths."""
    return re.findall(r'class="line [a-z]+" d="([^"]*)"', text)


@pytest.mark.parametrize("case", PICTURES)
def test_script_draws_what_the_page_came_with(
    case: str, tmp_path: Path, connections: tuple[int, list[str]]
) -> None:
    text = _html.page(PICTURES[case]())
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    dom, _ = open_page(path, connections[0])
    before, after = lines_of(text), lines_of(dom)
    assert len(before) == len(after) == 3
    for a, b in zip(before, after):
        first, second = (
            [float(number) for number in re.findall(r"[\d.]+", line)] for line in (a, b)
        )
        assert second == pytest.approx(first, abs=0.11)
    labels = [
        re.findall(
            r"<text[^>]*>([^<]*)</text>", t[t.index('<g id="bars"') : t.index('<g id="ticks"')]
        )
        for t in (text, dom)
    ]
    assert labels[0] == labels[1]


def test_address_can_name_a_part(tmp_path: Path, connections: tuple[int, list[str]]) -> None:
    path = tmp_path / "page.html"
    path.write_text(_html.page(_source.from_file(REAL)), encoding="utf-8")
    dom, console = open_page(path, connections[0], "#330-350")
    assert ", operations 330 to 350</span>" in dom
    assert console == []


def test_these_tests_would_notice(tmp_path: Path, connections: tuple[int, list[str]]) -> None:
    """A page that asks the network for something, and one whose script fails."""
    port, asked = connections
    path = tmp_path / "page.html"
    path.write_text('<img src="http://outside.invalid/a.png"/><script>nothing_here()</script>')
    _, console = open_page(path, port)
    assert asked == ["GET http://outside.invalid/a.png HTTP/1.1"]
    assert len([line for line in console if "nothing_here is not defined" in line]) == 1
    text = _html.page(picture_of(by_hand()))
    broken = text.replace("</h1>", '</h1><img src="http://outside.invalid/b.png"/>', 1)
    seen, _ = act(broken, tmp_path, port)
    assert seen["faults"] == ["blocked: http://outside.invalid/b.png"]
    assert len(asked) == 1
