# SPDX-License-Identifier: Apache-2.0
"""The simulated GPU as TensorFlow sees it: a GPU, by every road that leads to one."""

from __future__ import annotations

from typing import Any

from sim_gpu import MIB, case, result


@case("plain")
def listed(gpu: Any) -> Any:
    import tflms

    import tensorflow as tf

    return {
        "physical": [d.name for d in tf.config.list_physical_devices("GPU")],
        "logical": [d.name for d in tf.config.list_logical_devices("GPU")],
        "details": tf.config.experimental.get_device_details(
            tf.config.list_physical_devices("GPU")[0]
        ),
        "string": tf.strings.join(["a", "b"]).device,
        "numbers": (tf.range(5) * 3 + 1).numpy().tolist(),
        "limit": gpu.stats().limit_bytes,
        "repr": repr(gpu),
        "same": tflms.simulated_gpu() is gpu,
    }


def test_tensorflow_lists_a_gpu() -> None:
    r = result(listed)
    assert r["physical"] == ["/physical_device:GPU:0"]
    assert r["logical"] == ["/device:GPU:0"]
    assert r["details"]["device_name"] == "tflms simulated GPU"
    # No accelerator computes on strings: soft placement puts them on the CPU.
    assert r["string"].endswith("CPU:0")
    assert r["numbers"] == [1, 4, 7, 10, 13]
    assert r["limit"] == 256 * MIB and r["same"]
    assert "memory_limit_bytes=268435456" in r["repr"]


@case("plain")
def memory_info(gpu: Any) -> Any:
    import tensorflow as tf

    info = tf.config.experimental.get_memory_info
    before = info("GPU:0")
    x = tf.ones([1024, 1024])
    held, own = info("GPU:0"), gpu.stats()
    y = x + 1.0
    del y
    peaked = info("GPU:0")
    tf.config.experimental.reset_memory_stats("GPU:0")
    return {
        "device": x.device,
        "held": held["current"] - before["current"],
        "own": [held["current"], own.in_use_bytes, held["peak"], own.peak_in_use_bytes],
        "peaked": peaked["peak"] - before["current"],
        "freed": peaked["current"] - before["current"],
        "reset": info("GPU:0"),
    }


def test_get_memory_info_follows_the_device() -> None:
    r = result(memory_info)
    assert r["device"].endswith("GPU:0")
    # `ones` keeps a scalar as well.
    assert 4 * MIB <= r["held"] < 4 * MIB + 4096
    assert r["own"][0] == r["own"][1] and r["own"][2] == r["own"][3]
    assert r["peaked"] >= 8 * MIB
    assert 4 * MIB <= r["freed"] < 4 * MIB + 4096
    assert r["reset"]["peak"] == r["reset"]["current"]


@case("plain")
def int32_and_variables(gpu: Any) -> Any:
    import tensorflow as tf

    before = gpu.stats()
    total = int(tf.reduce_sum(tf.range(10000)[10:] * 2))
    after_int = gpu.stats()
    v = tf.Variable(tf.zeros([1024, 1024]))
    after_variable = gpu.stats()
    v.assign_add(tf.ones([1024, 1024]))
    with tf.device("/CPU:0"):
        host = tf.ones([1024, 1024])
    v.assign(host)
    after_assign = gpu.stats()
    return {
        "int_bytes": after_int.in_use_bytes - before.in_use_bytes,
        "int_copies": after_int.copied_out_bytes - before.copied_out_bytes,
        "total": total,
        "variable": after_variable.in_use_bytes - after_int.in_use_bytes,
        "assigned": after_assign.in_use_bytes - after_int.in_use_bytes,
        "copied_in": after_assign.copied_in_bytes - after_variable.copied_in_bytes,
        "equal": bool((v.numpy() == 1).all()),
        "where": v.device,
    }


def test_int32_stays_on_the_host_and_variables_are_charged() -> None:
    r = result(int32_and_variables)
    assert r["total"] == 2 * sum(range(10, 10000))
    assert r["int_bytes"] == 0 and r["int_copies"] == 0
    assert 4 * MIB <= r["variable"] < 4 * MIB + 4096
    # The buffer assigned from the host lies in device memory, not in the host's own.
    assert 4 * MIB <= r["assigned"] < 4 * MIB + 4096
    assert r["copied_in"] >= 4 * MIB
    assert r["equal"] and r["where"].endswith("GPU:0")


@case("plain")
def sessions(gpu: Any) -> Any:
    import numpy as np

    import tensorflow as tf

    v1 = tf.compat.v1
    losses = []
    before = gpu.stats().num_allocations
    with tf.Graph().as_default():
        a = v1.placeholder(tf.float32, [None, 8])
        with tf.device("/GPU:0"):
            w = v1.get_variable("w", initializer=np.full([8, 4], 0.5, "f4"), use_resource=False)
            loss = tf.reduce_mean(tf.square(tf.matmul(a, w)))
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        metadata = v1.RunMetadata()
        for _ in range(2):
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                feed = {a: np.ones([16, 8], "f4")}
                losses.append([float(session.run([loss, train], feed)[0]) for _ in range(3)])
                options = v1.RunOptions(output_partition_graphs=True)
                session.run(loss, feed, options=options, run_metadata=metadata)
    products = [n for g in metadata.partition_graphs for n in g.node if n.op == "MatMul"]
    return {
        "losses": losses,
        "device": [n.device for n in products],
        "used": gpu.stats().num_allocations - before,
    }


