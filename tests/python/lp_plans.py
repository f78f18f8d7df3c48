# SPDX-License-Identifier: Apache-2.0
"""Every plan of a small problem and what it costs: what the fluid bound is held against.

A simulator of its own, after the comment of src/sim/simulator.cc and not after its code.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lp_problem import Buffer, Op, Problem, accesses, positions, takeovers


@dataclass(frozen=True)
class Swap:
    """One stay on the host, by places in the order; ``sync`` is None when nobody waits."""

    buffer: int
    leave: int
    back: int
    trigger: int
    sync: int | None


def random_problem(seed: int) -> Problem:
    """Three to six ops, or a chain forward and back, with what a bound may stumble over."""
    dice = random.Random(seed)
    training = dice.random() < 0.4
    forward = dice.randint(2, 3)
    count = 2 * forward if training else dice.randint(3, 6)
    ops = []
    reads: list[list[int]] = []
    for index in range(count):
        time_us = dice.randint(1, 6)
        ops.append(Op(time_us, dice.randint(0, 2), repeatable=dice.random() < 0.6))
        if training:
            mirror = count - 1 - index
            reads.append(([index - 1] if index else []) + ([mirror] if index >= forward else []))
        else:
            reads.append([dice.randrange(index) for _ in range(dice.randint(1, 3)) if index])
    buffers = []
    for index in range(count):
        uses = tuple(op for op in range(count) if index in reads[op] and op != index)
        held = tuple(use for use in uses if dice.random() < 0.1)
        buffers.append(
            Buffer(
                size_bytes=4 if dice.random() < 0.4 else dice.randint(1, 9),
                producer=index,
                uses=uses,
                live_at_end=dice.random() < 0.1,
                swappable=dice.random() < 0.85,
                recomputable=ops[index].repeatable and dice.random() < 0.85,
                holds=held,
                may_reuse=tuple(sorted(set(reads[index]))) if dice.random() < 0.3 else (),
            )
        )
    return Problem(ops, buffers, list(range(count)), dice.randint(0, 2))


def swap_plans(problem: Problem, most: int, seed: int) -> Iterator[list[Swap]]:
    """Sets of gaps with every trigger and sync; some choices are left out where they are many."""
    position = positions(problem)
    choices: list[list[Swap | None]] = []
    for index, buffer in enumerate(problem.buffers):
        touches = sorted(position[op] for op in accesses(buffer))
        held = max((position[op] for op in buffer.holds), default=-1)
        for leave, back in zip(touches, touches[1:]):
            if not buffer.swappable or held > leave:
                continue
            gap: list[Swap | None] = [None]
            for trigger in range(leave, back):
                for sync in (None, *range(leave + 1, trigger + 1)):
                    gap.append(Swap(index, leave, back, trigger, sync))
            choices.append(gap)
    dice = random.Random(seed)
    while math.prod(map(len, choices)) > most:
        widest = max(choices, key=len)
        del widest[dice.randrange(1, len(widest))]
    for plan in itertools.product(*choices):
        yield [swap for swap in plan if swap is not None]


def clone_problems(problem: Problem) -> Iterator[Problem]:
    """The problem with one op run again, for one of its buffers, at each place, read from there on."""
    place_of = positions(problem)
    clone = len(problem.ops)
    for index, buffer in enumerate(problem.buffers):
        if not (buffer.recomputable and problem.ops[buffer.producer].repeatable):
            continue
        for place in range(place_of[buffer.producer] + 1, len(problem.order)):
            moved = tuple(use for use in buffer.uses if place_of[use] >= place)
            if not moved:
                continue
            buffers = []
            for old in problem.buffers:
                uses = tuple(use for use in old.uses if old is not buffer or use not in moved)
                holds = tuple(op for op in old.holds if op in uses)
                if buffer.producer in uses:
                    holds += (clone,) if buffer.producer in holds else ()
                    uses += (clone,)
                buffers.append(replace(old, uses=uses, holds=holds))
            again = replace(
                buffer,
                producer=clone,
                uses=moved,
                live_at_end=False,
                holds=tuple(op for op in buffer.holds if op in moved),
            )
            new = len(buffers)
            buffers = [
                replace(
                    old,
                    may_reuse=tuple(
                        new if giver == index and old.producer in moved else giver
                        for giver in old.may_reuse
                    ),
                )
                for old in buffers
            ]
            order = [*problem.order[:place], clone, *problem.order[place:]]
            ops = [*problem.ops, problem.ops[buffer.producer]]
            yield Problem(ops, [*buffers, again], order, problem.persistent_bytes)


def simulate(
    problem: Problem, swaps: Sequence[Swap], out_rate: float, in_rate: float
) -> tuple[int, int]:
    """Peak and time of a plan on a machine with three lanes."""

    def copy_time(size: int, rate: float) -> int:
        return math.ceil(size / rate) if rate > 0 else 0

    position = positions(problem)
    swapped = {swap.buffer for swap in swaps}
    givers = set(takeovers(problem))
    out_free = in_free = now = 0
    out_end: dict[int, int] = {}
    arrival: dict[Swap, int] = {}
    events: list[tuple[int, int]] = []  # (time, bytes); frees sort before allocations
    for place, op in enumerate(problem.order):
        start = max([now, *(arrival[swap] for swap in swaps if swap.back == place)])
        start = max([start, *(out_end[swap.buffer] for swap in swaps if swap.sync == place)])
        now = start + problem.ops[op].time_us
        events += [
            (start, problem.ops[op].workspace_bytes),
            (now, -problem.ops[op].workspace_bytes),
        ]
        for index, buffer in enumerate(problem.buffers):
            size = buffer.size_bytes
            if buffer.producer == op:
                events.append((start, size))
                if index in swapped:
                    out_free = max(out_free, now) + copy_time(size, out_rate)
                    out_end[index] = out_free
            last = max(position[access] for access in accesses(buffer))
            if last == place and not buffer.live_at_end:
                events.append((start if index in givers else now, -size))
        for swap in swaps:
            size = problem.buffers[swap.buffer].size_bytes
            if swap.leave == place:
                events.append((max(now, out_end[swap.buffer]), -size))
            if swap.trigger == place:
                asked = max(now, out_end[swap.buffer])
                in_free = max(in_free, asked) + copy_time(size, in_rate)
                arrival[swap] = in_free
                events.append((asked, size))
    at = peak = problem.persistent_bytes
    for _, size in sorted(events):
        at += size
        peak = max(peak, at)
    return peak, now
