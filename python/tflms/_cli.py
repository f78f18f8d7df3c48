# SPDX-License-Identifier: Apache-2.0
"""The command ``tflms``: runs the binary of the package, and does with TensorFlow what it cannot.

The binary reads and writes every binary file by itself, and this module then only hands over to it.
TensorFlow is imported for three things: files in protobuf's text format, sizes that a file does not
say (``--infer-shapes``), and ``verify --run``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tflms._errors import TflmsError

NOT_SATISFIED, USAGE, NO_INPUT = 1, 2, 3

# How many of a command's arguments are graphs.
_GRAPHS = {
    "inspect": 1,
    "plan": 1,
    "rewrite": 1,
    "simulate": 1,
    "tune": 1,
    "curve": 1,
    "explain": 1,
    "show": 1,
    "diff": 2,
    "verify": 2,
}
_SWITCHES = {
    "--json",
    "-h",
    "--help",
    "--version",
    "--list-rules",
    "--list-planners",
    "--list-options",
}
_OWN_SWITCHES = {"--infer-shapes", "--no-infer-shapes", "--run"}
_SHAPES = b"_output_shapes"
_TEXT_MARKS = (
    b"node {",
    b"library {",
    b"versions {",
    b"meta_info_def {",
    b"graph_def {",
    b"meta_graphs {",
    b"saved_model_schema_version:",
)
_OWN_HELP = """
With TensorFlow installed, the command of the Python package also has:
  --infer-shapes, --no-infer-shapes
                              Lets TensorFlow infer the sizes that a file does not say. On by
                              default for files without a single _output_shapes attribute
  --run                       verify: also runs both graphs on random feeds, and compares every
                              result bit for bit
  Files in protobuf's text format (.pbtxt) are read, and written by `rewrite`.
"""


@dataclass
class Words:
    """The arguments, sorted.

    Attributes:
        command: the subcommand, or ``""``.
        places: where in `rest` the graphs stand.
        rest: all arguments for the binary.
        own: the switches of this module that were given.
    """

    command: str = ""
    places: list[int] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)

    @property
    def graphs(self) -> list[str]:
        return [self.rest[place] for place in self.places]

    def flag(self, *names: str) -> int:
        """Where the value of a flag stands in `rest`; -1 for a flag that was not given."""
        for i, word in enumerate(self.rest[:-1]):
            if word in names:
                return i + 1
        return -1

    def value(self, *names: str) -> str:
        """The value of a flag, or ``""``."""
        for word in self.rest:
            for name in names:
                if word.startswith(name + "="):
                    return word[len(name) + 1 :]
        at = self.flag(*names)
        return self.rest[at] if at >= 0 else ""


def sort_arguments(arguments: list[str]) -> Words:
    """Finds command, graphs and own switches among the arguments."""
    words = Words()
    is_value = False
    for word in arguments:
        if word in _OWN_SWITCHES and not is_value:
            words.own.add(word)
            continue
        if is_value:
            is_value = False
        elif word.startswith("-") and word != "-":
            is_value = word not in _SWITCHES and "=" not in word
        elif not words.command:
            words.command = word
        elif len(words.places) < _GRAPHS.get(words.command, 0):
            words.places.append(len(words.rest))
        words.rest.append(word)
    return words


def binary() -> str:
    """Where the package's binary is.

    Raises:
        TflmsError: it is not there.
    """
    path = Path(__file__).resolve().parent / "tflms"
    if not path.is_file():
        raise TflmsError(
            f"{path} is missing: this copy of tflms was built without the command. Install it with "
            "`pip install .` from its source folder."
        )
    return str(path)


def content_path(path: str) -> Path:
    """The file itself, for a SavedModel's folder the one in it."""
    for name in ("saved_model.pb", "saved_model.pbtxt"):
        if (Path(path) / name).is_file():
            return Path(path) / name
    return Path(path)


def read_file(path: Path) -> bytes:
    """What is in the file.

    Raises:
        TflmsError: it cannot be read; the message names it.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise TflmsError(f"{path}: cannot be read: {error.strerror}") from error


def write_whole(path: Path, text: str) -> None:
    """Writes a file as a whole or not at all; behind a link, and into what is no file."""
    if path.exists() and not path.is_file():
        path.write_text(text)
        return
    target = path.resolve()
    beside = target.with_name(f"{target.name}.tflms-{os.getpid()}")
    try:
        beside.write_text(text)
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def is_protobuf_text(content: bytes) -> bool:
    """Whether this is protobuf's text format (not the text form of tflms)."""
    head = b"\n" + content
    return b"\x00" not in content and any(b"\n" + mark in head for mark in _TEXT_MARKS)


def lacks_shapes(content: bytes) -> bool:
    """Whether this is a binary file that says no shape at all."""
    is_text = not content or content[:1] not in (b"\x08", b"\x0a", b"\x12")
    return not is_text and b"\x12" in content and _SHAPES not in content


def has_tensorflow() -> bool:
    return importlib.util.find_spec("tensorflow") is not None


