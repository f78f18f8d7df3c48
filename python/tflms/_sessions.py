# SPDX-License-Identifier: Apache-2.0
"""Leaves graphs of ``Session.partial_run`` alone.

A partial run gets its feeds one after another, and hands out fetches in between. An order edge could
make the first fetch wait for what needs a later feed, for ever; nothing in the graph that a graph pass
sees tells such a run from any other.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

_original: Any = None


def leave_partial_runs_alone(off: Callable[[], AbstractContextManager[None]]) -> None:
    """From now on partial runs are set up within ``off()``."""
    global _original
    if _original is not None or "tensorflow" not in sys.modules:
        return
    session = sys.modules["tensorflow"].compat.v1.Session
    owner = next((c for c in session.__mro__ if "partial_run_setup" in vars(c)), None)
    if owner is None:
        return
    _original = owner.partial_run_setup

    @functools.wraps(_original)
    def partial_run_setup(self: Any, *args: Any, **kwargs: Any) -> Any:
        with off():
            return _original(self, *args, **kwargs)

    owner.partial_run_setup = partial_run_setup
