# SPDX-License-Identifier: Apache-2.0
"""The command ``tflms``: its words for small graphs, exit codes, files of every kind.

Graphs are texts or files of tests/data; no TensorFlow in here. See test_cli_tensorflow.py for that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tflms import _cli

DATA = Path(__file__).resolve().parent.parent / "data"

# Three layers and their gradients: a0 and a1 wait for the way back.
SMALL = """\
x = Source : f32[262144] source t=0
a0 = Layer(x) : f32[262144] t=5
a1 = Layer(a0) : f32[262144] t=5
a2 = Layer(a1) : f32[262144] t=5
b2 = Grad(a2, a2) : f32[262144] t=5
b1 = Grad(b2, a1) : f32[262144] t=5
b0 = Grad(b1, a0) : f32[262144] t=5
s = Scalar(b0) : f32[] preserved
"""

INSPECTED = """\
graph: 8 nodes, 10 edges
  device                gpu
  variables, constants  0 bytes
  tensors               8, 7.0 MiB
  could be swapped      7, 7.0 MiB
  stay                  1, 4 bytes: it is fetched
  peak as it came       4.0 MiB at b2
  floor                 3.0 MiB at b1
  largest tensors (with their distance in levels)
  1.0 MiB  x   f32[262144]  1  may be swapped
  1.0 MiB  a0  f32[262144]  4  may be swapped
  largest operations (inputs, outputs and workspace)
  3.0 MiB  b1  Grad
  3.0 MiB  b0  Grad
  levels between two uses
    0   1 tensor  4 bytes  #
    1  5 tensors  5.0 MiB  ##############################
  2-3   1 tensor  1.0 MiB  ######
  4-7   1 tensor  1.0 MiB  ######
"""

PLANNED = """\
graph:
  device                gpu
  verdict               fits 3.8 MiB
  peak                  4.0 MiB -> 3.0 MiB
  floor                 3.0 MiB
  swapped               1 tensor, 1.0 MiB out, 1.0 MiB in a run
  order pinned          yes
  host peak             1.0 MiB
  bytes    tensor  leaves after  trigger  back for  away
  1.0 MiB  a0      a1            b1       b0        4 steps
