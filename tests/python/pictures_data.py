# SPDX-License-Identifier: Apache-2.0
"""Plans for the tests of pictures: one by hand, one large made by rule, one real.

The real one, tests/data/perceptron.plan.json and .report.json, is what the option dump_dir wrote for
the training step of ``models.mlp_adam(batch=2048, depth=6)`` on a simulated GPU of 40 MiB.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tflms.pictures import _source
from tflms.pictures._plan import Plan, parse_plan

MIB = 1 << 20
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
REAL = Path(__file__).resolve().parent.parent / "data" / "perceptron.plan.json"


def by_hand() -> dict[str, Any]:
    """Six operations; x leaves after 0 and is back for 3, leaves again and is back for 5.

    y leaves after 1 and is back for 5. The peak is at operation 2 without swaps, at 3 with them.
    """
    rows = [  # waiting, running, without swaps, host
        (100, 110, 110, 0),
        (110, 120, 120, 0),
        (100, 115, 150, 20),
        (110, 130, 140, 20),
        (100, 105, 125, 10),
        (115, 120, 120, 0),
    ]
    keys = ("waiting_bytes", "running_bytes", "unswapped_bytes", "host_bytes")
    swaps = [("a/x:0", 10, 0, 1, 2, 3), ("a/x:0", 10, 3, -1, 4, 5), ("b/<y>&:1", 20, 1, 3, 4, 5)]
    swap_keys = ("tensor", "size_bytes", "leave_after", "sync", "trigger", "back_for")
    return {
        "graph": "step",
        "device": GPU,
        "budget_bytes": 135 * MIB,
        "persistent_bytes": 90 * MIB,
        "timeline": [
            {"node": f"scope/op{i}", **{k: v * MIB for k, v in zip(keys, row)}}
            for i, row in enumerate(rows)
        ],
        "swaps": [{**dict(zip(swap_keys, row)), "size_bytes": row[1] * MIB} for row in swaps],
    }


def by_rule(count: int) -> dict[str, Any]:
    """A step of `count` operations with long names, every sixth of whose tensors is swapped."""
    rand = random.Random(count)
    device, unswapped, host = [0] * (count + 1), [0] * (count + 1), [0] * (count + 1)
    names = [
        f"StatefulPartitionedCall/functional_{i % 7}/stage{i * 40 // count}_block{i % 23}_conv/"
        f"{'Conv2DBackpropFilter' if 2 * i > count else 'FusedBatchNormV3'}_{i}"
        for i in range(count)
    ]
    swaps = []
    for i in range(count // 3):
        begin, end = i + count // 10, count - 1 - i - count // 20
        size = rand.randint(1, 64) * MIB
        sync, trigger = begin + 1 + rand.randint(0, 4), end - 1 - rand.randint(0, 5)
        if trigger <= sync:
            break
        unswapped[begin] += size
        unswapped[end + 1] -= size
        device[begin] += size
        device[end + 1] -= size
        if i % 2 == 0:
            device[sync] -= size
            device[trigger] += size
            host[begin] += size
            host[end] -= size
            swaps.append(
                {
                    "tensor": names[begin] + ":0",
                    "size_bytes": size,
                    "leave_after": begin,
                    "sync": sync,
                    "trigger": trigger,
                    "back_for": end,
                }
            )
    timeline, now = [], [300 * MIB, 300 * MIB, 0]
    for i, name in enumerate(names):
        now = [now[0] + device[i], now[1] + unswapped[i], now[2] + host[i]]
        work = rand.randint(0, 64) * MIB
        timeline.append(
            {
                "node": name,
                "waiting_bytes": now[0],
                "running_bytes": now[0] + work,
                "unswapped_bytes": now[1] + work,
                "host_bytes": now[2],
            }
        )
    return {
        "graph": f"step_of_{count}",
        "device": GPU,
        "budget_bytes": max(row["running_bytes"] for row in timeline) + MIB,
        "persistent_bytes": 300 * MIB,
        "timeline": timeline,
        "swaps": swaps,
    }


def plan_of(row: dict[str, Any]) -> Plan:
    plan = parse_plan(row)
    assert plan is not None
    return plan


def picture_of(row: dict[str, Any], events: Any = None) -> _source.Picture:
    """The picture of a plan without a report."""
    return _source.make_picture([plan_of(row)], [], None, None, events)


def write_plans(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text(json.dumps(list(rows)), encoding="utf-8")
    return path


def event(time_us: int, kind: str, size: int, in_use: int, op: str = "op", **more: int) -> Any:
    """A row of a simulated GPU's log."""
    return {
        "time_us": time_us,
        "duration_us": 0,
        "kind": kind,
        "device": 0,
        "op": op,
        "bytes": size,
        "requested_bytes": abs(size),
        "offset": 0,
        "in_use_bytes": in_use,
        **more,
    }


def events_by_hand() -> list[Any]:
    """x is made, copied out, freed, and comes back."""
    return [
        event(-5, "COPY_IN", 4, 0, "feed", duration_us=9),
        event(10, "ALLOCATE", 10 * MIB, 10 * MIB, "a/x"),
        event(20, "COPY_OUT", 10 * MIB, 10 * MIB, "edge_7_a/x", duration_us=30),
        event(55, "FREE", -10 * MIB, 0, "a/x"),
        event(70, "ALLOCATE", 30 * MIB, 30 * MIB, "large"),
        event(80, "FREE", -30 * MIB, 0, "large"),
        event(85, "ALLOCATE", 10 * MIB, 10 * MIB, "tflms/swap_in/a/x/_9"),
        event(86, "COPY_IN", 10 * MIB, 10 * MIB, "tflms/swap_in/a/x/_9", duration_us=14),
        event(90, "ALLOCATE", 99 * MIB, 99 * MIB, "elsewhere", device=1),
    ]
