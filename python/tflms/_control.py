# SPDX-License-Identifier: Apache-2.0
"""Turning tflms on and off."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Any, Union

from tflms import _batch, _keras, _keras_steps, _sessions, _simulated_gpu, _tensorflow
from tflms._budget import find_budget
from tflms._errors import TflmsError
from tflms._library import library
from tflms._machine import find_machine
from tflms._options import set_by_environment, warn_about_unknown_variables
from tflms._values import plain_value

# A list of words, or one text with commas between them.
Words = Union[str, Collection[str]]
# A number of bytes, or text with a unit: "360 MiB".
Size = Union[int, str]
Folder = Union[str, "os.PathLike[str]"]


def enable(
    *,
    device_type: str | None = None,
    host_device: str | None = None,
    budget_bytes: Size | None = None,
    batch_size: int | None = None,
    safety: float | None = None,
    host_budget_bytes: Size | None = None,
    planner: str | None = None,
    swapout_threshold: int | None = None,
    swapin_groupby: int | None = None,
    swapin_ahead: int | None = None,
    sync_mode: int | None = None,
    n_tensors: int | None = None,
    min_swap_bytes: Size | None = None,
    swap_branches: bool | str | None = None,
    branch_threshold: int | None = None,
    recompute: str | None = None,
    split: bool | str | None = None,
    include_output_scopes: Words | None = None,
    include_output_types: Words | None = None,
    include_output_names: Words | None = None,
    exclude_output_scopes: Words | None = None,
    exclude_output_types: Words | None = None,
    exclude_output_names: Words | None = None,
    include_input_scopes: Words | None = None,
    include_input_types: Words | None = None,
    include_input_names: Words | None = None,
    exclude_input_scopes: Words | None = None,
    exclude_input_types: Words | None = None,
    exclude_input_names: Words | None = None,
    trigger_strategy: str | None = None,
    lb: int | None = None,
    ub: int | None = None,
    pin_order: str | None = None,
    serialization: Words | None = None,
    serialization_bytes: Size | None = None,
    machine: Folder | None = None,
    profile: Folder | None = None,
    link_out_bytes_per_s: Size | None = None,
    link_in_bytes_per_s: Size | None = None,
    conv_workspace_bytes: Size | None = None,
    feedback: bool | str | None = None,
    log_level: str | None = None,
    time_limit_ms: int | None = None,
    dump_dir: Folder | None = None,
    plan: Folder | None = None,
    cache_dir: Folder | None = None,
) -> None:
    """Rewrites every graph that TensorFlow optimises from now on, so that it needs less memory.

    Call it before the first training step. It imports TensorFlow if that has not happened yet, and
    does not start its devices. Functions and sessions that ran before the call keep running as
    they are; what is traced later is rewritten (a warning says so when there is something of the
    kind). Calling it again replaces all options. Keras models whose ``jit_compile`` is ``"auto"``
    (the default) are no longer compiled by XLA while tflms is on, since no graph pass could reach
    them; an explicit ``jit_compile=True`` is left alone and shows up in ``tflms.report()``.

    ``None`` stands for the environment variable ``TFLMS_<NAME>`` or, when that is not set, for the
    default. ``print(tflms.options())`` shows all options with range and present value. Options in
    bytes also take text with a unit, ``"360 MiB"`` or ``"4GB"``, here and in the environment.

    Args:
        device_type: accelerator type, as in ``/device:GPU:0``. Default ``GPU``.
        host_device: device of the swapped tensors, same job and task. Default ``CPU:0``.
        budget_bytes: device memory that a step may use. Default 0: the memory limit of the
            simulated GPU, or of the real one where it can be told, else not known.
        batch_size: fills unknown first extents of what a step is fed. Default 0: what Keras's data
            says when ``fit`` opens it; elsewhere they stay unknown.
        safety: part of the budget that plans may fill. Default 0.95.
        host_budget_bytes: host memory that swapped tensors may take. When ``budget_bytes`` cannot
            hold with it, graphs are left as they are, and the report says what would do. Default 0:
            no limit.
        planner: which planner chooses: ``joint`` swaps and recomputes, by the time that adds;
            ``level-distance`` swaps what is far from its next use. Default ``joint``.
        swapout_threshold: swap tensors unused for more than this many levels. Default -1: found
            from the budget.
        swapin_groupby: readers within this many levels share one swap-in. Default -1: automatic.
        swapin_ahead: bring a tensor back this many levels ahead. Default -1: automatic.
        sync_mode: 0 none, 1 wait for swap-outs, 2 for swap-ins, 3 for both. Default -1: automatic.
        n_tensors: swap at most this many tensors. Default -1: as many as it takes.
        min_swap_bytes: smaller tensors are never swapped. Default 65536.
        swap_branches: whether tensors are swapped across skip connections of the forward part too.
            Default ``yes``.
        branch_threshold: swap across skip connections longer than this many levels. Default -1: as
            ``swapout_threshold``.
        recompute: ``never``: no operation runs twice, tensors are only swapped. Default ``auto``:
            where that costs less.
        split: whether an operation that is above the budget by itself runs in pieces along the batch,
            where that gives the same bits. Default ``no``.
        include_output_scopes, include_output_types, include_output_names: swap only tensors made by
            operations in these scopes, of these types, or whose name fits one of these patterns
            (``*`` and ``?``); a list, or text with commas. Default: all.
        exclude_output_scopes, exclude_output_types, exclude_output_names: do not swap those.
        include_input_scopes, include_input_types, include_input_names: only these operations read
            tensors that have been away. Default: all.
        exclude_input_scopes, exclude_input_types, exclude_input_names: tensors stay on the device
            until these operations have read them.
        trigger_strategy: how the node that starts a swap-in is found. Default ``planned``.
        lb: a trigger is at least this many levels before the reader. Default 1.
        ub: a trigger is at most this many levels before the reader. Default 10000.
        pin_order: whether the order of execution is fixed. Default ``auto``.
        serialization: fix it on these slices of levels only, ``"4:8,20:"``. Default: everywhere.
        serialization_bytes: fix it on levels that make more bytes than this. Default 0: off.
        machine: how fast the accelerator is: a name such as ``"v100-pcie3"`` or a JSON file, see
            docs/costs.md. Default ``auto``: what the driver or the simulated GPU says, else
            ``neutral``.
        profile: file with measured times, from ``tflms.record_profile``. Default: none.
        link_out_bytes_per_s, link_in_bytes_per_s: rate of copies to and from the host. Default 0:
            as the profile or the machine says.
        conv_workspace_bytes: scratch that each convolution is taken to hold. Default 0.
        feedback: whether what copies and operations really took corrects the costs of graphs traced
            later; on simulated GPUs only. Default ``yes``.
        log_level: how much is logged. Default ``info``.
        time_limit_ms: planning stops with its best so far after this time. Default 20000.
        dump_dir: graphs before and after are written here. Default: not written.
        plan: a plan file, as ``tflms.save_plan()`` or ``tflms plan -o`` wrote it: its plans are used
            for the graphs they fit. Default: every graph is planned.
        cache_dir: where plans are kept for later processes, ``auto``, ``off`` or a folder.
            Default ``auto``: ``tflms/plans`` under ``$XDG_CACHE_HOME`` or ``~/.cache``.

    Raises:
        ValueError: a value is out of range; the message lists what is allowed.
        TflmsError: TensorFlow is missing, broken or older than 2.13.
    """
    given = locals()
    values = {name: plain_value(name, v) for name, v in given.items() if v is not None}
    _tensorflow.require()
    _enable(values)


# The options of the last `enable()`, with the budget that was found.
_in_force: dict[str, Any] = {}


def _tell_batch_size(size: int) -> None:
    """Sets the option for graphs from now on, unless the user has set it."""
    if "batch_size" in _in_force or set_by_environment("batch_size") or not is_enabled():
        return
    library().configure(True, {**_in_force, "batch_size": size})


@contextlib.contextmanager
def _off_for_now() -> Iterator[None]:
    """Graphs pass as they come while this is open."""
    settings = library().settings()
    if not settings["on"]:
        yield
        return
    library().configure(False, {})
    try:
        yield
    finally:
        library().configure(True, _in_force)


def _enable(values: dict[str, Any]) -> None:
    """``enable`` with the options that were given."""
    global _in_force
    plugin = library()
    before = plugin.settings()
    plugin.configure(True, values)  # raises on bad values, settings unchanged
    device_type = str(plugin.settings()["options"]["device_type"])
    if "budget_bytes" not in values and not set_by_environment("budget_bytes"):
        budget = find_budget(device_type)
        if budget:
            values = {**values, "budget_bytes": budget}
            plugin.configure(True, values)
    if "machine" not in values and not set_by_environment("machine"):
        found = find_machine(device_type, values)
        found = {name: value for name, value in found.items() if not set_by_environment(name)}
        values = {**found, **values}
        plugin.configure(True, values)
    _in_force = values
    _read_counters(device_type)
    if not before["on"]:
        plugin.clear_reports()
    if device_type not in before["registered_device_types"]:
        _tensorflow.load_plugin(plugin.path)
        _check_registered(device_type)
    _tensorflow.warn_about_earlier_functions()
    warn_about_unknown_variables()
    _keras.turn_off_automatic_compilation()
    _batch.watch(_tell_batch_size)
    _keras_steps.take_steps_out_of_loops()
    _sessions.leave_partial_runs_alone(_off_for_now)


def _read_counters(device_type: str) -> None:
    """Gives the plugin the counters of the simulated devices, where feedback is on."""
    simulated = _simulated_gpu.simulated_gpu()
    if simulated is None or simulated.device_type != device_type:
        return
    plugin = library()
    plugin.set_counters(*simulated.time_runs(plugin.settings()["options"]["feedback"] == "yes"))


def _check_registered(device_type: str) -> None:
    """Raises when the plugin was loaded but did not register; it has logged why."""
    plugin = library()
    if device_type not in plugin.settings()["registered_device_types"]:
        plugin.configure(False, {})
        raise TflmsError(
            f"the plugin did not register for device type {device_type!r}; the line it logged "
            "says why. Another copy of tflms in this process may have done so: uninstall one."
        )


def disable() -> None:
    """Leaves every graph that TensorFlow optimises from now on as it comes.

    What was rewritten before stays so until it is traced again. Reports are kept.
    """
    library().configure(False, {})
    _keras.restore_automatic_compilation()
    _keras_steps.leave_steps_in_loops()


def is_enabled() -> bool:
    """Whether graphs are being rewritten."""
    plugin_settings = library().settings()
    return bool(plugin_settings["on"]) and bool(plugin_settings["registered_device_types"])
