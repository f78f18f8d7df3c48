# SPDX-License-Identifier: Apache-2.0
"""Pictures of a file with a plan or a curve: ``python -m tflms.pictures PLAN.json -o out.html``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tflms._errors import TflmsError
from tflms.pictures import _budget, _html, _plot, _source, _trace
from tflms.pictures._plan import read_json

_KINDS = (".html", ".json", ".png", ".svg")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tflms.pictures",
        description="Draws a plan that the option dump_dir (*.plan.json) or `tflms plan -o` wrote: "
        "memory over one step on device and host, with and without swaps. Or a curve that "
        "`tflms curve -o` wrote, as .svg or .html.",
        epilog="Exit status: 0 done; 1 the plan cannot be drawn, with one line that says why; "
        "2 wrong arguments.",
    )
    parser.add_argument("plan", metavar="PLAN.json", type=Path)
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        type=Path,
        action="append",
        required=True,
        help="what to write, by its suffix: .html a page that opens offline, .png or .svg a picture "
        "(needs matplotlib), .json a trace for Perfetto; may be given several times",
    )
    parser.add_argument("--graph", help="name of the graph; default: the one with the largest peak")
    parser.add_argument("--device", help="its accelerator, such as GPU:1")
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        help="the report that goes with it; default: the *.report.json beside the plan",
    )
    parser.add_argument(
        "--events",
        metavar="[LABEL=]FILE",
        action="append",
        default=[],
        help="adds what was measured: events of the simulated GPU's log, as a JSON list",
    )
    return parser


def _read_events(words: list[str]) -> dict[str, Any] | None:
    events = {}
    for word in words:
        label, _, path = word.rpartition("=")
        rows = read_json(path)
        if not isinstance(rows, list):
            raise TflmsError(f"{path}: expected a list of events, found {type(rows).__name__}")
        events[label or "measured"] = rows
    return events or None


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = _parser()
    args = parser.parse_args(arguments)
    for out in args.out:
        if out.suffix.lower() not in _KINDS:
            parser.error(f"{out}: expected a name that ends in {', '.join(_KINDS)}")
    try:
        if _budget.is_curve_file(read_json(args.plan)):
            for out in args.out:
                _budget.draw_curve(args.plan, args.graph, args.device, out)
            return 0
        events = _read_events(args.events)
        picture = _source.from_file(args.plan, args.report, args.graph, args.device, events)
        for out in args.out:
            _write(picture, out)
    except (TflmsError, OSError) as error:
        print(f"tflms.pictures: {error}", file=sys.stderr)
        return 1
    return 0


def _write(picture: _source.Picture, out: Path) -> None:
    kind = out.suffix.lower()
    if kind == ".html":
        out.write_text(_html.page(picture), encoding="utf-8")
    elif kind == ".json":
        out.write_text(_trace.trace_text(picture), encoding="utf-8")
    else:
        _plot.draw_picture(picture, out)


if __name__ == "__main__":
    sys.exit(main())
