# SPDX-License-Identifier: Apache-2.0
"""The wheel: what is in it, that it is tied to no Python version, and a fresh environment with it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import run_ok, run_script

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)],
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def fresh_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment that holds the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-deps", str(wheel)], check=True)
    return str(python)


def test_wheel_fits_every_python(wheel: Path) -> None:
    assert "-py3-none-linux_" in wheel.name


def test_wheel_holds_what_is_needed(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"tflms/libtflms.so", "tflms/tflms", "tflms/py.typed", "tflms_autostart.pth"} <= names
    sources = {Path(n).name for n in names if n.startswith("tflms/_sim_gpu_src/")}
    here = ROOT / "src" / "tensorflow" / "sim_gpu"
    assert sources == {p.name for p in here.iterdir() if p.suffix in (".cc", ".h")}
    # The plugin must not be found by every `import tensorflow`: that would list the devices.
    assert not any(name.startswith("tensorflow-plugins") for name in names)


def test_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [n for n in archive.namelist() if n.endswith("/METADATA")]
    metadata = archive.read(name).decode()
    assert "\nRequires-Python: >=3.9\n" in metadata
    # Nothing is needed: TensorFlow is the user's own, and pictures are an extra.
    needs = [line for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert all('extra == "pictures"' in line for line in needs)
    (scripts,) = [n for n in archive.namelist() if n.endswith("/entry_points.txt")]
    assert "tflms = tflms._cli:main" in archive.read(scripts).decode()


def test_plugin_exports_two_symbols_and_needs_no_tensorflow(wheel: Path, tmp_path: Path) -> None:
    library = zipfile.ZipFile(wheel).extract("tflms/libtflms.so", tmp_path)

    def nm(*flags: str) -> list[str]:
        command = ["nm", "-D", *flags, library]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [line.split()[-1] for line in text.splitlines()]

    assert sorted(nm("--defined-only")) == ["TF_InitGraph", "TflmsGetApi"]
    undefined = nm("--undefined-only")
    assert not [s for s in undefined if "tensorflow" in s or "protobuf" in s or s.startswith("TF_")]


def test_fresh_environment(fresh_python: str) -> None:
    """Works without TensorFlow as far as that makes sense, and says what is missing."""
    out = run_ok("import tflms; print(len(tflms.options()) > 5)", python=fresh_python)
    assert out.split() == ["True"]
    result = run_script("import tflms; tflms.enable()", python=fresh_python)
    assert result.returncode != 0
    assert "TflmsError: tflms needs TensorFlow, which is not installed here" in result.stderr


def test_start_up_file_is_silent_without_tensorflow(fresh_python: str) -> None:
    for environ in ({}, {"TFLMS": "1"}, {"TFLMS": "1", "TFLMS_SIM_GPU": "1"}, {"TFLMS": "0"}):
        result = run_script("print('ran')", python=fresh_python, **environ)
        assert (result.stdout, result.stderr, result.returncode) == ("ran\n", "", 0), environ


def test_pages_made_from_the_code_are_current() -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts" / "make_docs.py"), "--check"], check=True)
