# SPDX-License-Identifier: Apache-2.0
"""enable(), disable(), statistics, the environment and Keras, each in a process of its own."""

from __future__ import annotations

from scripts import run_ok, run_script

# A step whose activations are far larger than its weights, on a device that cannot hold them.
STEP = """
import tensorflow as tf

def make_step():
    with tf.device("/device:GPU:0"):
        x = tf.random.stateless_normal((2048, 128), [1, 2])
        matrices = [tf.Variable(tf.random.stateless_normal((128, 128), [3, i], stddev=0.08))
                    for i in range(12)]

    def step(x):
        with tf.GradientTape() as tape:
            y = x
            for matrix in matrices:
                y = tf.tanh(y @ matrix)
            loss = tf.reduce_mean(tf.square(y))
        for matrix, gradient in zip(matrices, tape.gradient(loss, matrices)):
            matrix.assign_sub(0.1 * gradient)
        return loss

    function = tf.function(step, **FUNCTION)

    def run():
        with tf.device("/device:GPU:0"):
            return float(function(x)).hex()

    return run
"""


def script(body: str, function: str = "{}") -> str:
    return f"FUNCTION = {function}\n{STEP}\n{body}"


SMALL = 12 << 20
BIG = 256 << 20


def test_enable_then_disable() -> None:
    """What is traced after disable() comes as it is; reports stay; enable() again works."""
    out = run_ok(
        script(
            f"""
import warnings; warnings.simplefilter("ignore")
import tflms
gpu = tflms.simulate_gpu({BIG})
print(tflms.is_enabled())
plain = make_step()()
tflms.enable(budget_bytes={SMALL})
print(tflms.is_enabled())
print(make_step()() == plain, len(tflms.report().rewritten))
tflms.disable()
seen = tflms.stats().graphs_seen
print(tflms.is_enabled())
before = gpu.stats().copied_out_bytes
print(make_step()() == plain, gpu.stats().copied_out_bytes - before < 1000)
print(tflms.stats().graphs_seen == seen, len(tflms.report().rewritten))
tflms.enable(budget_bytes={SMALL})
print(make_step()() == plain, len(tflms.report().rewritten))
"""
        )
    )
    assert out.split("\n")[:7] == [
        "False",
        "True",
        "True 1",
        "False",
        "True True",
        "True 1",
        "True 1",
    ]


def test_functions_that_ran_before_are_left_and_warned_about() -> None:
    out = run_ok(
        script(
            f"""
import warnings
import tflms
gpu = tflms.simulate_gpu({BIG})
early = make_step()
early()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tflms.enable(budget_bytes={SMALL})
print([str(w.message) for w in caught if "traced before tflms.enable()" in str(w.message)] != [])
early()
print(len(tflms.report().rewritten))
make_step()()
print(len(tflms.report().rewritten))
"""
        )
    )
    assert out.split() == ["True", "0", "1"]


def test_budget_is_the_simulated_gpus_limit() -> None:
    out = run_ok(
        f"""
        import tflms
        tflms.simulate_gpu({SMALL})
        tflms.enable()
        print(tflms.options()["budget_bytes"].value)
        tflms.enable(budget_bytes=7)
        print(tflms.options()["budget_bytes"].value)
        """
    )
    assert out.split() == [str(SMALL), "7"]


def test_bad_value_leaves_tflms_off() -> None:
    result = run_script("import tflms; tflms.enable(sync_mode=9)")
    assert result.returncode != 0
    assert "ValueError" in result.stderr
    assert "option sync_mode: expected" in result.stderr


def test_unknown_option_is_an_error() -> None:
    result = run_script("import tflms; tflms.enable(budget=1)")
    assert result.returncode != 0
    assert "TypeError" in result.stderr


def test_enable_starts_no_device_and_keeps_settings() -> None:
    """Memory growth and visible devices set before enable() are still there after it."""
    out = run_ok(
        """
        import tensorflow as tf
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        import tflms
        tflms.enable(device_type="CPU")
        from tensorflow.python.eager import context
        print(context.context()._initialized)
        print(len(tf.config.list_logical_devices("CPU")))
        """
    )
    assert out.split() == ["False", "2"]


def test_two_device_types_in_one_process() -> None:
    out = run_ok(
        script(
            f"""
import tflms
tflms.simulate_gpu({BIG})
tflms.enable(device_type="XPU")
tflms.enable(budget_bytes={SMALL})
make_step()()
print(len(tflms.report().rewritten))
"""
        )
    )
    assert out.split() == ["1"]


