# SPDX-License-Identifier: Apache-2.0
"""The Python package without TensorFlow: options, reports, messages."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import typing

import pytest
import tflms
from tflms import _budget, _tensorflow
from tflms._format import format_bytes, format_count
from tflms._library import library

from scripts import run_ok, run_script


def test_import_is_light() -> None:
    """Importing tflms imports neither TensorFlow nor numpy, and loads no library."""
    out = run_ok(
        """
        import sys, tflms
        print("tensorflow" in sys.modules, "numpy" in sys.modules)
        print("libtflms" in open("/proc/self/maps").read())
        """
    )
    assert out.split() == ["False", "False", "False"]


def test_versions_agree() -> None:
    assert tflms.__version__ == library().version()
    assert re.fullmatch(r"\d+\.\d+\.\d+", tflms.__version__)


def test_enable_lists_the_options_of_the_table() -> None:
    """Names, order, types and documented defaults of enable() are those of the C++ table."""
    table = library().option_table()
    signature = inspect.signature(tflms.enable)
    assert list(signature.parameters) == [row["name"] for row in table]

    hints = typing.get_type_hints(tflms.enable) if sys.version_info >= (3, 10) else {}
    document = inspect.getdoc(tflms.enable) or ""
    for row in table:
        parameter = signature.parameters[row["name"]]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default is None, "None stands for environment or default"
        kind = {"int": int, "float": float, "string": str}[row["type"]]
        if hints:
            assert {kind, type(None)} <= set(typing.get_args(hints[row["name"]])), row["name"]
        names = rf"(?:\w+, )*{row['name']}(?:, \w+)*"
        entry = re.search(rf"^    {names}: (.*?)(?=^    \w[\w, ]*: |\n\n)", document, re.M | re.S)
        assert entry, f"{row['name']} is not documented"
        if row["default"] != "":
            said = re.search(r"Default ``?([^`]*)``|Default (-?[\d.]+\d|-?\d+)", entry.group(1))
            assert said, entry.group(1)
            assert kind(said.group(1) or said.group(2)) == kind(row["default"]), row["name"]


def test_options_show_present_values() -> None:
    out = run_ok(
        """
        import tflms
        table = tflms.options()
        print(table["swapout_threshold"].value, table["safety"].value, table["device_type"].value)
        print(table["safety"].environment_variable)
        print(table)
        """,
        TFLMS_SWAPOUT_THRESHOLD="7",
    )
    lines = out.splitlines()
    assert lines[0].split() == ["7", "0.95", "GPU"]
    assert lines[1] == "TFLMS_SAFETY"
    assert "swapout_threshold = 7 levels  (default -1)" in out


def test_unknown_option_in_table_names_the_choices() -> None:
    with pytest.raises(KeyError, match="budget_bytes"):
        tflms.options()["budget"]


def test_bad_environment_value_is_an_error_with_the_range() -> None:
    result = run_script("import tflms; tflms.options()", TFLMS_SAFETY="2")
    assert result.returncode != 0
    assert "ValueError" in result.stderr
    assert "TFLMS_SAFETY" in result.stderr
    assert "0.1 .. 1" in result.stderr


def test_enable_without_tensorflow() -> None:
    result = run_script(
        """
        import importlib.util
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda n, *a: None if n == "tensorflow" else find(n, *a)
        import tflms
        tflms.enable()
        """
    )
    assert result.returncode != 0
    assert "TflmsError: tflms needs TensorFlow, which is not installed" in result.stderr


@pytest.mark.parametrize("version", ["1.15.0", "2.12.1", "0.1"])
def test_old_tensorflow_is_refused(version: str) -> None:
    with pytest.raises(tflms.TflmsError, match=rf"2\.13 or later, found {re.escape(version)}"):
        _tensorflow.check_version(version)


def test_new_tensorflow_gets_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match=r"not with 2\.99\.0"):
        _tensorflow.check_version("2.99.0")


@pytest.mark.parametrize("version", ["2.13.0", "2.18.1", "2.21.0", "2.21.0-rc1"])
def test_supported_tensorflow_is_silent(version: str, recwarn: pytest.WarningsRecorder) -> None:
    _tensorflow.check_version(version)
    assert not recwarn.list


def test_budget_of_real_devices_leaves_room_for_the_system() -> None:
    gib = 1 << 30
    assert _budget.usable_bytes([]) == 0
    assert _budget.usable_bytes([80 * gib, 16 * gib]) == 14 * gib
    assert _budget.usable_bytes([100 * gib]) == 94 * gib
    assert _budget.usable_bytes([2 * gib]) == 2 * gib - gib // 2


def test_report_is_readable() -> None:
    report = tflms.Report.from_json(
        {
            "graph": "step",
            "outcome": "rewritten",
            "reason": "The peak is over the budget.",
            "device": "/device:GPU:0",
            "planner": "level-distance",
            "nodes": 4495,
            "nodes_added": 108,
            "budget_bytes": 360 << 20,
            "peak_bytes_before": 900 << 20,
            "peak_bytes_after": 340 << 20,
            "floor_bytes": 200 << 20,
            "floor_node": "conv1",
            "swapped_tensors": 54,
            "swap_out_bytes": 560 << 20,
            "swap_in_bytes": 560 << 20,
            "skipped": [{"reason": "too-small", "tensors": 9, "bytes": 1024}],
            "rules": [{"rule": "swap", "changes": 54, "refused": 0}],
            "notes": ["A further sentence."],
            "a_key_of_the_future": 1,
        }
    )
    text = str(report)
    assert "step: rewritten on /device:GPU:0" in text
    assert "predicted peak 900 MiB -> 340 MiB (budget 360 MiB, floor 200 MiB at conv1)" in text
    assert "54 tensors swapped: 560 MiB out, 560 MiB in" in text
    assert "too-small 9 (1.0 KiB)" in text
    assert "A further sentence." in text
    assert report.fits is True
    assert report.rules == (tflms.RuleCount("swap", 54, 0),)


def test_statistics_say_what_to_do_about_compiled_steps() -> None:
    numbers = dict.fromkeys(
        (f.name for f in dataclasses.fields(tflms.Stats) if f.name not in ("devices", "graphs")), 0
    )
    assert "compiled by XLA" not in str(tflms.Stats(**numbers))
    text = str(tflms.Stats(**{**numbers, "compiled_nodes": 2}))
    assert "2 nodes compiled by XLA" in text
    assert "jit_compile=False" in text


def test_report_says_when_the_plan_does_not_fit() -> None:
    report = tflms.Report(outcome="rewritten", budget_bytes=10, peak_bytes_after=11)
    assert report.fits is False
    assert "does not fit the budget" in str(report)
    assert tflms.Report(outcome="rewritten").fits is None


def test_report_before_any_graph_says_so() -> None:
    assert "seen no graph" in str(tflms.ReportList())


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (360 << 20, "360 MiB"), (5 << 40, "5.0 TiB")],
)
def test_format_bytes(size: int, text: str) -> None:
    assert format_bytes(size) == text


def test_format_count() -> None:
    assert format_count(1, "node") == "1 node"
    assert format_count(4495, "node") == "4,495 nodes"
