#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bound T3: no plan in one order, within a budget, is faster than a linear program says.

    tflms plan step.pb --problem problem.json
    python bench/lp_bound.py problem.json --budget-bytes 4e9 --out-rate 12000 --in-rate 12000

Rates are bytes per microsecond (12000 is 12 GB/s); 0 is no limit. ``--recompute`` lets operations
run again. Needs ``highspy`` (HiGHS).

The program is a fluid one: parts of tensors may leave, come back and be made again. Time is cut at
the checked operations k = 0, 1, ...: slot ``op k`` is its run, slot ``seg k`` what lies before it,
with the operations that are not checked. Of each tensor x with a gap between two accesses:

    D[x,k]       part on the device at the start of op k
    H[x,k]       part copied to the host by then
    in, out      part copied in a slot;  again[u,k]: part of a run of u in seg k
    d[k] >= compute in seg k + sum again[u,k] c(u)      length of seg k; op k takes c(k)

    D[x,k+1] <= D[x,k] + in[x, op k] + in[x, seg k+1] + again     inside a gap; 1 at its end
    D[x,k] + H[x,k] + again until the gap's end >= 1              nothing is lost
    sum s(x) (D[x,k] + in[x, op k]) <= budget - the rest at k     memory while op k runs
    sum s(x) in[x, slot] <= in-rate * length of slot, and out alike

