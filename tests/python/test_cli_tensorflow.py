# SPDX-License-Identifier: Apache-2.0
"""The command ``tflms`` on what TensorFlow makes: SavedModels, text files, graphs without shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import ok, run

from scripts import run_ok

# A model with a training signature (forward and backward) and a serving one.
MODEL = """
import tensorflow as tf

class Model(tf.Module):
    def __init__(self):
        self.layers = [
            tf.Variable(tf.random.stateless_normal([128, 128], [1, i]) * 0.1) for i in range(6)
        ]

    def forward(self, x):
        for w in self.layers:
            x = tf.nn.tanh(x @ w)
        return x

    @tf.function(input_signature=[tf.TensorSpec([512, 128], tf.float32, name="x")])
    def train(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.forward(x) ** 2)
        for w, g in zip(self.layers, tape.gradient(loss, self.layers)):
            w.assign_sub(0.5 * g)
        return {"loss": loss}

    @tf.function(input_signature=[tf.TensorSpec([None, 128], tf.float32, name="x")])
    def serve(self, x):
        top = tf.math.top_k(self.forward(x), 3)
        return {"values": top.values, "indices": top.indices}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SavedModel, and beside it a GraphDef without shapes in both formats."""
    folder = tmp_path_factory.mktemp("model")
    run_ok(
        MODEL
        + f"""
model = Model()
signatures = {{"train": model.train, "serve": model.serve}}
tf.saved_model.save(model, {str(folder / "saved")!r}, signatures=signatures)
graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [512, 128], name="x")
    h = x
    for i in range(6):
        h = tf.nn.tanh(h @ tf.constant(1 / (i + 2), shape=[128, 128]), name=f"layer{{i}}")
    tf.gradients(tf.reduce_sum(h, name="loss"), x, name="gradients")
definition = graph.as_graph_def()
tf.io.write_graph(definition, {str(folder)!r}, "graph.pb", as_text=False)
tf.io.write_graph(definition, {str(folder)!r}, "graph.pbtxt", as_text=True)
"""
    )
    return folder


def test_signatures_give_equal_results_after_rewrite(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "rewritten"
    text = ok("rewrite", model / "saved", "-o", out, "--budget-bytes", "1.5MiB",
              "--min-swap-bytes", "1024", "--batch-size", "4")  # fmt: skip
    assert "__inference_train" in text
    assert ": rewritten: tensors that are far" in text
    printed = run_ok(
        f"""
        import numpy as np, tensorflow as tf
        x = tf.random.stateless_normal([512, 128], [7, 7])
        results = []
        for folder in ({str(model / "saved")!r}, {str(out)!r}):
            loaded = tf.saved_model.load(folder)
            nodes = loaded.signatures["train"].graph.as_graph_def().library.function
            print(sum(n.name.startswith("tflms/") for f in nodes for n in f.node_def) > 0)
            step = [loaded.signatures["train"](x=x)["loss"].numpy() for _ in range(3)]
            served = loaded.signatures["serve"](x=x[:5])
            results.append(step + [served["values"].numpy(), served["indices"].numpy()])
        assert len(set(map(float, results[0][:3]))) == 3  # it does train
        print(all(a.tobytes() == b.tobytes() for a, b in zip(*results)))
        """
    )
    assert printed.split() == ["False", "True", "True"]
    assert (out / "variables" / "variables.index").is_file()


def test_verify_runs_both(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "rewritten"
    ok("rewrite", model / "saved", "-o", out, "--budget-bytes", "1.5MiB", "--min-swap-bytes",
       "1024", "--batch-size", "4")  # fmt: skip
    text = ok("verify", model / "saved", out, "--run")
    assert text.endswith("run: every result is the same, bit for bit\n")


def test_a_graph_without_shapes_gets_them(model: Path, tmp_path: Path) -> None:
    graph = model / "graph.pb"
    assert "unknown sizes" in ok("inspect", graph, "--no-infer-shapes")
    assert "unknown sizes" not in ok("inspect", graph)
    out = tmp_path / "out.pb"
    ok("rewrite", graph, "-o", out, "--budget-bytes", "2MiB", "--min-swap-bytes", "1024")
    content = out.read_bytes()
    assert b"tflms/" in content
    assert b"_output_shapes" not in content  # they were for planning only
    assert ok("verify", graph, out, "--run").endswith("bit for bit\n")


def test_text_format_goes_in_and_comes_out(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pbtxt"
    ok("rewrite", model / "graph.pbtxt", "-o", out, "--budget-bytes", "2MiB", "--min-swap-bytes",
       "1024")  # fmt: skip
    text = out.read_text()
    assert text.startswith("node {")
    assert 'name: "tflms/' in text
    assert "rest of the file: the same" in ok("verify", model / "graph.pbtxt", out)


def test_a_result_that_differs_is_seen(model: Path, tmp_path: Path) -> None:
    printed = run_ok(
        f"""
        from pathlib import Path
        import tensorflow as tf
        from tflms import _cli_run
        path = {str(model / "graph.pb")!r}
        definition = tf.compat.v1.GraphDef.FromString(Path(path).read_bytes())
        for node in definition.node:
            if node.name == "layer3":
                node.op = "Sigmoid"
        other = {str(tmp_path / "other.pb")!r}
        Path(other).write_bytes(definition.SerializeToString())
        print(_cli_run.compare(path, path, ["loss"], 0), _cli_run.compare(path, other, ["loss"], 0))
        """
    )
    assert printed.strip() == "[] ['loss:0: differs']"


def test_text_that_is_no_graph(tmp_path: Path) -> None:
    path = tmp_path / "graph.pbtxt"
    path.write_text("node {\n  nonsense: 1\n}\n")
    result = run("inspect", path)
    assert result.returncode == 3
    assert "nonsense" in result.stderr
