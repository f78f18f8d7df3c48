# SPDX-License-Identifier: Apache-2.0
"""Fifty random DAGs and fifty random Keras models: results equal to the last bit.

`python bench/random_models.py` runs the same with more seeds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bench"))

from random_models import failures, run_seeds


@pytest.mark.parametrize(
    ("kind", "first", "end"), [("dags", 0, 50), ("models", 0, 25), ("models", 25, 50)]
)
def test_same_bits(kind: str, first: int, end: int) -> None:
    results = run_seeds(kind, first, end)
    assert len(results) == end - first
    assert not failures(results)
    # The comparison is worth something only if most graphs really were rewritten.
    swapped = [r for r in results if r["swapped_tensors"]]
    assert len(swapped) >= len(results) // 2, [r["outcomes"] for r in results]
