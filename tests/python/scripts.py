# SPDX-License-Identifier: Apache-2.0
"""Runs a few lines of Python in a process of their own, as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_script(
    code: str, *, timeout_s: float = 300, python: str = sys.executable, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Runs `code`; the result has returncode, stdout and stderr.

    TFLMS variables of this process are not passed on; those in `environ` are.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TFLMS")}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "2"
    environment["TFLMS_CACHE_DIR"] = "off"  # no plan that another run has left
    environment.update(environ)
    return subprocess.run(
        [python, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=environment,
        check=False,
    )


def run_ok(code: str, **kwargs: object) -> str:
    """Runs `code`, which must end well, and gives what it printed."""
    result = run_script(code, **kwargs)  # type: ignore[arg-type]
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr[-4000:]}"
    return result.stdout
