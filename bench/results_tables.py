# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/results.md: each function gives the Markdown of what one benchmark wrote as JSON.

No rows give "". Figures that a result does not have are shown as "-".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

MIB = 1 << 20


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; "" without rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def number(row: dict[str, Any], key: str, form: str = "{}", factor: float = 1) -> str:
    """A figure of a row; `factor` is applied to it."""
    value = row.get(key)
    if value is None:
        return "-"
    return form.format(value * factor if factor != 1 else value)


def mib(row: dict[str, Any], key: str) -> str:
    """Bytes of a row in MiB."""
    return number(
        row, key, "{:,.1f} MiB" if (row.get(key) or 0) < 100 * MIB else "{:,.0f} MiB", 1 / MIB
    )


def percent(row: dict[str, Any], key: str, form: str = "{:+.1f} %") -> str:
    return number(row, key, form, 100)


def same(value: bool | None) -> str:
    return "-" if value is None else "equal" if value else "DIFFERENT"


def link(bytes_per_s: float | None) -> str:
    return f"{bytes_per_s / 1e6:.0f} MB/s" if bytes_per_s else "no limit"


def named(model: str, params: dict[str, Any] | None) -> str:
    return f"{model} {json.dumps(params)}" if params else model


# ---- on simulated GPUs ---------------------------------------------------------------------------


def max_batch(result: dict[str, Any]) -> str:
    without, best = result.get("without"), result.get("with")
    if without is None and best is None:
        return ""
    head = ["model", "memory", "options", "without", "with", "ratio", "peak", "step", "losses"]
    row = [
        named(result.get("model", "?"), result.get("params")),
        f"{result.get('memory_mib', '?')} MiB",
        json.dumps(result["options"]) if result.get("options") else "none",
        number(result, "without"),
        number(result, "with"),
        f"{best / without:.2f}" if best and without else "-",
        mib(result, "peak_bytes"),
        number(result, "step_seconds", "{:.2f} s"),
        same(result.get("same_loss")),
    ]
    return markdown(head, [row])


def bound_share(result: list[dict[str, Any]]) -> str:
    head = ["model", "memory", "largest batch", "in steps of", "bound", "share"]
    head += ["floor", "always there", "losses"]
    return markdown(
        head,
        [
            [
                named(row.get("model", "?"), row.get("params")),
                f"{row.get('memory_mib', '?')} MiB",
                number(row, "batch"),
                number(row, "grain"),
                number(row, "bound", "{:.1f}"),
                percent(row, "share", "{:.0f} %"),
                mib(row, "floor_bytes"),
                mib(row, "persistent_bytes"),
                same(row.get("same_loss")),
            ]
            for row in result
        ],
    )


def unet3d(result: dict[str, Any]) -> str:
    head = ["memory", "", "without", "with", "voxels a step", "bound", "share of voxels", "losses"]
    names = {
        "batch": f"largest batch, {result.get('size', '?')}^3 voxels each",
        "side": f"most voxels a side, batch {result.get('images', '?')}",
    }
    return markdown(
        head,
        [
            [
                f"{result.get('memory_mib', '?')} MiB",
                names.get(row.get("unit", ""), "?"),
                number(row, "without"),
                number(row, "with"),
                number(row, "factor", "{:.2f}x"),
                number(row, "bound", "{:.1f}"),
                percent(row, "share", "{:.0f} %"),
                same(row.get("same_loss")),
            ]
            for row in result.get("rows", [])
        ],
    )


