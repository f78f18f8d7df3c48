# SPDX-License-Identifier: Apache-2.0
"""What tflms did to each graph, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tflms._format import format_bytes, format_count
from tflms._library import library


@dataclass(frozen=True)
class SkipCount:
    """Tensors that were not swapped for one reason."""

    reason: str
    tensors: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class RuleCount:
    """How often one rewriting rule changed the graph, and how often its conditions refused."""

    rule: str
    changes: int = 0
    refused: int = 0


@dataclass(frozen=True)
class CostCounts:
    """How many operations got their run time from where.

    Attributes:
        measured: by name, from the profile.
        by_shape: from the profile, by operation and shapes.
        by_formula: from shapes and the machine's figures.
        by_default: operations and shapes that no formula knows; ``defaulted`` names their types.
        scale: factor on formulas, from the profile.
    """

    measured: int = 0
    by_shape: int = 0
    by_formula: int = 0
    by_default: int = 0
    scale: float = 1.0
    defaulted: str = ""

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> CostCounts:
        """From the plugin's JSON; keys this version does not know are left out."""
        known = {f.name for f in fields(cls)}
        return cls(**{key: value for key, value in row.items() if key in known})


@dataclass(frozen=True)
class Report:
    """What tflms did to one graph on one accelerator. ``str()`` is readable.

    Sizes are in bytes and per run of the graph. Peaks are predictions; ``tflms.stats()`` has what
    the device measured.

    Attributes:
        graph: name of the graph or function.
        outcome: ``"rewritten"``, ``"not-needed"``, ``"nothing-to-swap"``, ``"already-done"`` or
            ``"declined"``.
        reason: one sentence.
        plan_source: where the plan comes from, ``"planner"``, ``"cache"`` or ``"file"``; ``""`` when
            none was made. ``plan_refused`` says why the plan file given was not used.
        device: the accelerator, in full; ``""`` when the graph has none.
        allocator_peak_bytes: predicted peak of the device allocator's own count, with rounding and
            with chunks larger than asked for, when copies are as slow as the plan allows.
        allocator_peak_fast_bytes: the same when copies take next to no time. The truth lies between.
        floor_bytes: no swapping gets the peak below this; ``floor_node`` is what needs it.
        order_bound_bytes: no order that keeps all tensors on the device gets the peak below this.
        time_bound_us: no plan in this order that keeps to the budget is faster.
        host_peak_bytes: predicted, of swapped tensors on the host at once; ``host_budget_bytes``
            is the most that it may be, 0 when there is no limit.
        device_needed_bytes, host_needed_bytes: when the budgets of device and host cannot both
            hold: the least found on the device within the host's, and what a plan within the
            device's needs on the host. Else 0.
        compiled_nodes: nodes in parts that XLA takes over, which no graph pass can reach.
        machine: whose figures the operations' run times are from; ``""``: each counts alike.
        compute_us: sum of the run times of the device's operations.
        step_us: predicted time of a run of the rewritten graph, one operation at a time; ``stall_us``
            is the part of it in which operations wait for copies.
        link_out_factor, link_in_factor, compute_factor: by what the rates of copies out and in, and the
            run times of operations, were corrected after earlier runs (measured / predicted); 1 for
            not at all. All other figures have that in them.
        costs: how many of them are measured, from formulas, or a default.
        skipped: tensors that were not swapped, by reason, largest first.
        rules: in running order.
        notes: further sentences, such as what to do about parts that XLA compiles.
    """

    graph: str = ""
    outcome: str = "declined"
    reason: str = ""
    device: str = ""
    planner: str = ""
    plan_source: str = ""
    plan_refused: str = ""
    nodes: int = 0
    nodes_added: int = 0
    control_edges_added: int = 0
    budget_bytes: int = 0
    persistent_bytes: int = 0
    peak_bytes_before: int = 0
    peak_bytes_after: int = 0
    allocator_peak_bytes: int = 0
    allocator_peak_fast_bytes: int = 0
    floor_bytes: int = 0
    floor_node: str = ""
    order_bound_bytes: int = 0
    time_bound_us: int = 0
    host_peak_bytes: int = 0
    host_budget_bytes: int = 0
    device_needed_bytes: int = 0
    host_needed_bytes: int = 0
    swapped_tensors: int = 0
    swap_out_bytes: int = 0
    swap_in_bytes: int = 0
    recomputed_tensors: int = 0
    recompute_bytes: int = 0
    recompute_time_us: int = 0
    split_operations: int = 0
    unknown_size_tensors: int = 0
    compiled_nodes: int = 0
    order_pinned: bool = False
    machine: str = ""
    compute_us: int = 0
    step_us: int = 0
    stall_us: int = 0
    link_out_factor: float = 1
    link_in_factor: float = 1
    compute_factor: float = 1
    costs: CostCounts = field(default_factory=CostCounts)
    time_us: int = 0
    skipped: tuple[SkipCount, ...] = ()
    rules: tuple[RuleCount, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Report:
        """A report from the plugin's JSON; keys this version does not know are left out."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in row.items() if key in known}
        values["skipped"] = tuple(SkipCount(**skip) for skip in row.get("skipped", ()))
        values["rules"] = tuple(RuleCount(**rule) for rule in row.get("rules", ()))
        values["costs"] = CostCounts.from_json(row.get("costs", {}))
        values["notes"] = tuple(row.get("notes", ()))
        return cls(**values)

    @property
    def fits(self) -> bool | None:
        """Whether the predicted peak keeps the budget; ``None`` when there is no budget."""
        if not self.budget_bytes:
            return None
        return self.peak_bytes_after <= self.budget_bytes

    def __str__(self) -> str:
        head = f"{self.graph or 'graph'}: {self.outcome}"
        if self.device:
            head += f" on {self.device}"
        lines = [head]
        if self.reason:
            lines.append(f"  {self.reason}")
        if self.outcome == "rewritten":
            lines += self._rewrite_lines()
        elif self.peak_bytes_before:
            lines.append(f"  predicted peak {format_bytes(self.peak_bytes_before)}")
        if self.machine:
            lines.append(self._cost_line())
        if (self.compute_factor, self.link_out_factor, self.link_in_factor) != (1, 1, 1):
            lines.append(
                f"  corrected for earlier runs: run times x {self.compute_factor:.2f}, rate of copies "
                f"out x {self.link_out_factor:.2f}, in x {self.link_in_factor:.2f}"
            )
        if self.skipped:
            lines.append(
                "  not swapped: "
                + ", ".join(
                    f"{skip.reason} {skip.tensors} ({format_bytes(skip.bytes)})"
                    for skip in self.skipped
                )
            )
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)

    def _cost_line(self) -> str:
        line = (
            f"  machine {self.machine}: {self.compute_us / 1e3:.1f} ms of operations; "
            f"{self.costs.measured} measured, {self.costs.by_shape} by shape, "
            f"{self.costs.by_formula} by formula, {self.costs.by_default} by default"
        )
        return f"{line}: {self.costs.defaulted}" if self.costs.defaulted else line

    def _rewrite_lines(self) -> list[str]:
        budget = format_bytes(self.budget_bytes) if self.budget_bytes else "not known"
        lines = [
            f"  predicted peak {format_bytes(self.peak_bytes_before)} -> "
            f"{format_bytes(self.peak_bytes_after)} (budget {budget}, "
            f"floor {format_bytes(self.floor_bytes)}"
            + (f" at {self.floor_node})" if self.floor_node else ")"),
            f"  {format_count(self.swapped_tensors, 'tensor')} swapped: "
            f"{format_bytes(self.swap_out_bytes)} out, {format_bytes(self.swap_in_bytes)} in, "
            f"host peak {format_bytes(self.host_peak_bytes)}"
            + (f" of {format_bytes(self.host_budget_bytes)}" if self.host_budget_bytes else ""),
            f"  {format_count(self.nodes, 'node')} + {self.nodes_added} added, "
            f"{format_count(self.control_edges_added, 'control edge')} added"
            + (", order pinned" if self.order_pinned else "")
            + (
                f", planned from the {self.plan_source}"
                if self.plan_source in ("cache", "file")
                else f", planner {self.planner}"
            )
            + f", {self.time_us / 1e6:.2f} s",
        ]
        if self.recomputed_tensors:
            lines.insert(
                2,
                f"  {format_count(self.recomputed_tensors, 'tensor')} made again: "
                f"{format_bytes(self.recompute_bytes)}",
            )
        if self.split_operations:
            lines.insert(2, f"  {format_count(self.split_operations, 'operation')} run in pieces")
        if self.step_us and self.time_bound_us:
            over = self.step_us / self.time_bound_us - 1
            lines.append(
                f"  step time {self.step_us / 1e3:.1f} ms predicted, {self.stall_us / 1e3:.1f} ms of "
                f"it waiting, {self.compute_us / 1e3:.1f} ms of compute; "
                f"within {100 * over:.1f} % of the bound for this order"
            )
        if self.fits is False:
            lines.append("  the plan does not fit the budget: try a smaller batch")
        return lines


def compiled_advice(nodes: int) -> str:
    """What to tell a user whose step is compiled by XLA."""
    return (
        f"{format_count(nodes, 'node')} compiled by XLA, out of reach of graph rewriting: "
        "use model.compile(..., jit_compile=False), tf.function(jit_compile=False), "
        "or the callback tflms.KerasCallback()"
    )


class ReportList(list[Report]):
    """Reports, oldest first; ``str()`` is readable."""

    def __str__(self) -> str:
        if not self:
            return (
                "tflms has seen no graph with a node on the accelerator yet. Graphs are seen when "
                "TensorFlow first runs them. Not seen are eager operations, functions that already "
                "ran before tflms.enable(), and functions compiled by XLA (jit_compile=True)."
            )
        return "\n".join(str(report) for report in self)

    @property
    def rewritten(self) -> ReportList:
        """Those of graphs that were changed."""
        return ReportList(r for r in self if r.outcome == "rewritten")


def report(*, history: bool = False) -> ReportList:
    """Reports of the graphs seen since the start or the last ``enable(...)``.

    TensorFlow hands over a graph several times, the later times with the changes already made, and
    traces a function anew when shapes change. By default the result holds one report for each
    graph, device and size: the latest one that decided something.

    Args:
        history: every report that was kept (at most 1,000), in the order they came.
    """
    reports = [Report.from_json(row) for row in library().reports()["reports"]]
    if history:
        return ReportList(reports)
    latest: dict[tuple[str, str, int], Report] = {}
    for entry in reports:
        if entry.outcome == "already-done":
            continue
        key = (entry.graph, entry.device, entry.nodes)
        latest.pop(key, None)
        latest[key] = entry
    return ReportList(latest.values())
