# SPDX-License-Identifier: Apache-2.0
"""Building the simulated GPU's library: at once by many, without a compiler, into whose cache."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import stat

import pytest
from tflms import _simulated_gpu_build
from tflms._simulated_gpu_build import SimulatedGpuError


@pytest.fixture
def compiler(tmp_path: pathlib.Path) -> pathlib.Path:
    """A compiler that writes one byte where it is told to, and one line per call to a journal."""
    path = tmp_path / "fake-g++"
    path.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {tmp_path}/journal\n'
        'case "$*" in *broken*) echo "broken.cc:1: error: no such thing" >&2; exit 1;; esac\n'
        'while [ $# -gt 0 ]; do [ "$1" = -o ] && printf x > "$2"; shift; done\n'
        'echo "fake compiler 1"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_building_twice_at_once_does_no_harm(
    tmp_path: pathlib.Path, compiler: pathlib.Path
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "a.cc").touch()
    (sources / "b.cc").touch()
    library = tmp_path / "cache" / "key" / _simulated_gpu_build.LIBRARY
    build = lambda _: _simulated_gpu_build.build(sources, str(compiler), [], [], library)  # noqa: E731
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(build, range(4)))
    assert library.read_text() == "x"
    assert [p.name for p in library.parent.iterdir()] == [library.name], "nothing is left over"


def test_a_failed_build_shows_the_error(tmp_path: pathlib.Path, compiler: pathlib.Path) -> None:
    (tmp_path / "broken.cc").touch()
    library = tmp_path / "cache" / "key" / _simulated_gpu_build.LIBRARY
    with pytest.raises(_simulated_gpu_build.BuildError, match="error: no such thing"):
        _simulated_gpu_build.build(tmp_path, str(compiler), [], [], library)
    assert not library.exists()


def test_no_compiler_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(SimulatedGpuError, match="apt-get install"):
        _simulated_gpu_build.find_compiler()
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(SimulatedGpuError, match="CXX=no-such-compiler"):
        _simulated_gpu_build.find_compiler()


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _simulated_gpu_build.cache_folder() == tmp_path / "tflms"
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert _simulated_gpu_build.cache_folder().name == f"tflms-cache-{os.getuid()}"
