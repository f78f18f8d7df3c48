# SPDX-License-Identifier: Apache-2.0
"""A planning problem as `tflms plan --problem` writes it, and the bytes live at each operation.

The same as src/sim/problem.h and what PlannedMemory (src/sim/simulator.h) makes of it without swaps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Op:
    time_us: int
    workspace_bytes: int = 0
    on_device: bool = True
    repeatable: bool = False
    name: str = ""


@dataclass(frozen=True)
class Buffer:
    """One piece of device memory; its fields are those of ``ProblemBuffer`` in problem.h."""

    size_bytes: int
    producer: int
    uses: tuple[int, ...]
    live_at_end: bool = False
    swappable: bool = False
    recomputable: bool = False
    holds: tuple[int, ...] = ()
    may_reuse: tuple[int, ...] = ()
    tensor: str = ""


@dataclass(frozen=True)
class Problem:
    ops: Sequence[Op]
    buffers: Sequence[Buffer]
    order: Sequence[int]
    persistent_bytes: int = 0

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Problem:
        """A problem as ``tflms plan --problem`` writes it."""
        lists = ("uses", "holds", "may_reuse")

        def buffer_from(fields: Mapping[str, Any]) -> Buffer:
            values: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in fields.items()}
            return Buffer(**values)

        return cls(
            ops=[Op(**op) for op in row["ops"]],
            buffers=[buffer_from(buffer) for buffer in row["buffers"]],
            order=row["order"],
            persistent_bytes=row["persistent_bytes"],
        )


def takeovers(problem: Problem) -> list[int]:
    """By buffer: the one whose memory it takes over, -1 for none; as FindTakeovers does it."""
    position = positions(problem)
    giver_of, taken = [-1] * len(problem.buffers), set()
    for taker, buffer in enumerate(problem.buffers):
        for giver in buffer.may_reuse:
            other = problem.buffers[giver]
            last = max((position[use] for use in other.uses), default=-1)
            fits = other.size_bytes == buffer.size_bytes and not other.live_at_end
            if fits and giver not in taken and last == position[buffer.producer]:
                giver_of[taker] = giver
                taken.add(giver)
                break
    return giver_of


def positions(problem: Problem) -> list[int]:
    position = [0] * len(problem.ops)
    for place, op in enumerate(problem.order):
        position[op] = place
    return position


def live_bytes(problem: Problem, clones: bool) -> list[int]:
    """Bytes while the op at each position runs when nothing leaves.

    With ``clones``, an output lies in an input's memory wherever a plan with clones can have it so.
    """
    n = len(problem.order)
    position = positions(problem)
    delta = [0] * (n + 1)
    for buffer in problem.buffers:
        end = n - 1 if buffer.live_at_end else max(map(position.__getitem__, accesses(buffer)))
        delta[position[buffer.producer]] += buffer.size_bytes
        delta[end + 1] -= buffer.size_bytes
    live, at = [], problem.persistent_bytes
    for place, op in enumerate(problem.order):
        at += delta[place]
        live.append(at + problem.ops[op].workspace_bytes)
    givers: dict[int, set[int]] = defaultdict(set)
    takers: dict[int, list[int]] = defaultdict(list)
    for taker, giver in enumerate(takeovers(problem)):
        buffer = problem.buffers[taker]
        may_give = {giver} if giver >= 0 else set()
        if clones:
            may_give |= {
                other
                for other in buffer.may_reuse
                if problem.buffers[other].recomputable
                and problem.buffers[other].size_bytes == buffer.size_bytes
                and buffer.producer in problem.buffers[other].uses
            }
        if may_give:
            givers[buffer.producer] |= may_give
            takers[buffer.producer].append(buffer.size_bytes)
    for op, sizes in takers.items():
        for size in set(sizes):
            same = sum(problem.buffers[giver].size_bytes == size for giver in givers[op])
            live[position[op]] -= size * min(sizes.count(size), same)
    return live


def accesses(buffer: Buffer) -> list[int]:
    return [buffer.producer, *buffer.uses]
