# SPDX-License-Identifier: Apache-2.0
"""Numbers as text."""

from __future__ import annotations


def format_bytes(size_bytes: int) -> str:
    """``1536`` -> ``"1.5 KiB"``; three digits are kept."""
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024 or unit == "TiB":
            break
        size /= 1024
    if unit == "B":
        return f"{int(size)} B"
    return f"{size:.0f} {unit}" if abs(size) >= 100 else f"{size:.1f} {unit}"


def format_count(count: int, noun: str) -> str:
    """``(1, "node")`` -> ``"1 node"``, ``(1200, "node")`` -> ``"1,200 nodes"``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
