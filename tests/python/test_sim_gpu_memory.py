# SPDX-License-Identifier: Apache-2.0
"""The simulated GPU's memory: a limit that holds, and what is charged against it."""

from __future__ import annotations

from typing import Any

from sim_gpu import MIB, case, result


@case("plain")
def out_of_memory(gpu: Any) -> Any:
    import gc

    import tensorflow as tf

    block = [4 * 1024, 1024]  # 16 MiB
    before = gpu.stats()

    def graph() -> Any:
        @tf.function
        def kept_to_the_end(x: Any) -> Any:
            kept = [tf.tanh(x + float(i)) for i in range(20)]
            return tf.reduce_sum(tf.concat(kept, 0))

        return kept_to_the_end(tf.ones(block))

    errors = []
    for attempt in (
        lambda: [tf.ones(block) for _ in range(17)],
        graph,
        lambda: tf.Variable(tf.ones([17 * 4 * 1024, 1024])),
    ):
        try:
            attempt()
        except tf.errors.ResourceExhaustedError as error:
            errors.append(str(error))
    gc.collect()  # the graph, and so its constants on the device
    gpu.reset_peak()
    left = gpu.stats().in_use_bytes - before.in_use_bytes
    fits = tf.ones([15 * 4 * 1024, 1024])  # 240 of 256 MiB
    after = gpu.stats()
    return {
        "errors": errors,
        "failed": after.num_failed_allocations - before.num_failed_allocations,
        "waits": after.num_waits - before.num_waits,
        "left": left,
        "fits": fits.device,
        "in_use": after.in_use_bytes,
        "peak": after.peak_in_use_bytes,
        "largest": after.largest_allocation_bytes,
    }


def test_running_out_of_memory_is_an_error_and_not_the_end() -> None:
    r = result(out_of_memory)
    assert len(r["errors"]) == 3
    assert all("OOM when allocating tensor" in error for error in r["errors"])
    assert all("tflms_sim_gpu_0_bfc" in error for error in r["errors"])
    assert r["failed"] >= 3
    assert r["left"] == 0
    assert r["fits"].endswith("GPU:0")
    assert 240 * MIB <= r["in_use"] <= r["peak"] <= 256 * MIB
    assert 240 * MIB <= r["largest"] <= 256 * MIB


