# SPDX-License-Identifier: Apache-2.0
"""Checkmate's public setting: the largest batch on a 16 GB device, and what swapping adds to it.

    python bench/checkmate.py                        # all models, a table
    python bench/checkmate.py --models VGG19 --json out.json
    python bench/checkmate.py --write-layers         # layer table anew, from Keras

The setting (Jain et al., MLSys 2020, and its public artifact): a graph of Keras layers, each with one
backward node and a loss between them. A forward node costs its multiply-adds, a backward node twice
that; a result takes 4 bytes a number, that of a backward node as much as its layer's. A backward node
reads its layer's result, those of the layer's readers and their backward nodes' results. The device
has 16e9 bytes less those of the parameters, and at most one more forward pass may be run:
2 x forward + backward.

Part 1 runs the artifact's own schedules of VGG19 (stages, in which a checkpoint stays to the end and
gradients stay for their segment), to check how the setting is read. Its baselines come out as
published only when parameters and their gradients are taken off twice (16e9 - 4 x parameters x 4
bytes): the artifact's peaks hold them already when they are compared with a limit without them. Its
solver takes them off once. Both limits are kept apart below.

Part 2 gives the same graphs to the simulator of this project: peers' rules and our planners, which
may also swap over a stated link. The bound is the largest batch whose largest node, inputs and output
together, fits: no plan passes it without splitting a node.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers

LAYERS = Path(__file__).resolve().parent / "data" / "checkmate_layers.json"
DEVICE_BYTES = 16e9
# Multiply-adds a microsecond of a V100 at its peak (15.7 TFLOP/s): the least time to hide copies in.
MACS_PER_US = 7.85e6
LINK_GB_PER_S = 12.0
PUBLISHED = {
    "VGG19": {"keep-all": 167, "sqrt": 197, "greedy": 266, "checkmate": 289},
    "ResNet50": {"checkmate": 193},
    "MobileNet": {"checkmate": 1105},
    "U-Net": {"checkmate": 57},
    "FCN8": {"checkmate": 60},
    "SegNet": {"checkmate": 62},
}
POLICIES = ("chen-sqrt", "chen-greedy", "dtr", "belady", "capuchin")


class LayerGraph:
    """A layer table as a training graph, for a batch of 1; all sizes and costs grow with the batch.

    Nodes are numbered in running order: layers, the loss, backward nodes of the layers from last to
    first.
    """

    def __init__(self, table: dict[str, Any]) -> None:
        layers = table["layers"]
        self.parameters: int = table["parameters"]
        self.forward = len(layers)
        self.nodes = 2 * self.forward + 1
        self.bytes = [4 * layer["numbers"] for layer in layers]
        self.bytes += [4, *reversed(self.bytes)]
        self.costs = [layer["macs"] for layer in layers]
        self.costs += [0, *(2 * cost for cost in reversed(self.costs))]
        edges: set[tuple[int, int]] = set()
        for index, layer in enumerate(layers):
            for source in layer["inputs"]:
                edges |= {
                    (source, index),
                    (index, self.backward(source)),
                    (self.backward(index), self.backward(source)),
                }
            edges.add((index, self.backward(index)))
        edges |= {
            (self.forward - 1, self.forward),
            (self.forward, self.backward(self.forward - 1)),
        }
        self.inputs: list[list[int]] = [[] for _ in range(self.nodes)]
        self.readers: list[list[int]] = [[] for _ in range(self.nodes)]
        for source, reader in sorted(edges):
            self.inputs[reader].append(source)
            self.readers[source].append(reader)

    def backward(self, layer: int) -> int:
        return self.nodes - 1 - layer

    def limit(self, parameter_copies: int) -> float:
        """Bytes left for results when that many copies of the parameters are taken off."""
        return DEVICE_BYTES - parameter_copies * 4 * self.parameters

    def cost_limit(self) -> int:
        return sum(self.costs) + sum(self.costs[: self.forward])

    def working_set(self) -> int:
        return max(
            self.bytes[node] + sum(self.bytes[i] for i in self.inputs[node])
            for node in range(self.nodes)
        )

    def problem(self, batch: int) -> dict[str, Any]:
        """The problem file of peers_bench."""
        ops = [
            {"time_us": max(1, round(cost * batch / MACS_PER_US)), "repeatable": True}
            for cost in self.costs
        ]
        buffers = [
            {
                "size_bytes": self.bytes[node] * batch,
                "producer": node,
                "uses": self.readers[node],
                "swappable": True,
                "recomputable": True,
            }
            for node in range(self.nodes)
        ]
        return {"ops": ops, "buffers": buffers}


# ---- part 1: the artifact's schedules ------------------------------------------------------------


def kept(graph: LayerGraph, checkpoints: list[int]) -> list[set[int]]:
    """By stage: what is in memory when it starts, by the artifact's rule for fixed checkpoints."""
    nodes, forward = graph.nodes, graph.forward
    stages: list[set[int]] = [set(graph.inputs[stage]) for stage in range(nodes)]
    for source in range(forward, nodes):
        for reader in graph.readers[source]:
            for stage in range(source + 1, reader + 1):
                stages[stage].add(source)
    for stage in range(nodes):
        stages[stage] |= {c for c in checkpoints if c < stage}
    for start, end in zip([0, *checkpoints], [*checkpoints, forward + 1]):
        mirrored = [nodes - 1 - node for node in range(start, end)]
        for stage in [*mirrored, *range(start, min(end + 1, nodes))]:
            stages[stage] |= set(range(start, min(stage, end)))
        for mirror in [nodes - 1 - stage for stage in range(start, min(end + 1, nodes))]:
            gradients = {graph.backward(n) for n in range(start, min(end, forward))}
            stages[mirror] |= {g for g in gradients if g < mirror}
    return stages