def test_statistics() -> None:
    out = run_ok(
        script(
            f"""
import tflms
print(tflms.stats().devices)
gpu = tflms.simulate_gpu({SMALL})
tflms.enable()
run = make_step()
run()
first = tflms.stats()
run()
second = tflms.stats()
gpu0 = second.device("GPU:0")
print(first.enabled, second.graphs_rewritten, second.nodes_added > 0)
print(gpu0.limit_bytes == {SMALL}, 0 < gpu0.in_use_bytes < gpu0.peak_bytes <= {SMALL})
moved = gpu0.copied_out_bytes - first.device().copied_out_bytes
print(0 <= moved - second.planned_swap_out_bytes < 1000)
print(second.host_peak_bytes >= second.host_in_use_bytes > 0)
graph = second.graphs[0]
print(graph.device, graph.swap_out_bytes == second.planned_swap_out_bytes > 0,
      graph.reclaimed_bytes > 0, graph.host_peak_bytes > 0)
# The batch, 1 MiB, is outside the graph.
print(abs(gpu0.predicted_peak_bytes + (1 << 20) - gpu0.peak_bytes) < 0.1 * gpu0.peak_bytes,
      gpu0.allocations > 0, 0 < gpu0.largest_allocation_bytes < gpu0.peak_bytes,
      gpu0.waits is not None)
tflms.reset_peak()
print(tflms.stats().device().peak_bytes < gpu0.peak_bytes)
print(second)
"""
        )
    )
    lines = out.splitlines()
    assert lines[0] == "()"
    assert lines[1] == "True 1 True"
    assert lines[2:5] == ["True True", "True", "True"]
    assert lines[5] == "GPU:0 True True True"
    assert lines[6:8] == ["True True True True", "True"]
    assert "tflms is on" in out
    assert "GPU:0:" in out


KERAS = """
import numpy as np
import tensorflow as tf

def make_model(**compile):
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential(
        [tf.keras.Input((128,))]
        + [tf.keras.layers.Dense(128, activation="tanh") for _ in range(12)]
        + [tf.keras.layers.Dense(10)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), **compile)
    return model

x = np.random.default_rng(1).standard_normal((4096, 128)).astype(np.float32)
y = np.random.default_rng(2).integers(0, 10, 4096)
"""


def test_compiled_step_is_reported() -> None:
    out = run_ok(
        f"""
{KERAS}
import tflms
tflms.simulate_gpu({BIG})
tflms.enable(budget_bytes={SMALL})
make_model(jit_compile=True).fit(x, y, batch_size=2048, verbose=0)
print(tflms.stats().compiled_nodes > 0)
print(tflms.report())
print(tflms.stats())
"""
    )
    assert out.splitlines()[0] == "True", out
    assert "is compiled by XLA" in out
    assert "compile the model with jit_compile=False" in out
    assert "or the callback tflms.KerasCallback()" in out


def test_keras_does_not_compile_by_itself_while_tflms_is_on() -> None:
    out = run_ok(
        f"""
{KERAS}
import tflms
tflms.simulate_gpu({BIG})
print(make_model().jit_compile)
tflms.enable(budget_bytes={SMALL})
model = make_model()
print(model.jit_compile, make_model(jit_compile=True).jit_compile)
model.fit(x, y, batch_size=2048, verbose=0)
print(len(tflms.report().rewritten) > 0)
tflms.disable()
print(make_model().jit_compile)
"""
    )
    assert out.split() == ["True", "False", "True", "True", "True"]


def test_keras_callback_turns_compilation_off_and_records() -> None:
    out = run_ok(
        f"""
{KERAS}
import tflms
tflms.simulate_gpu({BIG})
tflms.enable(budget_bytes={SMALL})
model = make_model(jit_compile=True)
callback = tflms.KerasCallback(per_batch=True)
model.fit(x, y, batch_size=2048, epochs=2, verbose=0, callbacks=[callback])
print(model.jit_compile, len(tflms.report().rewritten) > 0)
print([(r.epoch, r.batch) for r in callback.records])
print(all(r.seconds > 0 and r.logs["loss"] > 0 for r in callback.records))
print(callback.records[-1].stats.device().copied_out_bytes > 0)
"""
    )
    assert out.splitlines() == [
        "False True",
        "[(0, 0), (0, 1), (0, None), (1, 0), (1, 1), (1, None)]",
        "True",
        "True",
    ]


def test_environment_alone() -> None:
    """A program that never mentions tflms, run with variables only."""
    out = run_ok(
        script(
            """
import sys
print("tflms._control" in sys.modules)
first = make_step()()
import tflms
print(tflms.is_enabled(), tflms.simulated_gpu().memory_limit_bytes)
print(len(tflms.report().rewritten), tflms.options()["swapin_ahead"].value)
"""
        ),
        TFLMS="1",
        TFLMS_SWAPIN_AHEAD="2",
        TFLMS_SIM_GPU="1",
        TFLMS_SIM_MEMORY_LIMIT_BYTES=str(SMALL),
    )
    assert out.split() == ["True", "True", str(SMALL), "1", "2"]


def test_environment_without_tensorflow_loads_nothing() -> None:
    out = run_ok(
        """
        import importlib.util, sys
        importlib.util.find_spec("tensorflow")
        print("tensorflow" in sys.modules, "tflms._autostart" in sys.modules)
        print("libtflms" in open("/proc/self/maps").read())
        """,
        TFLMS="1",
    )
    assert out.split() == ["False", "True", "False"]


def test_environment_off_is_off() -> None:
    out = run_ok(
        """
        import tensorflow as tf
        print(tf.__spec__.loader.__class__.__module__)
        print("libtflms" in open("/proc/self/maps").read())
        """,
        TFLMS="0",
        TFLMS_SIM_GPU="",
    )
    assert "tflms" not in out.splitlines()[0]
    assert out.splitlines()[1] == "False"


def test_environment_fault_is_one_line_and_no_end() -> None:
    result = run_script(
        "import tensorflow as tf; print(tf.constant(1).numpy())", TFLMS="1", TFLMS_SAFETY="7"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["1"]
    lines = [line for line in result.stderr.splitlines() if line.startswith("tflms: TFLMS=1")]
    assert len(lines) == 1
    assert "TFLMS_SAFETY" in lines[0]
