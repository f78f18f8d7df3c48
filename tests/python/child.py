# SPDX-License-Identifier: Apache-2.0
"""The child process of ``harness.run_child``: one training, one line of JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import resource
import sys
import time

import harness
from harness import MARK, OFF, STEP_MARK, Job, Outcome


def main() -> None:
    job = Job(**json.loads(sys.argv[1]))
    harness.set_job(job)
    outcome = Outcome()
    try:
        train(job, outcome)
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("tensorflow", "tflms"):
            raise
        outcome.error = f"{type(error).__name__}: {error}"
    finish(job, outcome)
    print(MARK + json.dumps(dataclasses.asdict(outcome)), flush=True)


def train(job: Job, outcome: Outcome) -> None:
    import tflms

    import tensorflow as tf

    harness.start_eager()
    gpu = tflms.simulate_gpu(**job.sim) if job.sim is not None else None
    tf.config.threading.set_inter_op_parallelism_threads(job.inter_op_threads)
    tf.config.threading.set_intra_op_parallelism_threads(job.intra_op_threads)
    if job.tflms == OFF:
        tflms.enable()
        tflms.disable()
    elif job.tflms is not None:
        tflms.enable(**job.tflms)

    from models import MODELS

    training = MODELS[job.model](**job.params)
    if gpu is not None:
        gpu.reset_peak()
        start = [gpu.stats(i) for i in range(gpu.count)]
    recording = contextlib.ExitStack()
    try:
        for number in range(1, job.steps + 1):
            if job.record and number == 1:
                recorder = tflms.record_profile(job.record, steps=max(1, job.steps - 1))
                recording.enter_context(recorder)
            if gpu is not None and number == job.log_step:
                gpu.start_log()
            began = time.perf_counter()
            loss = training.step()
            outcome.step_seconds.append(time.perf_counter() - began)
            outcome.losses.append(loss.hex())
            seconds = outcome.step_seconds[-1]
            print(f"{STEP_MARK}step {number}: loss {loss:.4f}, {seconds:.1f} s", flush=True)
            if gpu is not None and number == job.log_step:
                write_log(gpu, job.log_path)
        recording.close()
    finally:
        if gpu is not None:
            outcome.stats = [
                difference(dataclasses.asdict(gpu.stats(i)), dataclasses.asdict(start[i]))
                for i in range(gpu.count)
            ]
            outcome.peak_bytes = outcome.stats[0]["peak_in_use_bytes"]
    outcome.fingerprint = training.fingerprint()


def difference(now: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Counters since ``before``; states and peaks as they are now."""
    counters = ("num_", "copied_", "copy_", "same_device_", "moved_")
    return {k: v - before[k] if k.startswith(counters) else v for k, v in now.items()}


def write_log(gpu: object, path: str) -> None:
    events = gpu.stop_log()  # type: ignore[attr-defined]
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{**dataclasses.asdict(e), "kind": e.kind.name} for e in events], file)


def finish(job: Job, outcome: Outcome) -> None:
    import tflms

    if job.tflms is not None:
        outcome.reports = [dataclasses.asdict(r) for r in tflms.report(history=True)]
    outcome.host_peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
