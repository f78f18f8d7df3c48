# SPDX-License-Identifier: Apache-2.0
"""Random graphs and random Keras models, run with and without tflms and compared bit for bit.

Runs inside a child process that has a simulated GPU: ``python random_graphs.py '{"kind": "dags",
"seeds": [0, 50]}'`` prints one line of JSON. A graph is described by its seed alone, so that a
failure can be run again by itself.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

MARK = "tflms-random-result "
GPU, CPU = "/device:GPU:0", "/device:CPU:0"
FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int32", "int64")


def random_options(random: np.random.Generator, budget_bytes: int) -> dict[str, Any]:
    """Options that make tflms swap wherever it may, in one way or another."""
    options: dict[str, Any] = {"min_swap_bytes": 0, "log_level": "silent"}
    if random.random() < 0.5:
        options["budget_bytes"] = max(1, budget_bytes)
    else:
        options["swapout_threshold"] = int(random.integers(0, 6))
        options["budget_bytes"] = 1
    if random.random() < 0.5:
        options["swapin_ahead"] = int(random.integers(1, 4))
    if random.random() < 0.5:
        options["swapin_groupby"] = int(random.integers(0, 5))
    if random.random() < 0.3:
        options["sync_mode"] = int(random.integers(0, 2))
    options["trigger_strategy"] = str(
        random.choice(["planned", "planned", "direct-order", "chain-rule"])
    )
    return options


# ---- random DAGs --------------------------------------------------------------------------------


class Dag:
    """A random graph: five types, both devices, several outputs, control edges, double reads."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf = tf
        self.random = np.random.default_rng(seed)
        self.graph = tf.Graph()
        self.tensors: list[Any] = []
        self.feeds: dict[Any, np.ndarray] = {}
        self.size = int(self.random.choice([16, 64, 96]))
        with self.graph.as_default():
            for _ in range(int(self.random.integers(2, 5))):
                self.add_source()
            for _ in range(int(self.random.integers(8, 40))):
                self.add_operation()
            self.fetches = self.pick_fetches()

    def choose(self, items: Any) -> Any:
        return items[int(self.random.integers(len(items)))]

    def device(self) -> Any:
        return self.tf.device(GPU if self.random.random() < 0.8 else CPU)

    def some(self, types: tuple[str, ...]) -> Any:
        """A tensor of one of the types; one is made when there is none."""
        found = [t for t in self.tensors if t.dtype.name in types]
        if not found:
            self.add_source(self.choose(types))
            return self.tensors[-1]
        # Old tensors are read as often as new ones: that is what makes them worth swapping.
        return self.choose(found)

    def add_source(self, dtype: str | None = None) -> None:
        dtype = dtype or str(self.choose(FLOATS[:2] + INTEGERS[:1]))
        values = self.random.integers(-3, 4, (self.size, self.size)).astype(dtype)
        with self.device():
            # Fed, or else TensorFlow would compute the whole graph beforehand, as constants.
            source = self.tf.compat.v1.placeholder(dtype, values.shape)
            self.feeds[source] = values
            self.tensors.append(self.tf.identity(source))

    def add_operation(self) -> None:
        controls = [self.choose(self.tensors).op] if self.random.random() < 0.2 else []
        with self.device(), self.tf.control_dependencies(controls):
            self.tensors += self.choose(
                [self.unary, self.unary, self.binary, self.binary, self.twice, self.matmul,
                 self.split, self.cast, self.many, self.select]
            )()  # fmt: skip

    def unary(self) -> list[Any]:
        tf = self.tf
        function = self.choose([tf.tanh, tf.nn.relu, tf.square, tf.sin, tf.negative, tf.transpose])
        return [function(self.some(FLOATS))]

    def binary(self) -> list[Any]:
        tf = self.tf
        types = self.choose([("float32",), ("float64",), ("int32",), ("int64",)])
        function = self.choose([tf.add, tf.subtract, tf.maximum])
        return [function(self.some(types), self.some(types))]

    def twice(self) -> list[Any]:
        tensor = self.some(FLOATS + INTEGERS)
        return [self.tf.add(tensor, tensor)]

    def matmul(self) -> list[Any]:
        a, b = self.some(("float32",)), self.some(("float32",))
        return [self.tf.matmul(self.tf.tanh(a), self.tf.tanh(b))]

    def split(self) -> list[Any]:
        parts = self.tf.split(self.some(("float32", "float64")), 2, axis=0)
        return [self.tf.concat([parts[1], parts[0]], axis=0)]

    def cast(self) -> list[Any]:
        return [self.tf.cast(self.tf.tanh(self.some(FLOATS)) * 4, self.choose(FLOATS + INTEGERS))]

    def many(self) -> list[Any]:
        """AddN of whole numbers. TensorFlow's kernel adds in an order that depends on which of its
        inputs has no other reader left at that moment, so that with three or more fractions its
        own result differs from run to run."""
        tf = self.tf
        tensors = [self.some(("float32",)) for _ in range(int(self.random.integers(2, 5)))]
        return [tf.add_n([tf.round(4 * tf.tanh(tensor)) for tensor in tensors])]

    def select(self) -> list[Any]:
        a, b = self.some(("float32",)), self.some(("float32",))
        return [self.tf.where(a > b, a, b)]

    def pick_fetches(self) -> list[Any]:
        read = {t.ref() for op in self.graph.get_operations() for t in op.inputs}
        ends = [t for t in self.tensors if t.ref() not in read]
        return [*ends, self.choose(self.tensors)]