minimise sum d[k] + sum c(k). Every plan that `Simulate` (src/sim/simulator.h) runs within the budget
is a point of it, see docs/bounds.md. Rows and columns: O(sum of the lengths of gaps).
"""

from __future__ import annotations

import argparse
import bisect
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lp_problem import Buffer, Problem, accesses, live_bytes, positions

NO_PLAN = math.inf


@dataclass
class Rows:
    """A linear program in the making: minimise cost x, lower <= row x <= upper, 0 <= x <= bound."""

    cost: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)

    def column(self, cost: float = 0, floor: float = 0, bound: float = math.inf) -> int:
        self.cost.append(cost)
        self.floor.append(floor)
        self.bound.append(bound)
        return len(self.cost) - 1

    def row(self, terms: Iterable[tuple[int, float]], lower: float, upper: float) -> None:
        merged: dict[int, float] = defaultdict(float)
        for column, factor in terms:
            merged[column] += factor
        self.start.append(len(self.index))
        self.index.extend(merged)
        self.value.extend(merged.values())
        self.lower.append(lower)
        self.upper.append(upper)

    def solve(self) -> float:
        """The least cost, less what the solver's tolerances may make; infinite when infeasible."""
        import highspy
        import numpy as np

        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.cost), len(self.lower)
        lp.col_cost_ = np.array(self.cost)
        lp.col_lower_, lp.col_upper_ = np.array(self.floor), np.array(self.bound)
        lp.row_lower_, lp.row_upper_ = np.array(self.lower), np.array(self.upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array([*self.start, len(self.index)])
        lp.a_matrix_.index_ = np.array(self.index)
        lp.a_matrix_.value_ = np.array(self.value)
        highs.passModel(lp)
        highs.run()
        status = highs.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return NO_PLAN
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS: {highs.modelStatusToString(status)}")
        return float(highs.getInfo().objective_function_value)


@dataclass(frozen=True)
class Bound:
    time_us: float  # infinite: no plan in this order fits the budget
    compute_us: int
    rows: int = 0
    columns: int = 0
    seconds: float = 0


class FluidProgram:
    """The program of one problem. Bytes count in units of the largest buffer, time in parts of C."""

    def __init__(
        self,
        problem: Problem,
        budget_bytes: int,
        out_rate: float,
        in_rate: float,
        recompute: bool = False,
        checks: int | None = None,
    ) -> None:
        self.problem, self.recompute = problem, recompute
        self.position = positions(problem)
        self.lp = Rows()
        self.compute_us = sum(op.time_us for op in problem.ops if op.on_device)
        self.time_unit = max(self.compute_us, 1) / max(len(problem.order), 1)
        self.byte_unit = max((buffer.size_bytes for buffer in problem.buffers), default=1)
        live = live_bytes(problem, recompute)
        self.checked = self._choose(live, checks)
        self.room = [(budget_bytes - live[place]) / self.byte_unit for place in self.checked]
        self.memory: list[list[tuple[int, float]]] = [[] for _ in self.checked]
        # Copies by slot: 2k is seg k, 2k + 1 op k.
        slots = 2 * len(self.checked) + 1
        self.copies: dict[str, list[list[tuple[int, float]]]] = {
            "out": [[] for _ in range(slots)],
            "in": [[] for _ in range(slots)],
        }
        self.again: dict[tuple[int, int], int] = {}  # (op, seg) -> column
        self._add_lengths()
        for buffer in problem.buffers:
            self._add_buffer(buffer)
        self._add_memory()
        self._add_lane("out", out_rate)
        self._add_lane("in", in_rate)
        self._add_reruns()

    def _choose(self, live: Sequence[int], most: int | None) -> list[int]:
        """Positions that are checked: ops that take time and touch a buffer; the fullest if many.

        Leaving others out, like merging their time with what lies before, only widens the program.
        """
        touched = {op for buffer in self.problem.buffers for op in accesses(buffer)}
        places = [
            place
            for place, op in enumerate(self.problem.order)
            if self.problem.ops[op].on_device
            and self.problem.ops[op].time_us > 0
            and (op in touched or self.problem.ops[op].workspace_bytes > 0)
        ]
        if most is None or len(places) <= most:
            return places
        parts = [
            places[len(places) * part // most : len(places) * (part + 1) // most]
            for part in range(most)
        ]
        return [max(part, key=live.__getitem__) for part in parts]

    def _time(self, place: int) -> float:
        op = self.problem.ops[self.problem.order[place]]
        return op.time_us / self.time_unit if op.on_device else 0.0

    def _add_lengths(self) -> None:
        """Columns d, and the lengths of all slots as terms and a constant."""
        self.segment_compute = []
        begin = 0
        for place in [*self.checked, len(self.problem.order)]:
            self.segment_compute.append(sum(map(self._time, range(begin, place))))
            begin = place + 1
        self.length = [self.lp.column(1, compute) for compute in self.segment_compute]
        self.fixed = sum(map(self._time, self.checked))

    def _checked_between(self, begin: int, end: int) -> range:
        """Indices of the checked positions strictly between two."""
        first = bisect.bisect_right(self.checked, begin)
        return range(first, max(first, bisect.bisect_left(self.checked, end)))

    def _add_buffer(self, buffer: Buffer) -> None:
        touches = sorted(self.position[op] for op in accesses(buffer))
        reruns = self.recompute and buffer.recomputable
        last_hold = max((self.position[op] for op in buffer.holds), default=-1)
        size = buffer.size_bytes / self.byte_unit
        gaps = []  # the checked ops inside, and whether it may be swapped there
        for begin, end in zip(touches, touches[1:]):
            gap = self._checked_between(begin, end)
            # With clones, what holds a buffer may read another run's output.
            swaps = buffer.swappable and (last_hold <= begin or self.recompute)
            if gap and (swaps or reruns):
                gaps.append((gap, swaps))
        host: dict[int, int] = {}
        if any(swaps for _, swaps in gaps):
            host = self._add_copy_out(size, touches[0], max(gap[-1] for gap, s in gaps if s))
        for gap, swaps in gaps:
            self._add_gap(buffer, size, gap, host if swaps else {}, reruns)
        self._free_what_only_clones_read(buffer, size, touches[-1])

    def _add_copy_out(self, size: float, made: int, last: int) -> dict[int, int]:
        """Columns H of the ops from the producer to `last`, an index of a checked one."""
        first = bisect.bisect_right(self.checked, made)
        before = None
        host = {}
        for k in range(first, last + 1):
            slots = [2 * k] if k == first else [2 * k - 1, 2 * k]
            flows = [self.lp.column() for _ in slots]
            for slot, flow in zip(slots, flows):
                self.copies["out"][slot].append((flow, size))
            host[k] = self.lp.column(bound=1)
            terms = [(host[k], 1.0), *((flow, -1.0) for flow in flows)]
            if before is not None:
                terms.append((before, -1.0))
            self.lp.row(terms, -math.inf, 0)
            before = host[k]
        return host

    def _add_gap(
        self, buffer: Buffer, size: float, gap: range, host: Mapping[int, int], reruns: bool
    ) -> None:
        again = {
            k: self._again(buffer.producer, k) for k in range(gap[0] + 1, gap[-1] + 2) if reruns
        }
        device = [self.lp.column(bound=1) for _ in gap]
        for k, at in zip(gap, device):
            self.room[k] += size  # it is no longer among what must be there
            self.memory[k].append((at, size))
            sources = [(again[k + 1], 1.0)] if reruns else []
            if host:
                for slot in (2 * k + 1, 2 * k + 2):
                    flow = self.lp.column()
                    self.copies["in"][slot].append((flow, size))
                    sources.append((flow, 1.0))
                    if slot == 2 * k + 1:
                        self.memory[k].append((flow, size))
            if k == gap[-1]:
                self.lp.row([(at, 1.0), *sources], 1, math.inf)
            else:
                after = device[k + 1 - gap[0]]
                terms = [(at, 1.0), (after, -1.0), *sources]
                self.lp.row(terms, 0, math.inf)
            kept = [(at, 1.0), *((again[j], 1.0) for j in again if j > k)]
            if k in host:
                kept.append((host[k], 1.0))
            self.lp.row(kept, 1, math.inf)

    def _again(self, op: int, segment: int) -> int:
        if (op, segment) not in self.again:
            self.again[op, segment] = self.lp.column()
        return self.again[op, segment]

    def _free_what_only_clones_read(self, buffer: Buffer, size: float, last: int) -> None:
        """A fetched buffer may be away until the clone of a reader comes: it need not count."""
        reread = any(self.problem.ops[op].repeatable for op in buffer.uses)
        if self.recompute and buffer.live_at_end and buffer.swappable and reread:
            for k in range(bisect.bisect_right(self.checked, last), len(self.checked)):
                self.room[k] += size

    def _add_memory(self) -> None:
        for room, terms in zip(self.room, self.memory):
            self.lp.row(terms, -math.inf, room)

    def _add_lane(self, name: str, bytes_per_us: float) -> None:
        if bytes_per_us <= 0:
            return
        rate = bytes_per_us * self.time_unit / self.byte_unit
        for slot, terms in enumerate(self.copies[name]):
            if not terms:
                continue
            scaled = [(column, factor / rate) for column, factor in terms]
            if slot % 2:
                self.lp.row(scaled, -math.inf, self._time(self.checked[slot // 2]))
            else:
                self.lp.row([*scaled, (self.length[slot // 2], -1.0)], -math.inf, 0)

    def _add_reruns(self) -> None:
        by_segment: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for (op, segment), column in self.again.items():
            by_segment[segment].append((column, -self.problem.ops[op].time_us / self.time_unit))
        for segment, terms in by_segment.items():
            terms.append((self.length[segment], 1.0))
            self.lp.row(terms, self.segment_compute[segment], math.inf)

    def solve(self) -> Bound:
        begin = time.perf_counter()
        least = (self.lp.solve() + self.fixed) * self.time_unit
        return Bound(
            time_us=least,
            compute_us=self.compute_us,
            rows=len(self.lp.lower),
            columns=len(self.lp.cost),
            seconds=time.perf_counter() - begin,
        )


def fluid_bound(
    problem: Problem,
    budget_bytes: int,
    out_rate: float,
    in_rate: float,
    recompute: bool = False,
    checks: int | None = None,
) -> Bound:
    """Bound T3 of plans that swap, and recompute if so asked, in the problem's order.

    Args:
        budget_bytes: what the peak keeps to.
        out_rate: bytes per microsecond to the host, ``in_rate`` back; 0 is no limit.
        checks: look at memory at so many operations only: faster, and still a bound.
    """
    return FluidProgram(problem, budget_bytes, out_rate, in_rate, recompute, checks).solve()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The fluid bound on the time of a step.")
    parser.add_argument("problem", type=Path, help="what `tflms plan --problem` wrote")
    parser.add_argument("--index", type=int, default=0, help="which problem of the file")
    parser.add_argument("--budget-bytes", type=float, required=True)
    parser.add_argument(
        "--out-rate", type=float, default=0, help="bytes per microsecond; 0: no limit"
    )
    parser.add_argument(
        "--in-rate", type=float, default=0, help="bytes per microsecond; 0: no limit"
    )
    parser.add_argument("--recompute", action="store_true", help="operations may run again")
    parser.add_argument(
        "--checks", type=int, default=60, help="look at so many operations; 0: all, slow over 200"
    )
    given = parser.parse_args(arguments)
    rows = json.loads(given.problem.read_text())["problems"]
    problem = Problem.from_json(
        {k: v for k, v in rows[given.index].items() if k not in ("graph", "device")}
    )
    bound = fluid_bound(
        problem,
        int(given.budget_bytes),
        given.out_rate,
        given.in_rate,
        given.recompute,
        given.checks or None,
    )
    fits = bound.time_us != NO_PLAN
    print(f"compute        {bound.compute_us} us")
    print(f"bound T3       {f'{bound.time_us:.0f} us' if fits else 'no plan in this order fits'}")
    print(f"program        {bound.rows} rows, {bound.columns} columns, {bound.seconds:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
