# SPDX-License-Identifier: Apache-2.0
"""Runs one training in a child process and brings back what it did.

Devices of a TensorFlow process are fixed once it has started, so everything that needs a device of
its own kind runs in a process of its own: ``run_child(Job(...))``. The child is ``child.py``.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MARK = "tflms-child-result "
STEP_MARK = "tflms-child-step "
MIB = 1 << 20
OFF = "off"


@dataclass(frozen=True)
class Job:
    """What a child process is to do.

    Attributes:
        model: a key of ``models.MODELS``.
        params: the builder's arguments.
        sim: arguments of ``tflms.simulate_gpu``; ``None``: no simulated GPU.
        tflms: arguments of ``tflms.enable``; ``None``: not enabled, not even loaded; ``OFF``: loaded
            and switched off, so that the same passes of TensorFlow run as with tflms and graphs
            come through as they are. TensorFlow's memory optimizer, which tflms switches off, adds
            up sums in another order where it acts: to compare bits, compare with ``OFF``.
        log_step: the step whose memory events are recorded, 1 the first; 0 none.
        log_path: where they are written, as JSON.
        record: where a profile of the steps behind the first is written; ``""``: none is recorded.
        memory_optimizer: what TensorFlow's own memory optimizer is to do, a name of
            ``RewriterConfig.MemOptType``; ``""``: what it does of its own account.
    """

    model: str
    params: dict[str, Any] = field(default_factory=dict)
    steps: int = 5
    sim: dict[str, Any] | None = None
    tflms: dict[str, Any] | str | None = None
    inter_op_threads: int = 1
    intra_op_threads: int = 2
    log_step: int = 0
    log_path: str = ""
    record: str = ""
    memory_optimizer: str = ""


@dataclass
class Outcome:
    """What a child process did.

    Attributes:
        losses: one per step, exact, as ``float.hex()`` writes them.
        fingerprint: of all weights after the last step.
        error: ``""``, or name and text of the exception that ended the training.
        peak_bytes: on device 0, over the steps (not the start of the variables).
        stats: of each simulated device, as counted from after the build of the model.
        reports: ``tflms.report()`` as dictionaries.
        host_peak_bytes: of the whole process.
    """

    losses: list[str] = field(default_factory=list)
    fingerprint: str = ""
    error: str = ""
    step_seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    stats: list[dict[str, int]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    host_peak_bytes: int = 0
    output: str = ""

    @property
    def out_of_memory(self) -> bool:
        return "ResourceExhausted" in self.error

    @property
    def rewritten(self) -> list[dict[str, Any]]:
        return [r for r in self.reports if r["outcome"] == "rewritten"]


class ChildError(AssertionError):
    """The child process ended without a result."""


def run_child(
    job: Job,
    timeout_s: float = 900,
    environ: dict[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Runs the job; an exception in the training is an outcome, a crash is an error.

    `progress` gets a line of text after each step.
    """
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")])),
        **(environ or {}),
    }
    command = [sys.executable, str(HERE / "child.py"), json.dumps(dataclasses.asdict(job))]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment
        )
        timer = threading.Timer(timeout_s, process.kill)
        timer.start()
        result, printed = None, []
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(MARK):
                result = json.loads(line[len(MARK) :])
            elif line.startswith(STEP_MARK) and progress is not None:
                progress(line[len(STEP_MARK) :].strip())
            else:
                printed.append(line)
        status = process.wait()
        timer.cancel()
        stderr.seek(0)
        output = "".join(printed) + stderr.read()
    if result is None:
        raise ChildError(f"{job} ended with status {status} and no result:\n{output[-6000:]}")
    outcome = Outcome(**result)
    outcome.output = output
    return outcome


# ---- used inside the child ----------------------------------------------------------------------

_job: Job | None = None


def set_job(job: Job) -> None:
    global _job
    _job = job


def session_config() -> Any:
    """The session configuration that fits the job."""
    import tensorflow as tf

    job = _job or Job(model="")
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=job.inter_op_threads,
        intra_op_parallelism_threads=job.intra_op_threads,
    )
    set_memory_optimizer(config, job, "gradients/")
    return config


def set_memory_optimizer(config: Any, job: Job, gradients: str) -> None:
    """As the job says; names of gradient operations begin with `gradients`."""
    if job.memory_optimizer:
        rewriter = config.graph_options.rewrite_options
        rewriter.memory_optimization = rewriter.MemOptType.Value(job.memory_optimizer)
        rewriter.memory_optimizer_target_node_name_scope = gradients


def start_eager() -> None:
    """Settings of the job that eager execution takes only before its start."""
    import tensorflow as tf

    if _job is not None and _job.memory_optimizer:
        config = tf.compat.v1.ConfigProto()
        set_memory_optimizer(config, _job, "gradient_tape/")
        tf.compat.v1.enable_eager_execution(config)
