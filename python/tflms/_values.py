# SPDX-License-Identifier: Apache-2.0
"""What users give ``tflms.enable()``, as the option table takes it.

    truth                           -> "yes", "no"
    whole numbers, numpy's too      -> int;   5.0 -> 5
    other real numbers, not nan     -> float
    text, bytes, os.PathLike        -> str
    a list, for options of words    -> str with commas
    numbers, for serialization      -> str:   [4, 8] -> "4,8"

Everything else is a ValueError that names the option. Ranges are the table's business. O(length).
"""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Collection
from typing import Any, Union

Plain = Union[int, float, str]


def plain_value(name: str, value: Any) -> Plain:
    """The value of option `name` as a number or text.

    Raises:
        ValueError: it is neither, nor a list where the option takes one.
    """
    if _is_truth(value):
        return "yes" if value else "no"
    if isinstance(value, (str, bytes, os.PathLike)):
        return _text(name, value)
    if _is_words(name) and isinstance(value, Collection) and not isinstance(value, dict):
        words = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return ",".join(_word(name, word) for word in words)
    number = _number(name, value)
    if number is None:
        kind = "text or a list of texts" if _is_words(name) else "a number or text"
        raise ValueError(f"option {name}: expected {kind}, found {value!r}")
    return number


def _is_words(name: str) -> bool:
    """Whether the option is a list."""
    return name.startswith(("include_", "exclude_")) or name == "serialization"


def _is_truth(value: Any) -> bool:
    """Whether it is a bool, Python's or numpy's."""
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _text(name: str, value: str | bytes | os.PathLike[Any]) -> str:
    text = os.fsdecode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"option {name}: expected text in UTF-8, found {value!r}") from None
    return text


def _word(name: str, word: Any) -> str:
    """One member of a list."""
    if isinstance(word, (str, bytes)):
        return _text(name, word)
    number = _number(name, word) if name == "serialization" and not _is_truth(word) else None
    if not isinstance(number, int):
        raise ValueError(f"option {name}: expected a list of texts, found {word!r} in it")
    return str(number)


def _number(name: str, value: Any) -> int | float | None:
    """A Python number of the same value; None for what is no number."""
    try:
        return operator.index(value)
    except TypeError:
        pass
    if not isinstance(value, numbers.Real):
        return None
    real = float(value)
    if not math.isfinite(real):
        raise ValueError(f"option {name}: expected a finite number, found {value!r}")
    return int(real) if real.is_integer() else real
