# SPDX-License-Identifier: Apache-2.0
"""Builds the simulated GPU's library for the TensorFlow that runs, and keeps it in a cache.

The cache key covers everything the library depends on: TensorFlow's version and build, the
sources, the compiler and its flags. A build goes into a folder of its own and is then renamed into
place, so processes that build at the same time do each other no harm.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

from tflms._errors import TflmsError

LIBRARY = "libtflms_sim_gpu.so"
EXTRA_FLAGS = ["-DNDEBUG", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]


class SimulatedGpuError(TflmsError):
    """The simulated GPU cannot be started or used; the message says what to do."""


class BuildError(SimulatedGpuError):
    """The library cannot be built; the message says what to do."""


def library_path() -> str:
    """Path of the library for the running TensorFlow; builds it when the cache has none."""
    sources = source_folder()
    compiler = find_compiler()
    flags, link_flags = tensorflow_flags()
    key = cache_key(sources, compiler, flags + link_flags)
    folder = cache_folder() / f"sim-gpu-{key}"
    library = folder / LIBRARY
    if not library.exists():
        build(sources, compiler, flags, link_flags, library)
    return str(library)


def source_folder() -> pathlib.Path:
    """Where the C++ sources are: in the installed package, or in a source checkout."""
    here = pathlib.Path(__file__).resolve().parent
    places = [here / "_sim_gpu_src", here.parent.parent / "src" / "tensorflow" / "sim_gpu"]
    for place in places:
        if any(place.glob("*.cc")):
            return place
    raise BuildError(
        "The sources of the simulated GPU are missing; looked in "
        + " and ".join(str(place) for place in places)
        + ". Install tflms again."
    )


def find_compiler() -> str:
    """Path of the C++ compiler: $CXX, else g++ or c++."""
    wanted = os.environ.get("CXX", "").split()
    for name in wanted[:1] or ["g++", "c++"]:
        found = shutil.which(name)
        if found:
            return found
    raise BuildError(
        "The simulated GPU needs a C++ compiler to be built for this TensorFlow, and none was found"
        + (f" as CXX={wanted[0]}" if wanted else " (g++, c++)")
        + ". Install one (Debian, Ubuntu: apt-get install g++), or name it in CXX."
    )


def tensorflow_flags() -> tuple[list[str], list[str]]:
    """Flags for compiling and for linking against the running TensorFlow."""
    import tensorflow as tf

    flags = []
    for flag in tf.sysconfig.get_compile_flags():
        # Its headers are not ours to warn about.
        flags += ["-isystem", flag[2:]] if flag.startswith("-I") else [flag]
    folder = pathlib.Path(tf.sysconfig.get_lib())
    link_flags = [f"-L{folder}", f"-Wl,-rpath,{folder}", "-l:libtensorflow_framework.so.2"]
    if (folder / "libtensorflow_cc.so.2").exists():
        link_flags.append("-l:libtensorflow_cc.so.2")
    return flags + EXTRA_FLAGS, link_flags


def cache_key(sources: pathlib.Path, compiler: str, flags: list[str]) -> str:
    """Hash over everything the library depends on."""
    import tensorflow as tf

    digest = hashlib.sha256()
    parts = [
        tf.__version__,
        tf.version.GIT_VERSION,
        tf.version.COMPILER_VERSION,
        platform.machine(),
        compiler,
        compiler_version(compiler),
        *flags,
    ]
    for part in parts:
        digest.update(part.encode() + b"\0")
    for path in sorted([*sources.glob("*.h"), *sources.glob("*.cc")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"tf{tf.__version__}-{digest.hexdigest()[:16]}"


def compiler_version(compiler: str) -> str:
    """What the compiler says it is."""
    try:
        result = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"The C++ compiler {compiler} does not run: {error}.") from error
    return result.stdout


def cache_folder() -> pathlib.Path:
    """The user's cache folder for tflms; a temporary one where that cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = pathlib.Path(base) / "tflms"
    with contextlib.suppress(OSError):  # seen by what follows
        folder.mkdir(parents=True, exist_ok=True)
    if os.access(folder, os.W_OK):
        return folder
    folder = pathlib.Path(tempfile.gettempdir()) / f"tflms-cache-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise BuildError(
            f"No cache folder can be written, and {folder} belongs to someone else. Set "
            "XDG_CACHE_HOME to a folder of yours."
        )
    return folder


def build(
    sources: pathlib.Path,
    compiler: str,
    flags: list[str],
    link_flags: list[str],
    library: pathlib.Path,
) -> None:
    """Compiles and links the library and renames it into place."""
    began = time.monotonic()
    print(
        "tflms: building the simulated GPU for this TensorFlow (once, about a minute) ...",
        file=sys.stderr,
        flush=True,
    )
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as work:
        commands, objects = [], []
        # Longest first, so that the last to end ends early.
        for path in sorted(sources.glob("*.cc"), key=lambda p: -p.stat().st_size):
            objects.append(os.path.join(work, path.stem + ".o"))
            commands.append([compiler, *flags, "-c", str(path), "-o", objects[-1]])
        jobs = max(1, min(os.cpu_count() or 1, len(commands), 4))
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(_run, commands))
        output = os.path.join(work, LIBRARY)
        _run([compiler, "-shared", "-o", output, *objects, *link_flags])
        os.replace(output, library)
    print(
        f"tflms: built {library} in {time.monotonic() - began:.0f} s.", file=sys.stderr, flush=True
    )


def _run(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines()
        errors = [line for line in lines if "error" in line] or lines
        raise BuildError(
            "The simulated GPU could not be built for this TensorFlow. The command\n  "
            + " ".join(command)
            + "\nsaid:\n  "
            + "\n  ".join(errors[:8])
        )
