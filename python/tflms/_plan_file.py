# SPDX-License-Identifier: Apache-2.0
"""Plans of this process as a file, which another process can use (docs/plan-files.md)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tflms._errors import TflmsError
from tflms._library import library

_FORMAT = 1


def save_plan(
    path: str | os.PathLike[str], *, graph: str | None = None, device: str | None = None
) -> Path:
    """Writes the plans of the graphs rewritten in this process into a plan file.

    ``tflms.enable(plan=path)`` in another process uses them for the same graphs, and ``tflms rewrite
    --plan`` for graphs in files. A file may be edited: what is read is checked.

    Args:
        path: an older file of that name is replaced.
        graph: only this graph's plan, by its name in ``tflms.report()``. Default: those of the last
            16 rewritten graphs.
        device: only this accelerator's, in full or as ``"GPU:1"``.

    Returns:
        The path.

    Raises:
        TflmsError: no such graph was rewritten.
    """
    rows = library().plan_files()
    latest: dict[str, dict[str, Any]] = {}
    for row in rows:
        wanted = graph is None or row["graph"] == graph
        here = device is None or row["device"] == device or row["device"].endswith(f":{device}")
        if wanted and here:
            # The same graph, built again, has the same fingerprint.
            fingerprint = row["plan"]["fingerprint"]
            latest.pop(fingerprint, None)
            latest[fingerprint] = row["plan"]
    if not latest:
        kept = ", ".join(dict.fromkeys(f"{row['graph']} on {row['device']}" for row in rows))
        raise TflmsError(f"there is no such plan to save. Plans are kept of: {kept or 'no graph'}")
    target = Path(path)
    content = {"format": _FORMAT, "tflms": library().version(), "plans": list(latest.values())}
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return target
