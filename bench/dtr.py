# SPDX-License-Identifier: Apache-2.0
"""DTR's public curves of overhead against memory, and what plans made ahead reach there.

    python bench/dtr.py                          # four models, a table
    python bench/dtr.py --models lstm --json out.json

Published (Kirisame et al., ICLR 2021, raw data of its public prototype): milliseconds a step without
a limit and under budgets, on a 12 GB Titan V; of each budget also the time spent on making results
again, which the prototype counts apart. The rest of its overhead is its bookkeeping, which a plan made
ahead does not have and our simulation of DTR does not count.

What is assumed here, not measured:

- The graphs are those of the public model definitions, one node for each operation of PyTorch, with
  what its backward operations are known to keep. Views cost nothing, in-place activations make no
  buffer, sums of gradients are nodes of their own.
- An operation takes 5 us + the greater of FLOPs / (10 TFLOP/s) and bytes / (760 GB/s), scaled so that
  the step without a limit takes the published time.
- A budget stands for its part of the memory that the run without a limit used, as published, because
  the sizes of workspaces and of what an allocator rounds up are not known.
- The link is PCIe 3.0, 12 GB/s each way.

Left out: Inception-v4, the transformer, Tree-LSTM and unrolled GAN of the same data.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers

LINK_GB_PER_S = 12.0
LAUNCH_US = 5.0
FLOPS_PER_US = 10e6
BYTES_PER_US = 760e3

# No limit: ms, MB. Budgets in GB: ms a step, and of these ms of making results again.
PUBLISHED: dict[str, dict[str, Any]] = {
    "resnet1202": {
        "batch": 64,
        "ms": 723.0,
        "mb": 8908,
        "budgets": {8: (926.6, 6.9), 6: (974.3, 29.9), 4: (1026.6, 69.2), 2: (1064.7, 116.1)},
    },
    "lstm": {
        "batch": 256,
        "ms": 1412.3,
        "mb": 11123,
        "budgets": {10: (1735.0, 22.2), 8: (1768.9, 34.2), 6: (1826.3, 74.1), 4: (1996.6, 256.5)},
    },
    "densenet121": {
        "batch": 84,
        "ms": 343.7,
        "mb": 11028,
        "budgets": {10: (398.3, 9.9), 8: (420.6, 32.3), 6: (444.5, 57.3), 4: (520.5, 127.0)},
    },
    "unet": {
        "batch": 6,
        "ms": 418.7,
        "mb": 8419,
        "budgets": {8: (446.5, 5.7), 7: (455.5, 19.2), 6: (477.8, 37.3), 4: (531.2, 95.0)},
    },
}
POLICIES = ("dtr", "belady", "capuchin", "chen-greedy")


class Tape:
    """Forward operations as they are called; `problem` adds the loss and the backward ones.

    Tensors are numbered; a tensor's size is in numbers of 4 bytes.
    """

    def __init__(self, parameters: int = 0) -> None:
        self.parameters = parameters
        self.sizes: list[int] = []
        self.makers: list[int] = []  # by tensor; -1 = given
        self.ops: list[dict[str, Any]] = []

    def given(self, numbers: int) -> int:
        self.sizes.append(numbers)
        self.makers.append(-1)
        return len(self.sizes) - 1

    def op(
        self,
        inputs: Sequence[int],
        numbers: int,
        *,
        flops: float = 0,
        keeps: Sequence[int] = (),
        keeps_output: bool = False,
    ) -> int:
        """A new tensor; `keeps` are inputs that its backward operation reads."""
        out = self.given(numbers)
        self.makers[out] = len(self.ops)
        saved = [*keeps, *([out] if keeps_output else [])]
        self.ops.append({"inputs": list(inputs), "out": out, "flops": flops, "saved": saved})
        return out

    def linear(self, x: int, rows: int, inside: int, outside: int) -> int:
        flops = 2.0 * rows * inside * outside
        return self.op([x], rows * outside, flops=flops, keeps=[x])

    def map(self, *inputs: int) -> int:
        """A function of each number whose gradient needs its result only."""
        return self.op(inputs, self.sizes[inputs[0]], keeps_output=True)

    def add(self, a: int, b: int) -> int:
        return self.op([a, b], self.sizes[a])

    def multiply(self, a: int, b: int) -> int:
        return self.op([a, b], self.sizes[a], keeps=[a, b])

    def problem(self, total_us: float) -> dict[str, Any]:
        return _Training(self).problem(total_us)


class _Training:
    """The nodes of a step: forward, loss, backward from last to first."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.sizes = list(tape.sizes)
        self.makers = list(tape.makers)
        self.uses: list[list[int]] = [[] for _ in self.sizes]
        self.micros: list[float] = []
        for op in tape.ops:
            self.node(op["inputs"], [op["out"]], op["flops"])
        gradient = {tape.ops[-1]["out"]: self.make(tape.sizes[tape.ops[-1]["out"]])}
        self.node([tape.ops[-1]["out"]], list(gradient.values()), 0)
        for op in reversed(tape.ops):
            self.backward(op, gradient)

    def make(self, numbers: int) -> int:
        self.sizes.append(numbers)
        self.makers.append(-1)
        self.uses.append([])
        return len(self.sizes) - 1

    def node(self, inputs: Sequence[int], outputs: Sequence[int], flops: float) -> None:
        number = len(self.micros)
        for tensor in outputs:
            self.makers[tensor] = number
        moved = 0
        for tensor in {*inputs, *outputs}:
            moved += 4 * self.sizes[tensor]
            if tensor in inputs and self.makers[tensor] >= 0:
                self.uses[tensor].append(number)
        self.micros.append(LAUNCH_US + max(flops / FLOPS_PER_US, moved / BYTES_PER_US))

    def backward(self, op: dict[str, Any], gradient: dict[int, int]) -> None:
        incoming = gradient.get(op["out"])
        if incoming is None:
            return
        wanted = [t for t in dict.fromkeys(op["inputs"]) if self.tape.makers[t] >= 0]
        made = {t: self.make(self.sizes[t]) for t in wanted}
        self.node([incoming, *op["saved"]], list(made.values()), 2 * op["flops"])
        for tensor, new in made.items():
            if tensor in gradient:
                total = self.make(self.sizes[tensor])
                self.node([gradient[tensor], new], [total], 0)
                new = total
            gradient[tensor] = new

    def problem(self, total_us: float) -> dict[str, Any]:
        scale = total_us / sum(self.micros)
        given = sum(s for s, maker in zip(self.tape.sizes, self.tape.makers) if maker < 0)
        buffers = [
            {
                "size_bytes": 4 * self.sizes[tensor],
                "producer": self.makers[tensor],
                "uses": self.uses[tensor],
                "swappable": True,
                "recomputable": True,
            }
            for tensor in range(len(self.sizes))
            if self.makers[tensor] >= 0
        ]
        return {
            # Weights, their gradients and the batch.
            "persistent_bytes": 4 * (2 * self.tape.parameters + given),
            "ops": [{"time_us": max(1, round(m * scale)), "repeatable": True} for m in self.micros],
            "buffers": buffers,
        }