"""


def run(*words: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs the command as the console script does."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TFLMS")}
    return subprocess.run(
        [sys.executable, "-m", "tflms._cli", *map(str, words)],
        capture_output=True,
        text=True,
        env={**environment, **environ},
        check=False,
    )


def ok(*words: str | Path, **environ: str) -> str:
    """Runs the command, which must end well, and gives what it printed."""
    result = run(*words, **environ)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.txt"
    path.write_text(SMALL)
    return path


def body(text: str) -> str:
    """An answer without its first line, which names the file."""
    return text.split("\n", 1)[1]


def test_inspect(small: Path) -> None:
    assert body(ok("inspect", small, "--top", "2")) == INSPECTED


def test_show_gives_the_text_that_every_command_reads(small: Path) -> None:
    assert ok("show", small) == SMALL


def test_plan(small: Path) -> None:
    assert body(ok("plan", small, "--budget-bytes", "3.8MiB")) == PLANNED


def test_tune_says_what_is_the_case(small: Path) -> None:
    assert "  not needed: everything fits 64.0 MiB\n" in ok(
        "tune", small, "--budget-bytes", "64MiB"
    )
    fits = ok("tune", small, "--budget-bytes", "3.8MiB")
    assert "  fits with these settings\n  --budget-bytes        3984588\n" in fits
    small.write_text(SMALL.replace("a1 = Layer(a0) : f32[262144]", "a1 = Layer(a0) : f32[?]"))
    unknown = run("tune", small, "--budget-bytes", "64MiB")
    assert unknown.returncode == 1
    assert "  cannot be told: some sizes are unknown; give --batch-size\n" in unknown.stdout
    small.write_text(SMALL)
    cannot = run("tune", small, "--budget-bytes", "2MiB")
    assert cannot.returncode == 1
    assert "  cannot fit: floor is 3.0 MiB at b1\n" in cannot.stdout


def test_explain(small: Path) -> None:
    swapped = ok("explain", small, "a0", "--budget-bytes", "3.8MiB")
    assert "    leaves after" in swapped
    assert ok("explain", small, "a0:0", "--budget-bytes", "3.8MiB") == swapped
    kept = ok("explain", small, "b2", "--budget-bytes", "3.8MiB")
    assert "    stays               the plan does without" in kept


def test_simulate_agrees_with_plan(small: Path) -> None:
    words = (small, "--budget-bytes", "3.8MiB", "--json")
    plan = json.loads(ok("plan", *words))["graphs"][0]["devices"][0]
    simulated = json.loads(ok("simulate", *words))["graphs"][0]["devices"][0]
    assert simulated["as_it_came"]["peak_bytes"] == plan["peak_bytes_before"]
    assert simulated["planned"]["peak_bytes"] == plan["peak_bytes_after"]
    assert simulated["planned"]["replays_that_fit"] == simulated["planned"]["replays"]
    timeline = simulated["planned"]["timeline"]
    assert [point["node"] for point in timeline] == ["x", "a0", "a1", "a2", "b2", "b1", "b0", "s"]
    assert max(point["running_bytes"] for point in timeline) <= plan["peak_bytes_after"]


def test_rewrite_verify_and_diff(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    ok("rewrite", small, "-o", out, "--budget-bytes", "3.8MiB")
    assert "role=swap-in" in out.read_text()
    assert ok("verify", small, out).startswith("graph: the laws hold; ")
    # The plan in the rewritten graph is the one that is made for the graph as it came.
    assert ok("diff", small, out, "--budget-bytes", "3.8MiB") == "the plans are the same\n"
    plan = tmp_path / "plan.json"
    ok("plan", small, "-o", plan, "--budget-bytes", "3.8MiB")
    other = json.loads(ok("diff", plan, small, "--budget-bytes", "64MiB", "--json"))
    assert not other["same"]
    assert {swap["tensor"] for swap in other["devices"][0]["only_in_a"]} >= {"a0"}
    # Once is enough.
    again = tmp_path / "again.txt"
    said = ok("rewrite", out, "-o", again)
    assert "already-done" in said
    assert "  swapped before " in said
    assert "  swapped  " not in said
    assert again.read_bytes() == out.read_bytes()


def test_verify_names_the_law(small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(SMALL.replace("a2 = Layer(a1)", "a2 = Layer(a0)"))
    result = run("verify", small, other)
    assert result.returncode == 1
    assert "graph: law broken: L6 node `a2`" in result.stdout
    other.write_text(SMALL.replace("b0 = Grad", "b0 = Other"))
    assert "L3 node `b0`: its operation was changed" in run("verify", small, other).stdout


def test_files_of_test_data_pass(tmp_path: Path) -> None:
    for path in sorted(DATA.glob("*.pb")):
        out = tmp_path / path.name
        ok("rewrite", path, "-o", out, "--no-infer-shapes", "--swapout-threshold", "1000000")
        assert out.read_bytes() == path.read_bytes()
        ok("rewrite", path, "-o", out, "--no-infer-shapes", "--swapout-threshold", "1",
           "--min-swap-bytes", "1")  # fmt: skip
        assert "rest of the file: the same\n" in ok("verify", path, out)


def test_exit_status_1_when_it_does_not_fit(small: Path) -> None:
    for command in ("plan", "simulate", "tune"):
        assert run(command, small, "--budget-bytes", "2MiB").returncode == 1, command


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "expected a command"),
        (("frobnicate",), "frobnicate"),
        (("inspect",), "GRAPH"),
        (("inspect", "{small}", "--nonsense"), "--nonsense"),
        (("plan", "{small}", "--lb", "0"), "--lb: option lb: expected 1 .. 1000000, found `0`"),
        (("plan", "{small}", "--budget-bytes", "4XB"), "found `4XB`"),
        (("tune", "{small}"), "expected a budget"),
        (("explain", "{small}", "nobody"), "has no node `nobody`"),
        (("explain", "{small}", "a0:99"), "`a0` has no output 99; it has 1 output"),
        (("explain", "{small}", "a0:x"), "`a0` has no output x"),
        (("explain", "{small}", "a0:-1"), "`a0` has no output -1"),
        (("plan", "{small}", "--lb", "10", "--ub", "2"), "found lb = 10, ub = 2"),
        (("plan", "{small}", "--swapin-ahead", "0"), "1 .. 1000000, found `0`"),
        (("explain", "{small}", "a"), "there is `a0`, `a1`, `a2`"),
        (("inspect", "{small}", "--graph", "other"), "it has `graph`"),
        (("plan", "{small}", "--run"), "--run"),
    ],
)
def test_exit_status_2_for_wrong_arguments(
    words: tuple[str, ...], reason: str, small: Path
) -> None:
    result = run(*(str(small) if word == "{small}" else word for word in words))
    assert result.returncode == 2
    assert reason in result.stderr
    assert result.stdout == ""


def test_exit_status_2_for_a_bad_environment(small: Path) -> None:
    result = run("plan", small, TFLMS_LB="x")
    assert (result.returncode, "TFLMS_LB" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "is damaged, cut off or no graph"),
        (b"What is this?\n", "line 1"),
        (b'{"graphs": 1}', "line 1"),
    ],
)
def test_exit_status_3_for_what_is_no_graph(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "graph"
    path.write_bytes(content)
    out = tmp_path / "out"
    result = run("rewrite", path, "-o", out)
    assert result.returncode == 3
    assert result.stderr.startswith(f"tflms: {path}: ")
    assert reason in result.stderr
    assert not out.exists()


def test_cut_off_files_give_a_reason_and_no_output(tmp_path: Path) -> None:
    whole = (DATA / "mlp_adam.pb").read_bytes()
    out = tmp_path / "out"
    for part in (1, 7, len(whole) // 2, len(whole) - 1):
        path = tmp_path / "cut.pb"
        path.write_bytes(whole[:part])
        result = run("rewrite", path, "-o", out, "--no-infer-shapes")
        assert (result.returncode, result.stdout) == (3, ""), part
        assert sorted(p.name for p in tmp_path.iterdir()) == ["cut.pb"]


def test_exit_status_3_for_files_that_are_not_there(small: Path, tmp_path: Path) -> None:
    assert "no such file" in run("show", tmp_path / "none").stderr
    assert "without a saved_model.pb" in run("show", tmp_path).stderr
    result = run("rewrite", small, "-o", tmp_path / "none" / "out")
    assert (result.returncode, "cannot be written" in result.stderr) == (3, True)


def test_exit_status_3_for_a_file_that_cannot_be_read() -> None:
    """Reading /proc/self/mem from its start is an I/O error."""
    result = run("inspect", "/proc/self/mem")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("tflms: /proc/self/mem: cannot be read")


def test_links_and_standard_output_are_written_through(small: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    ok("rewrite", small, "-o", plain, "--budget-bytes", "3.8MiB")
    link = tmp_path / "link"
    link.symlink_to("target")
    ok("rewrite", small, "-o", link, "--budget-bytes", "3.8MiB")
    assert link.is_symlink()
    assert (tmp_path / "target").read_bytes() == plain.read_bytes()
    # The graph alone goes to standard output; what is said about it does not.
    result = run("rewrite", small, "-o", "/dev/stdout", "--budget-bytes", "3.8MiB")
    assert (result.returncode, result.stdout) == (0, plain.read_text())
    assert "/dev/stdout: written, rewritten" in result.stderr


def test_a_text_file_behind_a_link_is_replaced_and_a_pipe_is_not(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "target").chmod(0o600)
    (tmp_path / "link").symlink_to("target")
    _cli.write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o600
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    _cli.write_whole(pipe, "through")
    assert os.read(reader, 16) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "pipe", "target"]


def test_a_device_type_that_is_not_there_is_answered_with_those_that_are(small: Path) -> None:
    text = ok("plan", small, "--device-type", "XPU")
    assert "no operation" not in text  # `gpu` of the text form is the accelerator, by any name
    small.write_text("device c host\nx = Source : f32[262144] @c\n")
    for command in (("plan", small), ("rewrite", small, "-o", small.parent / "o")):
        text = ok(*command, "--device-type", "XPU")
        assert "device of type XPU; the graph's operations are on c" in text


def test_assumed_places_are_doubted_when_other_devices_have_nodes() -> None:
    path = DATA / "mlp_adam.pb"
    text = ok("plan", path, "--no-infer-shapes", "--device-type", "XPU")
    assert "on /device:XPU:0 (--place), though " in text
    assert "GPU:0 has nodes; is --device-type right?" in text
    assert ", though " not in ok("plan", path, "--no-infer-shapes")


def test_sizes_with_units_in_the_environment(small: Path) -> None:
    by_flag = ok("plan", small, "--budget-bytes", "3.8MiB")
    assert ok("plan", small, TFLMS_BUDGET_BYTES="3.8MiB") == by_flag
    assert ok("plan", small, TFLMS_BUDGET_BYTES="") == ok("plan", small)


def test_help_names_every_command_and_exit_status() -> None:
    text = ok("--help")
    for command in _cli._GRAPHS:
        assert f"\n  {command} " in text
        assert "Example: tflms " + command in ok(command, "--help")
    assert "Exit status: 0 fine; 1 laws are broken" in text


def test_every_option_is_a_flag() -> None:
    options = json.loads(ok("--list-options", "--json"))
    text = ok("plan", "--help")
    assert [o["flag"] for o in options if f"  {o['flag']} " not in text] == []
    assert {"budget_bytes", "planner"} <= {o["name"] for o in options}


def test_lists_come_from_the_catalogs() -> None:
    from tflms._library import library

    rules = json.loads(ok("--list-rules", "--json"))
    assert rules == library().rule_table()
    planners = json.loads(ok("--list-planners", "--json"))
    assert [p["name"] for p in planners] == [p["name"] for p in library().planner_table()]
    assert ok("--list-rules").startswith("recompute\n    ")


def test_json_and_text_are_both_there_for_every_command(small: Path, tmp_path: Path) -> None:
    budget = ("--budget-bytes", "3.8MiB")
    for words in (
        ("inspect", small),
        ("plan", small, *budget),
        ("rewrite", small, "-o", tmp_path / "o", *budget),
        ("simulate", small, *budget),
        ("tune", small, *budget),
        ("explain", small, "a0", *budget),
        ("diff", small, small, *budget),
        ("verify", small, small),
        ("show", small),
    ):
        assert isinstance(json.loads(ok(*words, "--json")), dict), words
        assert ok(*words).strip(), words


def test_arguments_are_sorted() -> None:
    words = _cli.sort_arguments(
        ["--json", "verify", "--budget-bytes", "4", "a", "--lb=3", "b", "--run", "--fetch", "--run"]
    )
    assert (words.command, words.graphs, words.own) == ("verify", ["a", "b"], {"--run"})
    assert words.value("--budget-bytes") == "4"
    assert words.value("--lb") == "3"
    assert words.rest[-1] == "--run"  # a value, not a switch


def test_shapes_are_asked_for_only_where_there_are_none() -> None:
    assert _cli.lacks_shapes((DATA / "mlp_adam.pb").read_bytes()) != (
        b"_output_shapes" in (DATA / "mlp_adam.pb").read_bytes()
    )
    assert not _cli.lacks_shapes(b"")
    assert not _cli.lacks_shapes(SMALL.encode())
    assert _cli.is_protobuf_text(b'node {\n  name: "x"\n}\n')
    assert not _cli.is_protobuf_text(SMALL.encode())
