# SPDX-License-Identifier: Apache-2.0
"""Which plan is drawn: from the running plugin, or from files; and the report that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tflms._errors import TflmsError
from tflms._library import library
from tflms._report import Report, ReportList, report
from tflms.pictures._measured import Events, Measured, measure
from tflms.pictures._plan import Plan, device_number, parse_plans, read_json, read_plans


@dataclass(frozen=True)
class Picture:
    """All that a picture shows."""

    plan: Plan
    report: Report | None
    measured: tuple[Measured, ...]
    others: tuple[str, ...]  # titles of rewritten graphs that are not shown


def from_process(graph: str | None, device: str | None, events: Events | None) -> Picture:
    """The picture of a graph rewritten in this process.

    Raises:
        TflmsError: nothing was rewritten, or not the graph asked for; the message says why.
    """
    plans = parse_plans(library().plans())
    reports = report(history=True)
    if not plans:
        raise TflmsError(_why_nothing(reports))
    return make_picture(plans, reports, graph, device, events)


def from_file(
    path: str | Path,
    report_path: str | Path | None = None,
    graph: str | None = None,
    device: str | None = None,
    events: Events | None = None,
) -> Picture:
    """The picture of a plan in a file that the option ``dump_dir`` wrote.

    The report is taken from the file beside it when `report_path` is not given.

    Raises:
        TflmsError: a file cannot be read or is something else; or nothing was rewritten.
    """
    plans = read_plans(path)
    reports = _read_reports(path, report_path)
    if not plans:
        raise TflmsError(f"{path}: " + _why_nothing(reports))
    return make_picture(plans, reports, graph, device, events)


def make_picture(
    plans: Sequence[Plan],
    reports: Sequence[Report],
    graph: str | None,
    device: str | None,
    events: Events | None,
) -> Picture:
    """The picture of the plan asked for, or of the one with the largest peak without swaps."""
    plan = pick_plan(plans, graph, device)
    others = dict.fromkeys(p.title for p in plans if p.title != plan.title)
    measured = measure(events, device_number(plan.device))
    return Picture(plan, _report_of(plan, reports), tuple(measured), tuple(others))


def pick_plan(plans: Sequence[Plan], graph: str | None, device: str | None) -> Plan:
    """The plan of that graph and device; of several, the one with the largest peak, the last one.

    Raises:
        TflmsError: there is none; the message lists those that there are.
    """
    matching = [
        plan
        for plan in plans
        if (graph is None or plan.graph == graph)
        and (device is None or plan.device == device or plan.device.endswith(f":{device}"))
    ]
    if not matching:
        wanted = " on ".join(w for w in (graph or "any graph", device) if w)
        raise TflmsError(
            f"no plan of {wanted} is kept. Kept are: "
            + ", ".join(dict.fromkeys(plan.title for plan in plans))
            + " (the last 16 rewritten graphs)"
        )
    return max(reversed(matching), key=lambda plan: max(plan.unswapped))


def _report_of(plan: Plan, reports: Sequence[Report]) -> Report | None:
    """The report that the plan belongs to: the latest of that graph, device and peak."""
    peak = plan.running[plan.peak_after]
    same = [
        r
        for r in reports
        if r.outcome == "rewritten" and (r.graph, r.device) == (plan.graph, plan.device)
    ]
    return max(
        enumerate(same),
        key=lambda pair: (pair[1].peak_bytes_after == peak, pair[0]),
        default=(0, None),
    )[1]


def _read_reports(path: str | Path, report_path: str | Path | None) -> list[Report]:
    if report_path is None:
        path = Path(path)
        beside = path.with_name(path.name.replace(".plan.json", ".report.json"))
        if beside == path or not beside.is_file():
            return []
        report_path = beside
    rows = read_json(report_path)
    rows = rows if isinstance(rows, list) else [rows]
    try:
        return [Report.from_json(row) for row in rows]
    except (AttributeError, TypeError) as error:
        raise TflmsError(
            f"{report_path}: expected a report or a list of reports, as the option dump_dir writes "
            f"them: {error}"
        ) from error


def _why_nothing(reports: Sequence[Report]) -> str:
    text = "no graph was rewritten, so there is nothing to draw. "
    if not reports:
        return text + str(ReportList())
    return text + "; ".join(
        dict.fromkeys(f"{r.graph or 'graph'}: {r.outcome}: {r.reason}" for r in reports)
    )