def run_dag(seed: int, tf: Any, tflms: Any, gpu: Any) -> dict[str, Any]:
    dag = Dag(tf, seed)
    from harness import session_config

    def run() -> list[np.ndarray]:
        with tf.compat.v1.Session(graph=dag.graph, config=session_config()) as session:
            return session.run(dag.fetches, dag.feeds)

    tflms.disable()
    gpu.reset_peak()
    base = gpu.stats().in_use_bytes
    plain = run()
    peak = gpu.stats().peak_in_use_bytes
    options = random_options(dag.random, base + (peak - base) * 2 // 3)
    return compare(seed, options, tflms, lambda: run(), plain)


# ---- random Keras models ------------------------------------------------------------------------


def keras_model(tf: Any, random: np.random.Generator) -> Any:
    """A functional model with branches and skips over images or over vectors."""
    layers = tf.keras.layers
    images = random.random() < 0.5
    size = int(random.choice([8, 16]))
    inputs = tf.keras.Input((size, size, 3) if images else (48,))
    width = int(random.choice([8, 16]))

    def block(x: Any) -> Any:
        if images:
            x = layers.Conv2D(width, int(random.choice([1, 3])), padding="same")(x)
            x = layers.BatchNormalization()(x) if random.random() < 0.5 else x
        else:
            x = layers.Dense(width * 4)(x)
            x = layers.LayerNormalization()(x) if random.random() < 0.5 else x
        x = layers.Activation(str(random.choice(["relu", "tanh", "gelu"])))(x)
        return layers.Dropout(0.1)(x) if random.random() < 0.2 else x

    tensors = [block(inputs)]
    for _ in range(int(random.integers(2, 9))):
        x = tensors[int(random.integers(len(tensors)))]
        kind = random.random()
        if kind < 0.25:
            x = layers.Add()([x, tensors[-1]])
        elif kind < 0.4:
            x = layers.Concatenate()([x, tensors[0]])
        else:
            x = tensors[-1]
        tensors.append(block(x))
    x = layers.Add()(tensors[-2:]) if random.random() < 0.5 else tensors[-1]
    x = layers.GlobalAveragePooling2D()(x) if images else x
    return tf.keras.Model(inputs, layers.Dense(5)(x))


def run_keras(seed: int, tf: Any, tflms: Any, gpu: Any) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    optimizer = str(random.choice(["sgd", "adam", "rmsprop"]))
    batch = int(random.choice([4, 32]))

    def run() -> list[np.ndarray]:
        """Builds the model anew, so that weights, optimizer and function start afresh."""
        tf.keras.backend.clear_session()
        tf.keras.utils.set_random_seed(seed)
        model = keras_model(tf, np.random.default_rng(seed + 1))
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, jit_compile=False)
        data = np.random.default_rng(seed + 2)
        x = data.standard_normal((batch, *model.input_shape[1:])).astype(np.float32)
        y = data.integers(0, 5, batch).astype(np.int32)
        losses = [np.asarray(model.train_on_batch(x, y)) for _ in range(3)]
        return losses + [np.asarray(w) for w in model.get_weights()]

    tflms.disable()
    gpu.reset_peak()
    base = gpu.stats().in_use_bytes
    plain = run()
    peak = gpu.stats().peak_in_use_bytes
    options = random_options(random, base + (peak - base) * 2 // 3)
    return compare(seed, options, tflms, run, plain)


# ---- both ---------------------------------------------------------------------------------------


def compare(
    seed: int, options: dict[str, Any], tflms: Any, run: Any, plain: list[np.ndarray]
) -> dict[str, Any]:
    """Runs again with tflms; what came out differently, and what was done to the graph."""
    tflms.enable(**options)
    try:
        swapped = run()
        error = ""
    except Exception as fault:
        swapped, error = [], f"{type(fault).__name__}: {str(fault)[:500]}"
    reports = tflms.report(history=True)
    tflms.disable()
    same = len(swapped) == len(plain) and all(
        a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(plain, swapped)
    )
    outcomes = sorted({r.outcome for r in reports})
    return {
        "seed": seed,
        "same": same,
        "error": error,
        "options": options,
        "outcomes": outcomes,
        "declined": [r.reason for r in reports if r.outcome == "declined"],
        "swapped_tensors": sum(r.swapped_tensors for r in reports),
    }


def main() -> None:
    import warnings

    import tflms

    import tensorflow as tf

    warnings.simplefilter("ignore")
    task = json.loads(sys.argv[1])
    gpu = tflms.simulate_gpu(1 << 30, wait_when_full=False)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    run = run_dag if task["kind"] == "dags" else run_keras
    results = []
    for seed in range(*task["seeds"]):
        results.append(run(seed, tf, tflms, gpu))
        if task.get("progress"):
            print(f"seed {seed}", file=sys.stderr, flush=True)
    print(MARK + json.dumps(results))


if __name__ == "__main__":
    main()
