# SPDX-License-Identifier: Apache-2.0
"""Sessions that run a part of their graph, and steps whose operations meet outside of it.

Each of these ended in an error or never when order edges went where they should not.
"""

from __future__ import annotations

from scripts import run_ok

START = """
import numpy as np
import tflms
tflms.simulate_gpu(64 << 20)
tflms.enable(budget_bytes={budget}, min_swap_bytes=1, log_level="warning")
import tensorflow as tf
v1, N = tf.compat.v1, (256, 256)
ones = np.ones(N, np.float32)

def tower(x, n=8):
    kept = [tf.tanh(x)]
    for _ in range(n):
        kept.append(tf.sin(kept[-1] * 1.2))
    y = kept[-1]
    for other in reversed(kept):
        y = y * 0.5 + other
    return y, kept
"""

SESSIONS = (
    START
    + """
with tf.Graph().as_default(), tf.device("/GPU:0"):
    p, q = v1.placeholder(tf.float32, N), v1.placeholder(tf.float32, N)
    (y, kept), (z, _) = tower(p), tower(q)
    both = y + z
    deep = tower(kept[4])[0] + z
    with v1.Session() as session:
        whole = session.run(both, {{p: ones, q: ones}}).sum()
        middle = session.run(kept[4], {{p: ones}})
        fed = session.run(deep, {{q: ones, kept[4]: middle}})
        print("RESULT fed in the middle",
              np.array_equal(fed, session.run(deep, {{q: ones, p: ones}})))
        handle = session.partial_run_setup([y, both], [p, q])
        first = session.partial_run(handle, y, {{p: ones}}).sum()
        print("RESULT partial run", session.partial_run(handle, both, {{q: ones}}).sum() == whole)
print("RESULT still on", tflms.is_enabled(), bool(tflms.report(history=True).rewritten))
with tf.Graph().as_default(), tf.device("/GPU:0"):
    p = v1.placeholder(tf.float32, N)
    queue = tf.queue.FIFOQueue(4, [tf.float32], [N])
    put = queue.enqueue(tower(p)[0])
    taken = queue.dequeue()
    taken.set_shape(N)
    out = tower(taken)[0]
    with v1.Session() as session:
        value, _ = session.run([out, put], {{p: ones}})
        print("RESULT queue", np.isfinite(value.sum()))
row = tflms.report()[-1]
print("RESULT", row.outcome, "ueue" in row.reason)
"""
).format(budget="3 << 20")

RESULTS = (
    START
    + """
@tf.function
def step(x):
    y, kept = tower(x)
    return y, tf.reduce_sum(y), kept[3] * 2.0, kept[0]

with tf.device("/GPU:0"):
    on = step(tf.constant(ones))
    print("RESULT", tflms.report()[-1].outcome)
    tflms.disable()
    off = tf.function(step.python_function)(tf.constant(ones))
print("RESULT", all(np.array_equal(a, b) for a, b in zip(on, off)))
"""
).format(budget="2 << 20")

IN_PLACE = (
    START
    + """
def run():
    @tf.function
    def step(p):
        x = tf.tanh(p)
        total = tf.reduce_sum(x)
        z = tower(p)[0]
        with tf.control_dependencies([total]):
            u = tf.raw_ops.InplaceUpdate(x=x, i=[0, 3], v=z[:2])
        w = tower(z + u[:1] * 0.5)[0]
        with tf.control_dependencies([w]):
            q = x * 2.0
        return q + w
    with tf.device("/GPU:0"):
        return step(tf.constant(ones)).numpy()

on = run()
print("RESULT", tflms.report()[-1].outcome)
tflms.disable()
print("RESULT", np.array_equal(on, run()))
"""
).format(budget="3 << 20")


def results(code: str) -> list[str]:
    return [line[7:] for line in run_ok(code).splitlines() if line.startswith("RESULT ")]


def test_sessions_that_run_a_part_of_the_graph_or_meet_in_a_queue() -> None:
    assert results(SESSIONS) == [
        "fed in the middle True",
        "partial run True",
        "still on True True",
        "queue True",
        "declined True",
    ]


def test_functions_with_several_results_run_and_give_the_same() -> None:
    assert results(RESULTS) == ["rewritten", "True"]


def test_writes_in_place_are_seen_where_they_were() -> None:
    assert results(IN_PLACE) == ["rewritten", "True"]