def run_of_stage(graph: LayerGraph, stage: int, stages: list[set[int]]) -> set[int]:
    """What a stage runs: its node, what the next stage wants to find, and what those need."""
    here = stages[stage]
    runs = {stage}
    if stage + 1 < graph.nodes:
        runs |= stages[stage + 1] - here
    for node in range(stage, -1, -1):
        if node in runs:
            runs |= {i for i in graph.inputs[node] if i not in here}
    return runs


def play(graph: LayerGraph, checkpoints: list[int]) -> tuple[int, int]:
    """Peak bytes and cost of the schedule with these checkpoints."""
    stages = kept(graph, checkpoints)
    live: set[int] = set()
    used = peak = cost = 0
    for stage in range(graph.nodes):
        runs = run_of_stage(graph, stage, stages)
        following = stages[stage + 1] if stage + 1 < graph.nodes else set()
        later = {
            i: max((r for r in graph.readers[i] if r in runs), default=-1) for i in live | runs
        }
        for node in [n for n in live if n not in following and later[n] <= n]:
            live.remove(node)
            used -= graph.bytes[node]
        for node in sorted(runs):
            if node not in live:
                live.add(node)
                used += graph.bytes[node]
            peak = max(peak, used)
            cost += graph.costs[node]
            for done in {*graph.inputs[node], node}:
                if done in live and done not in following and later[done] <= node:
                    live.remove(done)
                    used -= graph.bytes[done]
    return peak, cost


def greedy_checkpoints(graph: LayerGraph, segment_bytes: float) -> list[int]:
    checkpoints, total = [], 0
    for node in range(graph.forward):
        total += graph.bytes[node]
        if total > segment_bytes:
            total = 0
            checkpoints.append(node)
    return checkpoints


def baselines(graph: LayerGraph) -> dict[str, int]:
    """Peak bytes for a batch of 1, by strategy; of the greedy sweep the least within the cost."""
    every = int(math.sqrt(graph.forward))
    spaced = [node for node in range(graph.forward) if (node + 1) % every == 0]
    peaks = {
        "keep-all": play(graph, list(range(graph.forward)))[0],
        "sqrt": play(graph, spaced)[0],
    }
    swept = [
        play(graph, greedy_checkpoints(graph, peaks["sqrt"] * step / 20)) for step in range(60)
    ]
    peaks["greedy"] = min(peak for peak, cost in swept if cost <= graph.cost_limit())
    return peaks