def test_sessions_with_reference_variables() -> None:
    r = result(sessions)
    assert r["losses"][0] == r["losses"][1]
    assert r["losses"][0][0] == 16.0 and r["losses"][0][2] < 16.0
    assert r["device"] and all(device.endswith("GPU:0") for device in r["device"])
    assert r["used"] > 0


@case("plain")
def functions(gpu: Any) -> Any:
    import tensorflow as tf

    x = tf.random.stateless_normal([16, 16], [1, 2])

    @tf.function
    def loop(x: Any) -> Any:
        i = tf.constant(0)
        while i < 5:
            x = tf.tanh(x @ x)
            i += 1
        return x

    @tf.function
    def branch(x: Any) -> Any:
        return x * 2 if tf.reduce_sum(x) > 0 else x - 1

    bits: dict[str, Any] = {}
    devices = {}
    for device in ("/CPU:0", "/GPU:0"):
        with tf.device(device), tf.GradientTape() as tape:
            tape.watch(x)
            looped = loop(x)
            y = tf.reduce_sum(looped) + tf.reduce_sum(branch(tf.abs(x)))
        devices[device] = looped.device[-5:]
        bits[device] = [y.numpy().tobytes().hex(), tape.gradient(y, x).numpy().tobytes().hex()]
    array = tf.TensorArray(tf.float32, 3)
    for i in range(3):
        array = array.write(i, [float(i)])
    return {
        "bits": bits,
        "devices": devices,
        "array": array.stack().numpy().tolist(),
        "ragged": tf.ragged.constant([[1.0, 2.0], [3.0]]).to_tensor().numpy().tolist(),
        "mapped": tf.map_fn(lambda v: v * 2, tf.range(3.0)).numpy().tolist(),
    }


def test_functions_with_loops_and_branches_give_the_cpus_bits() -> None:
    r = result(functions)
    assert r["bits"]["/CPU:0"] == r["bits"]["/GPU:0"]
    assert r["devices"] == {"/CPU:0": "CPU:0", "/GPU:0": "GPU:0"}
    assert r["array"] == [[0.0], [1.0], [2.0]] and r["mapped"] == [0.0, 2.0, 4.0]
    assert r["ragged"] == [[1.0, 2.0], [3.0, 0.0]]


@case("workspace")
def another_type(gpu: Any) -> Any:
    import tensorflow as tf

    with tf.device("/SIM:0"):
        x = tf.random.normal([64, 64])
        y = tf.nn.relu(x + x)
    types = sorted({d.device_type for d in tf.config.list_logical_devices()})
    return {"device": y.device, "types": types, "own": gpu.device_type}


def test_another_device_type() -> None:
    r = result(another_type)
    assert r["device"].endswith("SIM:0") and r["types"] == ["CPU", "SIM"] and r["own"] == "SIM"


@case("three")
def visible(gpu: Any) -> Any:
    import tensorflow as tf

    before = [gpu.stats(i).in_use_bytes for i in range(3)]
    x = tf.ones([1024, 1024])
    with tf.device("/GPU:1"):
        y = tf.ones([512, 1024])
    held = [gpu.stats(i).in_use_bytes - before[i] for i in range(3)]
    logical = [d.name for d in tf.config.list_logical_devices("GPU")]
    return {"held": held, "devices": [x.device[-5:], y.device[-5:]], "logical": logical}


def test_visible_devices_are_numbered_anew() -> None:
    r = result(visible)
    assert r["held"][0] == 0
    assert 4 * MIB <= r["held"][1] < 4 * MIB + 4096
    assert 2 * MIB <= r["held"][2] < 2 * MIB + 4096
    assert r["devices"] == ["GPU:0", "GPU:1"]
    assert r["logical"] == ["/device:GPU:0", "/device:GPU:1"]


@case("three")
def between_devices(gpu: Any) -> Any:
    import tensorflow as tf

    with tf.device("/GPU:0"):
        x = tf.ones([1024, 256])
    before = [gpu.stats(i) for i in range(3)]
    with tf.device("/GPU:1"):
        y = x * 2
        value = float(y[3, 3])
    after = [gpu.stats(i) for i in range(3)]
    return {
        "value": value,
        "device": y.device[-5:],
        "out": [a.copied_out_bytes - b.copied_out_bytes for a, b in zip(after, before)],
        "in": [a.copied_in_bytes - b.copied_in_bytes for a, b in zip(after, before)],
    }


def test_between_devices_a_value_uses_both_links() -> None:
    r = result(between_devices)
    assert r["value"] == 2.0 and r["device"] == "GPU:1"
    assert r["out"][0] == r["in"][0] == 0
    assert MIB <= r["out"][1] < MIB + 1000 and r["in"][1] < 1000
    assert MIB <= r["in"][2] < MIB + 1000 and r["out"][2] < 1000
