# SPDX-License-Identifier: Apache-2.0
"""The options and their present values, as the plugin's one table has them."""

from __future__ import annotations

import difflib
import os
import textwrap
import warnings
from dataclasses import dataclass
from typing import Union

from tflms._library import library
from tflms._simulated_gpu_settings import ENVIRONMENT as SIMULATED_GPU_VARIABLES

OptionValue = Union[int, float, str]

_PYTHON_TYPES = {"int": int, "float": float, "string": str}


@dataclass(frozen=True)
class Option:
    """One option of ``tflms.enable()``.

    Attributes:
        name: as in ``tflms.enable(name=...)``; the environment variable is ``TFLMS_NAME``.
        value: what is in force now.
        default: what is in force when neither Python nor the environment says otherwise.
        type: ``"int"``, ``"float"`` or ``"string"``.
        unit: ``"bytes"``, ``"levels"``, ``"ms"``, ... or ``""``.
        range: the allowed values.
        help: what it does.
    """

    name: str
    value: OptionValue
    default: OptionValue
    type: str
    unit: str
    range: str
    help: str

    @property
    def environment_variable(self) -> str:
        """Name of the environment variable that sets this option."""
        return "TFLMS_" + self.name.upper()


class OptionTable(list[Option]):
    """The options, in the order of the table; ``str()`` is readable."""

    def __getitem__(self, key):  # type: ignore[no-untyped-def]
        """By position, as in a list, or by name."""
        if isinstance(key, str):
            for option in self:
                if option.name == key:
                    return option
            raise KeyError(f"no option {key!r}; options: {', '.join(o.name for o in self)}")
        return super().__getitem__(key)

    def __str__(self) -> str:
        lines = []
        for option in self:
            changed = "" if option.value == option.default else f"  (default {option.default})"
            unit = f" {option.unit}" if option.unit else ""
            lines.append(f"{option.name} = {option.value!r}{unit}{changed}")
            lines.append(textwrap.indent(textwrap.fill(option.help, 88), "    "))
            lines.append(f"    range: {option.range}")
        return "\n".join(lines)


def parse_value(type_name: str, text: object) -> OptionValue:
    """``text`` as the Python value that an option of that type has."""
    return _PYTHON_TYPES[type_name](text)  # type: ignore[no-any-return]


def options() -> OptionTable:
    """All options with their present values.

    The order of precedence, strongest first: ``tflms.enable(...)``, environment, default.
    """
    present = library().settings()["options"]
    return OptionTable(
        Option(
            name=row["name"],
            value=parse_value(row["type"], present[row["name"]]),
            default=parse_value(row["type"], row["default"]),
            type=row["type"],
            unit=row["unit"],
            range=row["range"],
            help=row["help"],
        )
        for row in library().option_table()
    )


def set_by_environment(name: str) -> bool:
    """Whether the environment sets the option of that name."""
    return bool(os.environ.get("TFLMS_" + name.upper()))


def warn_about_unknown_variables() -> None:
    """Warns of each ``TFLMS_`` variable in the environment that nothing reads, a misspelt one."""
    known = ["TFLMS_" + row["name"].upper() for row in library().option_table()]
    known += SIMULATED_GPU_VARIABLES
    for variable in sorted(os.environ):
        if variable.startswith("TFLMS_") and variable not in known:
            nearest = difflib.get_close_matches(variable, known, n=1, cutoff=0.0)[0]
            warnings.warn(
                f"environment variable {variable} has no effect: there is no such option; the "
                f"nearest name is {nearest}",
                RuntimeWarning,
                stacklevel=4,
            )