def step_time(result: dict[str, Any]) -> str:
    base_s = result.get("base_s") or 1.0
    head = [
        "planner",
        "link",
        "step",
        "multiple",
        "predicted",
        "swapped out",
        "run again",
        "losses",
    ]
    rows = []
    for row in result.get("rows", []):
        failed = row.get("error")
        rows.append(
            [
                row.get("planner", "?"),
                link(row.get("link_bytes_per_s")),
                failed or number(row, "seconds", "{:.2f} s"),
                "-" if failed else number(row, "seconds", "{:.3f}", 1 / base_s),
                number(row, "predicted", "{:.3f}"),
                mib(row, "swap_out_bytes"),
                number(row, "recomputed_tensors"),
                "-" if failed else same(row.get("equal")),
            ]
        )
    table = markdown(head, rows)
    if not table:
        return ""
    setting = f"{result.get('model', '?')}, batch {result.get('batch', '?')}"
    text = f"{setting}, {result.get('memory_mib', '?')} MiB. Multiples are of {base_s:.2f} s"
    if "plain_s" in result:
        text += f"; without tflms, on a device with room: {result['plain_s'] / base_s:.3f}"
    return f"{text}.\n\n{table}"


def predicted_peak(result: list[dict[str, Any]]) -> str:
    head = ["model", "device, of the peak", "swapped tensors", "predicted", "measured", "error"]
    return markdown(
        [*head, "losses"],
        [
            [
                row.get("model", "?"),
                number(row, "fraction", "{:.2f}x"),
                number(row, "swapped_tensors"),
                mib(row, "predicted_bytes"),
                mib(row, "measured_bytes"),
                percent(row, "error"),
                row.get("fault") or same(row.get("same_loss")),
            ]
            for row in result
        ],
    )


def predicted_time(result: dict[str, Any]) -> str:
    head = ["times from", "link", "predicted", "waiting", "measured", "error", "swapped out"]
    return markdown(
        head,
        [
            [
                row.get("times_from", "?"),
                link(row.get("link_bytes_per_s")),
                number(row, "predicted_s", "{:.2f} s"),
                number(row, "stall_s", "{:.2f} s"),
                number(row, "measured_s", "{:.2f} s"),
                percent(row, "error"),
                mib(row, "swapped_bytes"),
            ]
            for row in result.get("rows", [])
        ],
    )


def remat(result: list[dict[str, Any]]) -> str:
    fixed, largest = [], []
    for model in result:
        name = model.get("name", "?")
        for row in model.get("fixed_batch", []):
            way = row.get("way", "?")
            failed = row.get("error")
            fixed.append(
                [
                    f"{name}, batch {model.get('batch', '?')}",
                    f"remat: {model.get('remat')}" if way == "remat" else way,
                    mib(row, "peak_bytes"),
                    failed or number(row, "multiple", "{:.2f}x"),
                    "-" if failed else same(row.get("equal")),
                ]
            )
        for row in model.get("fixed_device", []):
            device = f"{name}, {model.get('memory_mib', '?')} MiB"
            rate = number(row, "examples_per_s", "{:.0f}")
            largest.append([device, row.get("way", "?"), number(row, "batch"), rate])
    if not fixed:
        return ""
    links = {link((model.get("link_mb_per_s") or 0) * 1e6) for model in result}
    text = f"Link: {', '.join(sorted(links))}.\n\n"
    text += markdown(["model", "way", "peak", "step, against none", "losses, against none"], fixed)
    if largest:
        text += "\n\n" + markdown(["model", "way", "largest batch", "examples a second"], largest)
    return text


# ---- the core and the simulator ------------------------------------------------------------------


def planning(result: list[dict[str, Any]]) -> str:
    head = ["planner", "nodes", "time", "growth", "memory a node", "swapped", "run again", "fits"]
    return markdown(
        head,
        [
            [
                row.get("planner", "?"),
                number(row, "nodes", "{:,}"),
                number(row, "seconds", "{:.2f} s"),
                number(row, "growth", "{:.2f}") if row.get("growth") else "-",
                number(row, "grown_bytes", "{:,.0f} bytes", 1 / max(1, row.get("nodes", 1))),
                number(row, "swapped"),
                number(row, "recomputed"),
                "yes" if row.get("fits") else "NO",
            ]
            for row in result
        ],
    )


