# SPDX-License-Identifier: Apache-2.0
"""A Keras callback that keeps the step within reach of tflms and records statistics.

Works with the Keras that ``tf.keras`` is: Keras 2 up to TensorFlow 2.15, Keras 3 from 2.16 on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from tflms import _tensorflow
from tflms._format import format_bytes
from tflms._report import report
from tflms._stats import Stats, stats

_keras = _tensorflow.require().keras


@dataclass(frozen=True)
class KerasRecord:
    """Statistics at the end of one epoch, or of one batch where ``batch`` is not ``None``.

    Attributes:
        seconds: since the end of the record before, or since training began.
        logs: what Keras reports, e.g. ``{"loss": 0.3}``.
    """

    epoch: int
    batch: int | None
    seconds: float
    stats: Stats
    logs: dict[str, float]


class KerasCallback(_keras.callbacks.Callback):  # type: ignore[misc, name-defined]
    """Turns ``jit_compile`` off for the model and records statistics per epoch or batch.

        callback = tflms.KerasCallback()
        model.fit(x, y, callbacks=[callback])
        print(callback.records[-1].stats)

    A step that Keras compiles with XLA is one opaque call that no graph pass can look into, so
    that tflms could do nothing for it.

    Args:
        jit_compile: what the model's ``jit_compile`` is set to; ``None`` leaves it as it is.
        per_batch: record each batch as well as each epoch.
        verbose: print one line per epoch, and the reports of new graphs.
    """

    def __init__(
        self, *, jit_compile: bool | None = False, per_batch: bool = False, verbose: bool = False
    ) -> None:
        super().__init__()
        self.records: list[KerasRecord] = []
        self._jit_compile = jit_compile
        self._per_batch = per_batch
        self._verbose = verbose
        self._epoch = 0
        self._since = time.perf_counter()
        self._reports_printed = 0

    def set_model(self, model: Any) -> None:
        """Called by Keras before it makes the step function."""
        super().set_model(model)
        if self._jit_compile is None or getattr(model, "jit_compile", None) == self._jit_compile:
            return
        model.jit_compile = self._jit_compile
        # A step function from an earlier fit() would keep its old form.
        for name in ("train_function", "test_function", "predict_function"):
            if getattr(model, name, None) is not None:
                setattr(model, name, None)

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        self._since = time.perf_counter()

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        if self._per_batch:
            self._record(batch, logs)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        self._record(None, logs)
        if self._verbose:
            self._print(self.records[-1])

    def _record(self, batch: int | None, logs: dict[str, float] | None) -> None:
        now = time.perf_counter()
        self.records.append(
            KerasRecord(
                epoch=self._epoch,
                batch=batch,
                seconds=now - self._since,
                stats=stats(),
                logs={name: float(value) for name, value in (logs or {}).items()},
            )
        )
        self._since = now

    def _print(self, record: KerasRecord) -> None:
        reports = report()
        for entry in reports[self._reports_printed :]:
            print(entry)
        self._reports_printed = len(reports)
        for device in record.stats.devices:
            print(
                f"epoch {record.epoch}: {device.device} peak {format_bytes(device.peak_bytes)}, "
                f"in use {format_bytes(device.in_use_bytes)}"
            )