@case("plain", "workspace")
def convolution(gpu: Any) -> Any:
    import tflms

    import tensorflow as tf

    with tf.device(f"/{gpu.device_type}:0"):
        x = tf.random.stateless_uniform([8, 32, 32, 16], [1, 2])
        w = tf.random.stateless_normal([3, 3, 16, 32], [3, 4])

        @tf.function
        def step(x: Any, w: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch([x, w])
                loss = tf.reduce_sum(tf.square(tf.nn.conv2d(x, w, 1, "SAME")))
            return tape.gradient(loss, [x, w])

        gpu.reset_peak()
        base = gpu.stats()
        gpu.start_log()
        values = [gradient.numpy() for gradient in step(x, w)]
        events = gpu.stop_log()
    stats = gpu.stats()
    scratch = [
        e for e in events if e.kind in (tflms.EventKind.SCRATCH, tflms.EventKind.SCRATCH_FREE)
    ]
    return {
        "bits": [value.tobytes().hex()[:4096] for value in values],
        "peak": stats.peak_in_use_bytes - base.in_use_bytes,
        "scratch": stats.peak_scratch_bytes,
        "left": stats.scratch_bytes,
        "ops": sorted({e.op.split("/")[-1] for e in scratch}),
        "sum": sum(e.bytes for e in scratch),
        "outside": all(e.offset == -1 for e in scratch),
        "moved": stats.num_moved_outputs - base.num_moved_outputs,
    }


def test_scratch_of_cpu_kernels_is_kept_apart() -> None:
    apart = result(convolution, "plain")
    counted = result(convolution, "workspace")
    assert apart["bits"] == counted["bits"]
    # The forward output and its gradient, 1 MiB each, the gradients, and little else.
    assert apart["peak"] < 10 * MIB
    assert apart["scratch"] > 20 * MIB
    assert apart["left"] == 0 and apart["sum"] == 0 and apart["outside"] and apart["moved"] == 0
    assert any("Conv2DBackprop" in op for op in apart["ops"])
    assert counted["peak"] > apart["peak"] + 10 * MIB
    assert counted["scratch"] == 0 and counted["ops"] == []


@case("plain")
def outputs(gpu: Any) -> Any:
    """Of each operation: bytes charged, bytes of the result, and where that is.

    What an earlier operation took may be let go at any later time (a copy holds its source until
    its event is seen), so only what is taken in the log counts, less what of that is let go.
    """
    import tflms

    import tensorflow as tf

    x = tf.random.stateless_uniform([512, 512], [1, 2])
    image = x[None, :, :, None]
    makers = {
        "einsum": lambda: tf.einsum("ij,kj->ik", x, x),
        "mean": lambda: tf.reduce_mean(x, 0),
        "softmax": lambda: tf.nn.softmax(x),
        "topk": lambda: tf.nn.top_k(x, 64).values,
        "where": lambda: tf.where(x > 0.5),
        "unique": lambda: tf.unique(tf.reshape(x, [-1]))[0],
        "sort": lambda: tf.sort(x),
        "svd": lambda: tf.linalg.svd(x[:64, :64])[1],
        "cumsum": lambda: tf.cumsum(x),
        "pad": lambda: tf.pad(x, [[1, 1], [2, 2]]),
        "gather": lambda: tf.gather(x, [1, 3]),
        "resize": lambda: tf.image.resize(image, [64, 64]),
        "dropout": lambda: tf.nn.dropout(x, 0.5),
        "stack": lambda: tf.stack([x, x]),
        "conv": lambda: tf.nn.conv2d(image, x[:3, :3, None, None], 1, "SAME"),
        "pool": lambda: tf.nn.max_pool2d(image, 2, 2, "SAME"),
        "scan": lambda: tf.scan(lambda a, b: a + b, x),
    }
    found = {}
    for name, make in makers.items():
        make()
        gpu.start_log()
        value = make()
        size = value.shape.num_elements() * value.dtype.size
        held: dict[int, int] = {}
        for event in gpu.stop_log():
            if event.kind == tflms.EventKind.ALLOCATE:
                held[event.offset] = event.bytes
            elif event.kind == tflms.EventKind.FREE:
                held.pop(event.offset, None)
        found[name] = [sum(held.values()), size, value.device[-5:]]
        del value
    return found


def test_outputs_always_lie_in_device_memory() -> None:
    found = result(outputs)
    assert len(found) == 17
    short = {n: f for n, f in found.items() if f[0] < f[1] or f[1] == 0 or f[2] != "GPU:0"}
    assert short == {}


@case("workspace", "plain")
def product(gpu: Any) -> Any:
    import tensorflow as tf

    with tf.device(f"/{gpu.device_type}:0"):
        x = tf.ones([64, 64])
        y = x @ x
        gpu.reset_peak()
        base = gpu.stats().in_use_bytes
        del y
        y = x @ x
        held = gpu.stats()
        error = ""
        try:
            tf.linalg.matrix_transpose(x)
        except tf.errors.ResourceExhaustedError as e:
            error = str(e)
    return {
        "value": float(y[1, 1]),
        "peak": held.peak_in_use_bytes - base,
        "left": held.in_use_bytes - base,
        "error": error,
    }


def test_workspace_is_held_while_the_operation_runs() -> None:
    with_it = result(product, "workspace")
    without = result(product, "plain")
    assert with_it["value"] == without["value"] == 64.0
    assert 32 * MIB <= with_it["peak"] <= 32 * MIB + 65536 and with_it["left"] == 0
    # A workspace as large as the device cannot be had while anything else is held.
    assert "workspace for Transpose" in with_it["error"]
    assert without["peak"] < MIB and without["error"] == ""


@case("link")
def waiting(gpu: Any) -> Any:
    """Room for one of two blocks: the second waits for the copy that holds the first."""
    import tensorflow as tf

    size = [150 * MIB // 4]

    @tf.function
    def blocks(s: Any) -> Any:
        with tf.device("/GPU:0"):
            first = tf.fill(size, s)
        with tf.device("/CPU:0"):
            out = tf.reduce_max(first)
        with tf.device("/GPU:0"), tf.control_dependencies([first]):
            second = tf.reduce_max(tf.fill(size, s + 1.0))
        return out, second

    before = gpu.stats()
    values = [float(v) for v in blocks(tf.constant(1.0))]
    after = gpu.stats()
    return {
        "values": values,
        "waits": after.num_waits - before.num_waits,
        "wait_us": after.wait_us - before.wait_us,
        "failed": after.num_failed_allocations - before.num_failed_allocations,
    }


def test_an_allocation_waits_for_copies_to_give_memory_back() -> None:
    r = result(waiting)
    assert r["values"] == [1.0, 2.0]
    assert r["waits"] >= 1 and r["wait_us"] > 0 and r["failed"] == 0