class Preparation:
    """Files that stand in for those the binary cannot read, in a temporary folder."""

    def __init__(self, words: Words, folder: str) -> None:
        self.words = words
        self.folder = Path(folder)
        self.text_out = ""  # where `rewrite` is to leave a text file

    def run(self) -> None:
        for number, place in enumerate(self.words.places):
            path = content_path(self.words.rest[place])
            if not path.is_file():
                continue
            content = read_file(path)
            if is_protobuf_text(content):
                content = self._convert(place, number, path, content)
            self._infer_shapes(number, content)

    def _convert(self, place: int, number: int, path: Path, content: bytes) -> bytes:
        from tflms import _cli_tensorflow

        binary_content = _cli_tensorflow.from_text(content)
        stand_in = self.folder / f"{number}-{path.stem}.pb"
        stand_in.write_bytes(binary_content)
        self.words.rest[place] = str(stand_in)
        out = self.words.flag("-o", "--out")
        if self.words.command == "rewrite" and out >= 0:
            self.text_out = self.words.rest[out]
            self.words.rest[out] = str(self.folder / "out.pb")
        return binary_content

    def _infer_shapes(self, number: int, content: bytes) -> None:
        wanted = "--infer-shapes" in self.words.own
        by_itself = "--no-infer-shapes" not in self.words.own and has_tensorflow()
        if self.words.command in ("verify", "diff") or self.words.value("--shapes"):
            return
        if not wanted and not (by_itself and lacks_shapes(content)):
            return
        from tflms import _cli_tensorflow

        annotated = self.folder / f"{number}-shapes.pb"
        annotated.write_bytes(_cli_tensorflow.with_shapes(content))
        self.words.rest += ["--shapes", str(annotated)]

    def answers(self) -> TextIO | None:
        """Where answers go (None: standard output), away from what ``-o`` fills."""
        out = Path(self.text_out)
        return sys.stderr if self.text_out and out.exists() and not out.is_file() else None

    def finish(self) -> None:
        """Puts what `rewrite` wrote where it is wanted, in the format of the input."""
        written = self.folder / "out.pb"
        if not self.text_out or not written.is_file():
            return
        from tflms import _cli_tensorflow

        text = _cli_tensorflow.to_text(written.read_bytes())
        write_whole(Path(self.text_out), text)
        print(f"{self.text_out}: written in protobuf's text format", file=self.answers())


def needs_preparation(words: Words) -> bool:
    """Whether any of the graphs calls for TensorFlow."""
    if "--infer-shapes" in words.own:
        return True
    by_itself = "--no-infer-shapes" not in words.own and words.command not in ("verify", "diff")
    for graph in words.graphs:
        path = content_path(graph)
        if not path.is_file():
            continue
        content = read_file(path)
        if is_protobuf_text(content):
            return True
        if by_itself and lacks_shapes(content) and not words.value("--shapes") and has_tensorflow():
            return True
    return False


def run_prepared(words: Words) -> int:
    """Runs the binary on files prepared with TensorFlow."""
    from tflms import _tensorflow

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    _tensorflow.require()
    with tempfile.TemporaryDirectory(prefix="tflms-") as folder:
        preparation = Preparation(words, folder)
        preparation.run()
        answers = preparation.answers()
        code = subprocess.run([binary(), *words.rest], stdout=answers, check=False).returncode
        preparation.finish()
        if code == 0 and "--run" in words.own:
            code = run_both(words)
    return code


def run_both(words: Words) -> int:
    """Runs the two graphs of ``verify`` and prints which results differ."""
    from tflms import _cli_run

    batch_size = words.value("--batch-size")
    fetch = [words.rest[i + 1] for i, word in enumerate(words.rest[:-1]) if word == "--fetch"]
    original, rewritten = words.graphs
    faults = _cli_run.compare(original, rewritten, fetch, int(batch_size) if batch_size else 0)
    if "--json" not in words.rest:
        print(
            "\n".join(f"run: {fault}" for fault in faults)
            or "run: every result is the same, bit for bit"
        )
    elif faults:
        print("\n".join(f"run: {fault}" for fault in faults), file=sys.stderr)
    return NOT_SATISFIED if faults else 0


def print_help(words: Words) -> int:
    code = subprocess.run([binary(), *words.rest], check=False).returncode
    sys.stdout.write(_OWN_HELP)
    return code


def run(arguments: list[str]) -> int:
    """Runs the command; does not come back where the binary takes over."""
    words = sort_arguments(arguments)
    if "--run" in words.own and words.command != "verify":
        print("tflms: --run: only `tflms verify` runs graphs", file=sys.stderr)
        return USAGE
    if "-h" in words.rest or "--help" in words.rest:
        return print_help(words)
    if "--run" in words.own or needs_preparation(words):
        return run_prepared(words)
    command = binary()
    os.execv(command, [command, *words.rest])


def main() -> None:
    """The entry point of the console script."""
    try:
        code = run(sys.argv[1:])
    except (TflmsError, OSError, ValueError) as error:
        print(f"tflms: {error}", file=sys.stderr)
        code = NO_INPUT
    sys.exit(code)


if __name__ == "__main__":
    main()
