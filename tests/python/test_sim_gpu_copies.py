# SPDX-License-Identifier: Apache-2.0
"""The simulated GPU's link: two lanes, counted, no faster than told; and the log of all of it."""

from __future__ import annotations

from typing import Any

from sim_gpu import MIB, case, result

OUT_RATE, IN_RATE = 160e6, 80e6  # of child "link"


def _copies(events: Any) -> list[Any]:
    """The copies of tensors worth the name."""
    return [e for e in events if e.kind.name.startswith("COPY") and e.bytes > 1000]


@case("link", "plain")
def round_trip(gpu: Any) -> Any:
    """16 MiB to the host and back; on each side an operation that computes, but changes nothing."""
    import tensorflow as tf

    @tf.function
    def there_and_back(x: Any) -> Any:
        with tf.device("/CPU:0"):
            out = tf.nn.relu(x)
        with tf.device("/GPU:0"):
            return tf.abs(out)

    x = tf.random.stateless_uniform([16 * MIB // 4], [1, 2])
    there_and_back(x)
    before = gpu.stats()
    gpu.start_log()
    y = there_and_back(x)
    events = gpu.stop_log()
    after = gpu.stats()
    return {
        "equal": bool(tf.reduce_all(x == y)),
        "copies": {e.kind.name: [e.bytes, e.offset >= 0, e.op] for e in _copies(events)},
        "duration_us": {e.kind.name: e.duration_us for e in _copies(events)},
        "out": after.copied_out_bytes - before.copied_out_bytes,
        "in": after.copied_in_bytes - before.copied_in_bytes,
        "num": [after.num_copies_out - before.num_copies_out],
        "busy_us": {
            "COPY_OUT": after.copy_out_busy_us - before.copy_out_busy_us,
            "COPY_IN": after.copy_in_busy_us - before.copy_in_busy_us,
        },
    }


def test_copies_are_counted_each_way() -> None:
    size = 16 * MIB
    for child in ("link", "plain"):
        r = result(round_trip, child)
        assert r["equal"]
        assert r["out"] == r["in"] == size and r["num"] == [1]
        assert set(r["copies"]) == {"COPY_OUT", "COPY_IN"}
        for copied, in_device, op in r["copies"].values():
            assert copied == size and in_device and op
        assert r["duration_us"] == r["busy_us"]


def test_each_way_keeps_to_its_own_rate() -> None:
    r = result(round_trip, "link")
    # Never faster than the rate; how much slower is the machine's business.
    assert r["busy_us"]["COPY_OUT"] >= int(16 * MIB / OUT_RATE * 1e6)
    assert r["busy_us"]["COPY_IN"] >= int(16 * MIB / IN_RATE * 1e6)


@case("link")
def both_ways(gpu: Any) -> Any:
    """96 MiB each way at once (0.6 s out, 1.3 s in), and a kernel that needs neither."""
    import tensorflow as tf

    n = 96 * MIB // 4

    @tf.function
    def step(a: Any, b: Any, c: Any) -> Any:
        with tf.device("/CPU:0"):
            out = tf.reduce_max(a)
        with tf.device("/GPU:0"):
            return out, tf.reduce_max(b), tf.tanh(c, name="meanwhile")

    a = tf.fill([n], 1.0)
    c = tf.random.stateless_uniform([1024], [1, 2])
    with tf.device("/CPU:0"):
        b = tf.fill([n], 2.0)
    step(a, b, c)
    gpu.start_log()
    step(a, b, c)
    events = gpu.stop_log()
    return {
        "spans": [[e.kind.name, e.time_us, e.time_us + e.duration_us] for e in _copies(events)],
        "kernel": [e.time_us for e in events if "meanwhile" in e.op and e.bytes > 0],
    }


def test_the_two_directions_overlap_each_other_and_compute() -> None:
    r = result(both_ways)
    spans = {name: (begin, end) for name, begin, end in r["spans"]}
    assert set(spans) == {"COPY_OUT", "COPY_IN"}
    begin = max(span[0] for span in spans.values())
    end = min(span[1] for span in spans.values())
    assert begin < end, "one direction waited for the other"
    assert r["kernel"] and min(r["kernel"]) < end, "the kernel waited for a copy"


@case("link")
def queue(gpu: Any) -> Any:
    """Three tensors to the host, all asked for at about the same time."""
    import tensorflow as tf

    @tf.function
    def step(*tensors: Any) -> Any:
        with tf.device("/CPU:0"):
            return [tf.reduce_max(t) for t in tensors]

    tensors = [tf.fill([MIB], float(i)) for i in range(3)]
    step(*tensors)
    gpu.start_log()
    step(*tensors)
    copies = [e for e in _copies(gpu.stop_log()) if e.kind.name == "COPY_OUT"]
    return [[e.time_us, e.duration_us, e.bytes] for e in copies]


def test_copies_of_one_direction_run_one_after_another() -> None:
    copies = sorted(result(queue))
    assert [size for _, _, size in copies] == [4 * MIB] * 3
    for (begin, duration, _), (next_begin, _, _) in zip(copies, copies[1:]):
        assert next_begin >= begin + duration - 2  # whole microseconds, rounded down
    assert all(duration >= int(4 * MIB / OUT_RATE * 1e6) for _, duration, _ in copies)


@case("plain")
def logged_step(gpu: Any) -> Any:
    import tensorflow as tf

    w = tf.Variable(tf.random.stateless_normal([256, 256], [1, 2]))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(tf.tanh(x @ w, name="inner"), name="outer"))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    x = tf.ones([512, 256])
    step(x)
    gpu.reset_peak()
    start = gpu.stats().in_use_bytes
    gpu.start_log()
    step(x)
    events = gpu.stop_log()
    stats = gpu.stats()
    gpu.start_log(capacity=5)
    step(x)
    return {
        "start": start,
        "end": stats.in_use_bytes,
        "peak": stats.peak_in_use_bytes,
        "few": [len(gpu.stop_log()), len(gpu.stop_log())],
        "events": [
            [e.kind.name, e.time_us, e.op, e.bytes, e.requested_bytes, e.offset, e.in_use_bytes]
            for e in events
        ],
    }


def test_the_log_of_a_step_adds_up_to_the_bytes_in_use() -> None:
    r = result(logged_step)
    in_use = peak = r["start"]
    owners: dict[int, tuple[int, str]] = {}
    for kind, _, op, size, requested, offset, after in r["events"]:
        if kind not in ("ALLOCATE", "FREE"):
            continue
        in_use += size
        peak = max(peak, in_use)
        assert after == in_use
        assert 0 <= offset < 256 * MIB and abs(size) >= requested and size % 256 == 0
        if kind == "ALLOCATE":
            assert size > 0 and offset not in owners
            owners[offset] = (size, op)
        else:
            assert size < 0
            assert owners.pop(offset, (-size, op)) == (-size, op)
    assert in_use == r["end"]
    assert peak == r["peak"]
    named = {op.split("/")[-1] for kind, _, op, *_ in r["events"] if kind == "ALLOCATE"}
    assert {"MatMul", "inner"} & named, named


def test_a_full_log_stops_growing() -> None:
    assert result(logged_step)["few"] == [5, 5]