def bounds(result: list[dict[str, Any]]) -> str:
    head = ["model", "budget", "link", "planner", "peak", "floor M1", "M3", "step", "T0", "T2'"]
    rows = []
    for row in result:
        times = [number(row, f"{name}_us", "{:.2f} s", 1e-6) for name in ("step", "compute")]
        rows.append(
            [
                named(row.get("model", "?"), row.get("params")),
                mib(row, "budget_bytes"),
                link(row.get("link_bytes_per_s")),
                row.get("planner", "?"),
                mib(row, "peak_bytes_after"),
                mib(row, "floor_bytes"),
                mib(row, "order_bound_bytes"),
                *times,
                number(row, "time_bound_us", "{:.2f} s", 1e-6),
                number(row, "over_bound", "{:.3f}"),
            ]
        )
    return markdown([*head, "step over T2'"], rows)


def peers(result: dict[str, Any]) -> str:
    head = ["budget, of the peak", "rule", "fits", "time over no limit", "run again", "copied out"]
    rows = []
    for budget in result.get("budgets", []):
        for row in budget.get("rows", []):
            compute = row.get("compute_us") or 1
            rows.append(
                [
                    budget.get("budget", "?"),
                    row.get("policy", "?"),
                    row.get("fault") or ("yes" if row.get("fits") else "no"),
                    f"{100 * (row.get('time_us', compute) / compute - 1):+.1f} %",
                    number(row, "recompute_us", "{:.1f} %", 100 / compute),
                    mib(row, "out_bytes"),
                ]
            )
    table = markdown(head, rows)
    return f"Costs and link: {result.get('machine', '?')}.\n\n{table}" if table else ""


def checkmate(result: dict[str, Any]) -> str:
    artifact, rows = [], []
    for name, model in result.get("models", {}).items():
        published = model.get("published", {})
        for copies, batches in model.get("artifact", {}).items():
            found = [f"{rule} {batch}" for rule, batch in batches.items()]
            wanted = [f"{rule} {published.get(rule, '-')}" for rule in batches]
            artifact.append([name, copies, ", ".join(found), ", ".join(wanted)])
        for copies, limit in model.get("limits", {}).items():
            for policy, row in limit.get("policies", {}).items():
                rows.append(
                    [
                        name,
                        copies,
                        policy,
                        number(row, "batch"),
                        number(limit, "bound"),
                        number(published, "checkmate"),
                        percent(row, "overhead"),
                        percent(row, "recompute", "{:.1f} %"),
                        number(row, "swapped_bytes", "{:.1f} GB", 1e-9),
                    ]
                )
    if not artifact and not rows:
        return ""
    head = ["model", "copies of parameters off", "the artifact's schedules", "published"]
    text = markdown(head, artifact)
    head = ["model", "copies of parameters off", "rule", "largest batch", "bound"]
    head += ["Checkmate, published", "time over no limit", "run again", "copied out"]
    own = f"Link: {result.get('link_gb_per_s', '?')} GB/s each way.\n\n{markdown(head, rows)}"
    return "\n\n".join(filter(None, [text, own if rows else ""]))


def dtr(result: dict[str, Any]) -> str:
    policies: list[str] = []
    for model in result.values():
        for budget in model.get("budgets", []):
            policies += [p for p in budget.get("policies", {}) if p not in policies]
    rows = []
    for name, model in result.items():
        for budget in model.get("budgets", []):
            cells = []
            for policy in policies:
                own = budget.get("policies", {}).get(policy, {})
                fits = own.get("fits", True)
                cells.append(percent(own, "overhead") + ("" if fits else " (no fit)"))
            share = f" ({percent(budget, 'published_recompute', '{:.1f} %')})"
            published = percent(budget, "published") + share
            rows.append([name, number(budget, "gb", "{} GB"), published, *cells])
    return markdown(["model", "budget", "DTR, published (recomputation)", *policies], rows)
