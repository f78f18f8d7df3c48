# SPDX-License-Identifier: Apache-2.0
"""What enable() is given, as the option table takes it; variables that are misspelt.

No TensorFlow in here.
"""

from __future__ import annotations

import enum
import fractions
from pathlib import Path
from typing import Any

import pytest
from tflms._control import _enable
from tflms._library import library
from tflms._options import warn_about_unknown_variables
from tflms._values import plain_value

from scripts import run_script


class Level(enum.IntEnum):
    """A number of a type of its own."""

    TWO = 2


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("swap_branches", True, "yes"),
        ("swap_branches", False, "no"),
        ("budget_bytes", 5.0, 5),
        ("budget_bytes", 5.5, 5.5),
        ("budget_bytes", "1GiB", "1GiB"),
        ("sync_mode", Level.TWO, 2),
        ("safety", fractions.Fraction(1, 2), 0.5),
        ("dump_dir", Path("/tmp/x"), "/tmp/x"),
        ("dump_dir", b"/tmp/x", "/tmp/x"),
        ("include_output_types", ["Conv2D", b"Relu"], "Conv2D,Relu"),
        ("include_output_types", {"b", "a"}, "a,b"),
        ("include_output_types", (), ""),
        ("serialization", [4, 8], "4,8"),
        ("serialization", ["4:8", 20], "4:8,20"),
    ],
)
def test_values_become_numbers_and_text(name: str, value: Any, plain: Any) -> None:
    got = plain_value(name, value)
    assert (got, type(got)) == (plain, type(plain))


def test_values_of_numpy() -> None:
    np = pytest.importorskip("numpy")
    for value in (np.int64(5), np.uint8(5), np.float32(5), np.array(5)):
        assert type(plain_value("budget_bytes", value)) is int
        assert plain_value("budget_bytes", value) == 5
    assert plain_value("safety", np.float32(0.5)) == 0.5
    assert plain_value("swap_branches", np.bool_(True)) == "yes"
    assert plain_value("include_output_types", np.array(["a", "b"])) == "a,b"
    assert plain_value("serialization", np.array([4, 8])) == "4,8"
    with pytest.raises(ValueError, match="option safety: expected a finite number"):
        plain_value("safety", np.float64("nan"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("safety", float("nan")),
        ("budget_bytes", float("inf")),
        ("budget_bytes", [5]),
        ("budget_bytes", 1j),
        ("dump_dir", "\ud800"),
        ("dump_dir", object()),
        ("include_output_types", ["Conv2D", 3]),
        ("include_output_types", {}),
        ("include_output_types", 3.5j),
        ("serialization", [1.5]),
        ("serialization", [True]),
        ("serialization", [["4:8"]]),
    ],
)
def test_other_values_are_errors_that_name_the_option(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"option {name}: expected "):
        plain_value(name, value)


def test_the_table_takes_what_comes_out() -> None:
    plugin = library()
    for name, value, present in (
        ("budget_bytes", 5.0, 5),
        ("budget_bytes", "360 MiB", 360 << 20),
        ("min_swap_bytes", "2kB", 2000),
        ("serialization", [4, 8], "4,8"),
        ("safety", 1, 1.0),
    ):
        plugin.configure(False, {name: plain_value(name, value)})
        found = plugin.settings()["options"][name]
        assert type(present)(found) == present
    for name, value in (("budget_bytes", 5.5), ("budget_bytes", True), ("swapin_ahead", 0)):
        with pytest.raises(ValueError, match=f"option {name}: expected"):
            plugin.configure(False, {name: plain_value(name, value)})
    plugin.configure(False, {})


def test_bounds_that_exclude_each_other_change_nothing() -> None:
    with pytest.raises(ValueError, match="found lb = 10, ub = 2"):
        _enable({"lb": 10, "ub": 2})
    assert not library().settings()["on"]


def test_environment_takes_units_and_empty_is_unset() -> None:
    code = "import tflms; t = tflms.options(); print(t['budget_bytes'].value, t['lb'].value)"
    result = run_script(code, TFLMS_BUDGET_BYTES="1.5 GiB", TFLMS_LB="")
    assert result.stdout.split() == [str(3 << 29), "1"], result.stderr


def test_misspelt_variables_are_named_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFLMS_BUGDET_BYTES", "5")
    monkeypatch.setenv("TFLMS_SIM_MEMORY", "5")
    with pytest.warns(RuntimeWarning) as caught:
        warn_about_unknown_variables()
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == 2
    assert "TFLMS_BUGDET_BYTES has no effect" in texts[0]
    assert texts[0].endswith("the nearest name is TFLMS_BUDGET_BYTES")
    assert "TFLMS_SIM_MEMORY has no effect" in texts[1]
    assert texts[1].rsplit(" ", 1)[1].startswith("TFLMS_SIM_")


def test_known_variables_are_silent(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setenv("TFLMS", "1")
    monkeypatch.setenv("TFLMS_BUDGET_BYTES", "5")
    monkeypatch.setenv("TFLMS_SIM_GPU", "0")
    warn_about_unknown_variables()
    assert not recwarn.list