class Images:
    """Convolutional layers on a tape, for images of one batch."""

    def __init__(self, tape: Tape, batch: int, height: int, width: int, channels: int) -> None:
        self.tape = tape
        self.batch = batch
        self.shapes: dict[int, tuple[int, int, int]] = {}
        self.image = tape.given(batch * height * width * channels)
        self.shapes[self.image] = (height, width, channels)

    def _put(self, tensor: int, shape: tuple[int, int, int]) -> int:
        self.shapes[tensor] = shape
        return tensor

    def numbers(self, shape: tuple[int, int, int]) -> int:
        return self.batch * math.prod(shape)

    def conv(self, x: int, channels: int, kernel: int, stride: int = 1) -> int:
        height, width, inside = self.shapes[x]
        shape = (height // stride, width // stride, channels)
        self.tape.parameters += kernel * kernel * inside * channels
        flops = 2.0 * self.numbers(shape) * kernel * kernel * inside
        return self._put(self.tape.op([x], self.numbers(shape), flops=flops, keeps=[x]), shape)

    def norm(self, x: int) -> int:
        self.tape.parameters += 2 * self.shapes[x][2]
        return self._put(self.tape.op([x], self.tape.sizes[x], keeps=[x]), self.shapes[x])

    def relu(self, x: int) -> int:
        return self._put(self.tape.map(x), self.shapes[x])

    def norm_relu(self, x: int) -> int:
        """Normalisation and an activation in its place: one buffer, which both gradients need."""
        self.tape.parameters += 2 * self.shapes[x][2]
        out = self.tape.op([x], self.tape.sizes[x], keeps=[x], keeps_output=True)
        return self._put(out, self.shapes[x])

    def resized(self, x: int, height: int, width: int, *, keeps: bool = True) -> int:
        shape = (height, width, self.shapes[x][2])
        out = self.tape.op([x], self.numbers(shape), keeps=[x] if keeps else [])
        return self._put(out, shape)

    def concat(self, *tensors: int) -> int:
        height, width, _ = self.shapes[tensors[0]]
        shape = (height, width, sum(self.shapes[t][2] for t in tensors))
        return self._put(self.tape.op(tensors, self.numbers(shape)), shape)

    def add(self, a: int, b: int) -> int:
        return self._put(self.tape.add(a, b), self.shapes[a])

    def classes(self, x: int, count: int) -> int:
        pooled = self.resized(x, 1, 1, keeps=False)
        inside = self.shapes[pooled][2]
        self.tape.parameters += inside * count
        return self.tape.linear(pooled, self.batch, inside, count)


def resnet1202(batch: int) -> Tape:
    """ResNet-1202 for 32x32 images: three stages of 200 blocks, shortcuts by padding."""
    tape = Tape()
    net = Images(tape, batch, 32, 32, 3)
    x = net.relu(net.norm(net.conv(net.image, 16, 3)))
    for channels, first in ((16, 1), (32, 2), (64, 2)):
        for block in range(200):
            stride = first if block == 0 else 1
            y = net.relu(net.norm(net.conv(x, channels, 3, stride)))
            y = net.norm(net.conv(y, channels, 3))
            if stride > 1:
                shape = net.shapes[y]
                x = net._put(tape.op([x], net.numbers(shape)), shape)
            x = net.relu(net.add(y, x))
    net.classes(x, 10)
    return tape


def densenet121(batch: int) -> Tape:
    """DenseNet-121 as in torchvision, 224x224 pixels, concatenations kept."""
    tape = Tape()
    net = Images(tape, batch, 224, 224, 3)
    x = net.norm_relu(net.conv(net.image, 64, 7, 2))
    x = net.resized(x, 56, 56)
    for stage, layers in enumerate((6, 12, 24, 16)):
        features = [x]
        for _ in range(layers):
            y = net.concat(*features) if len(features) > 1 else x
            y = net.conv(net.norm_relu(y), 128, 1)
            features.append(net.conv(net.norm_relu(y), 32, 3))
        x = net.norm_relu(net.concat(*features))
        if stage < 3:
            x = net.conv(x, net.shapes[x][2] // 2, 1)
            x = net.resized(x, net.shapes[x][0] // 2, net.shapes[x][1] // 2, keeps=False)
    net.classes(x, 1000)
    return tape


def unet(batch: int) -> Tape:
    """The public PyTorch U-Net with bilinear upsampling, 608x416 pixels."""
    tape = Tape()
    net = Images(tape, batch, 608, 416, 3)

    def double(x: int, channels: int, middle: int = 0) -> int:
        x = net.norm_relu(net.conv(x, middle or channels, 3))
        return net.norm_relu(net.conv(x, channels, 3))

    levels = [double(net.image, 64)]
    for channels in (128, 256, 512, 512):
        height, width, _ = net.shapes[levels[-1]]
        levels.append(double(net.resized(levels[-1], height // 2, width // 2), channels))
    x = levels.pop()
    for channels in (256, 128, 64, 64):
        skip = levels.pop()
        height, width, _ = net.shapes[skip]
        x = net.concat(skip, net.resized(x, height, width, keeps=False))
        x = double(x, channels, net.shapes[x][2] // 2)
    net.conv(x, 1, 1)
    return tape


def lstm(length: int) -> Tape:
    """The prototype's own LSTM cell: rows of 512 numbers, 1,700 in memory, unrolled."""
    rows, inside, memory = 512, 512, 1700
    tape = Tape(4 * inside * memory + 4 * memory * memory)
    c, h = tape.given(memory), tape.given(memory)
    for step in range(length):
        x = tape.given(rows * inside)
        gates = tape.linear(x, rows, inside, 3 * memory)
        gates = tape.add(gates, tape.linear(c, rows if step else 1, memory, 3 * memory))
        i, o, u = (tape.op([gates], rows * memory, keeps_output=True) for _ in range(3))
        f = tape.multiply(
            tape.linear(x, rows, inside, memory), tape.linear(h, rows, memory, memory)
        )
        c = tape.add(tape.multiply(i, u), tape.map(f))
        h = tape.multiply(o, tape.map(c))
    return tape


MODELS: dict[str, Callable[[int], Tape]] = {
    "resnet1202": resnet1202,
    "lstm": lstm,
    "densenet121": densenet121,
    "unet": unet,
}


def measure(name: str, policies: Sequence[str]) -> dict[str, Any]:
    published = PUBLISHED[name]
    problem = MODELS[name](published["batch"]).problem(published["ms"] * 1000)
    parts = [f"{100 * gb * 1000 / published['mb']:.3f}%" for gb in published["budgets"]]
    with tempfile.TemporaryDirectory() as folder:
        (keep,) = peers.run(problem, ["100%"], ["keep-all"], Path(folder), order="given")
        rows = peers.run(
            problem, parts, policies, Path(folder), link_gb_per_s=LINK_GB_PER_S, order="given"
        )
    budgets = []
    for gb, (ms, again_ms) in published["budgets"].items():
        own, rows = rows[: len(policies)], rows[len(policies) :]
        budgets.append(
            {
                "gb": gb,
                "published": ms / published["ms"] - 1,
                "published_recompute": again_ms / published["ms"],
                "policies": {
                    row["policy"]: {
                        "fits": row["fits"],
                        "overhead": row["time_us"] / row["compute_us"] - 1,
                    }
                    for row in own
                },
            }
        )
    return {
        "nodes": len(problem["ops"]),
        "published_mb": published["mb"],
        "graph_mb": keep["peak_bytes"] / 1e6,
        "budgets": budgets,
    }


def report(results: dict[str, Any]) -> None:
    for name, result in results.items():
        print(
            f"{name}: {result['nodes']} nodes; memory without a limit {result['graph_mb']:.0f} MB, "
            f"published {result['published_mb']} MB"
        )
        for row in result["budgets"]:
            cells = [
                f"{policy} {100 * own['overhead']:.1f} %" + ("" if own["fits"] else " (no fit)")
                for policy, own in row["policies"].items()
            ]
            print(
                f"  {row['gb']:2} GB: published +{100 * row['published']:.1f} %, of it recompute "
                f"{100 * row['published_recompute']:.1f} %; simulated: {', '.join(cells)}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--policies", nargs="*", default=[*POLICIES, *peers.ours()])
    parser.add_argument("--json", type=Path, help="write the result here")
    args = parser.parse_args()
    results = {}
    for name in args.models:
        results[name] = measure(name, args.policies)
        report({name: results[name]})
        sys.stdout.flush()
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