# ---- part 2: the simulator -----------------------------------------------------------------------


def largest(fits: Callable[[int], bool], high: int) -> int:
    """The largest batch up to `high` that fits, 0 when none does; by bisection."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def search(graph: LayerGraph, policy: str, copies: int, folder: Path) -> dict[str, Any]:
    """The largest batch of one policy, and what a step of it costs there."""
    budget = graph.limit(copies)
    rows: dict[int, dict[str, Any]] = {}

    def fits(batch: int) -> bool:
        problem = graph.problem(batch)
        (row,) = peers.run(
            problem, [budget], [policy], folder, link_gb_per_s=LINK_GB_PER_S, order="given"
        )
        rows[batch] = row
        forward = sum(op["time_us"] for op in problem["ops"][: graph.forward])
        return bool(row["fits"]) and row["time_us"] <= row["compute_us"] + forward

    batch = largest(fits, int(budget // graph.working_set()))
    row = rows.get(batch, {})
    result: dict[str, Any] = {"batch": batch}
    if batch and row:
        result["overhead"] = row["time_us"] / row["compute_us"] - 1
        result["recompute"] = row["recompute_us"] / row["compute_us"]
        result["swapped_bytes"] = row["out_bytes"]
    return result


def measure(name: str, table: dict[str, Any], policies: list[str]) -> dict[str, Any]:
    graph = LayerGraph(table)
    result: dict[str, Any] = {"published": PUBLISHED[name], "limits": {}}
    if name == "VGG19":
        peaks = baselines(graph)
        result["artifact"] = {
            copies: {rule: int(graph.limit(copies) // peak) for rule, peak in peaks.items()}
            for copies in (2, 4)
        }
    with tempfile.TemporaryDirectory() as folder:
        for copies in (2, 4):
            result["limits"][copies] = {
                "bound": int(graph.limit(copies) // graph.working_set()),
                "policies": {p: search(graph, p, copies, Path(folder)) for p in policies},
            }
    return result


# ---- the layer table -----------------------------------------------------------------------------


def report(results: dict[str, Any]) -> None:
    for name, result in results["models"].items():
        print(f"{name}: published {result['published']}")
        if "artifact" in result:
            for copies, batches in result["artifact"].items():
                print(f"  the artifact's schedules, {copies} copies of parameters off: {batches}")
        for copies, limit in result["limits"].items():
            print(f"  {copies} copies of the parameters off: bound {limit['bound']}")
            for policy, row in limit["policies"].items():
                more = ""
                if "overhead" in row:
                    more = (
                        f"  time +{100 * row['overhead']:.1f} %, recomputed "
                        f"{100 * row['recompute']:.1f} %, {row['swapped_bytes'] / 1e9:.1f} GB out"
                    )
                print(f"    {policy:16} {row['batch']:5}{more}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=list(PUBLISHED))
    parser.add_argument("--policies", nargs="*", default=[*POLICIES, *peers.ours()])
    parser.add_argument("--write-layers", action="store_true", help="make the layer table anew")
    parser.add_argument("--json", type=Path, help="write the result here")
    args = parser.parse_args()
    if args.write_layers:
        import checkmate_models

        LAYERS.parent.mkdir(exist_ok=True)
        LAYERS.write_text(checkmate_models.tables_text(), encoding="utf-8")
    tables = json.loads(LAYERS.read_text(encoding="utf-8"))
    results: dict[str, Any] = {"link_gb_per_s": LINK_GB_PER_S, "macs_per_us": MACS_PER_US}
    results["models"] = {m: measure(m, tables[m], args.policies) for m in args.models}
    report(results)
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
