# SPDX-License-Identifier: Apache-2.0
"""The plugin's shared object: its declarations of TensorFlow's C interface, its symbols, its needs."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tflms._library import library_path

from scripts import run_ok

ROOT = Path(__file__).resolve().parents[2]


def wheel_include() -> Path:
    spec = importlib.util.find_spec("tensorflow")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "include"


def check_layout(ours: str, theirs: str, members: str) -> str:
    lines = [f"static_assert(sizeof(abi::{ours}) == sizeof({theirs}));"]
    lines += [
        f'static_assert(offsetof(abi::{ours}, {m}) == offsetof({theirs}, {m}), "{m}");'
        for m in members.split()
    ]
    return "\n".join(lines)


def test_own_declarations_equal_those_of_the_wheel(tmp_path: Path) -> None:
    """Sizes, offsets, enumerators and function types of grappler_abi.h and tf_api.h."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ here")
    header = (ROOT / "src/tensorflow/plugin/grappler_abi.h").read_text()
    passes = " ".join(re.findall(r"^  TriState (\w+);", header, re.MULTILINE))
    assert passes.count(" ") == 18
    api = (ROOT / "src/tensorflow/plugin/tf_api.h").read_text()
    functions = re.findall(r"\(\*(\w+)\)\(", api)
    assert len(functions) == 17
    source = tmp_path / "abi.cc"
    source.write_text(
        "\n".join(
            [
                "#include <cstddef>",
                '#include "tensorflow/c/c_api.h"',
                '#include "tensorflow/c/experimental/grappler/grappler.h"',
                '#include "src/tensorflow/plugin/tf_api.h"',
                "using namespace tflms;",
                check_layout("Buffer", "TF_Buffer", "data length data_deallocator"),
                check_layout(
                    "OptimizerConfigs", "TP_OptimizerConfigs", f"struct_size ext {passes}"
                ),
                check_layout(
                    "Optimizer",
                    "TP_Optimizer",
                    "struct_size ext create_func optimize_func destroy_func",
                ),
                check_layout(
                    "RegistrationParams",
                    "TP_OptimizerRegistrationParams",
                    "struct_size ext major_version minor_version patch_version device_type "
                    "optimizer_configs optimizer",
                ),
                "static_assert(int{abi::kDefault} == TF_TriState_Default);",
                "static_assert(int{abi::kOff} == TF_TriState_Off);",
                "static_assert(int{abi::kOn} == TF_TriState_On);",
                "static_assert(sizeof(abi::TriState) == sizeof(TF_TriState));",
                "static_assert(abi::kOk == TF_OK && abi::kAborted == TF_ABORTED);",
                "static_assert(abi::kInvalidArgument == TF_INVALID_ARGUMENT);",
                "static_assert(sizeof(abi::Bool) == sizeof(TF_Bool));",
                # One number of parameters, and the functions exist under these names.
                "template <typename R, typename... A> constexpr int N(R (*)(A...)) "
                "{ return sizeof...(A); }",
                *[
                    f"static_assert(N(decltype(TfApi::{name}){{}}) == "
                    f'N(decltype(&TF_{name.title().replace("_", "")}){{}}), "{name}");'
                    for name in functions
                ],
            ]
        )
    )
    command = ["g++", "-std=c++20", "-fsyntax-only", f"-I{ROOT}", f"-I{ROOT / 'include'}"]
    command += [f"-isystem{wheel_include()}", str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr


def test_the_library_shows_two_symbols_and_needs_only_the_c_library() -> None:
    if shutil.which("nm") is None or shutil.which("readelf") is None:
        pytest.skip("no binutils here")
    path = str(library_path())
    names = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True)
    assert sorted(line.split()[-1] for line in names.stdout.splitlines()) == [
        "TF_InitGraph",
        "TflmsGetApi",
    ]
    needed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
    libraries = re.findall(r"NEEDED.*\[(.*?)\]", needed)
    assert libraries
    allowed = r"lib(c|m|dl|pthread)\.so\.\d+|ld-linux.*"
    assert all(re.fullmatch(allowed, name) for name in libraries), libraries


def test_the_library_loads_without_tensorflow() -> None:
    out = run_ok(
        """
        import sys
        from tflms._library import library
        assert library().settings()["registered_device_types"] == []
        assert library().option_table() and library().rule_table() and library().planner_table()
        print("tensorflow" in sys.modules)
        """
    )
    assert out.strip() == "False"
