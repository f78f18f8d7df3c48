# SPDX-License-Identifier: Apache-2.0
"""Writes src/tensorflow/op_signatures.inc from the op registry of the installed TensorFlow.

    python scripts/make_op_signatures.py > src/tensorflow/op_signatures.inc

One row an operation: {name, outputs, stateful, ref inputs}. `outputs` lists the output arguments,
separated by commas, each as

    attr        the type is that attribute's           "T"
    :name       a fixed type, by its short name        ":f32"
    n*type      n outputs, n an integer attribute      "N*T"
    @attr       one output for each type of a list     "@Tout"

An attribute with a default value is written attr?default; a trailing & marks a reference. `ref
inputs` has bit i set when input argument i takes a reference, and is all ones when references
stand behind an argument of variable length.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

SHORT_NAMES = {
    1: "f32",
    2: "f64",
    3: "i32",
    4: "u8",
    5: "i16",
    6: "i8",
    7: "string",
    8: "c64",
    9: "i64",
    10: "bool",
    11: "q8",
    12: "qu8",
    13: "q32",
    14: "bf16",
    15: "q16",
    16: "qu16",
    17: "u16",
    18: "c128",
    19: "f16",
    20: "resource",
    21: "variant",
    22: "u32",
    23: "u64",
    24: "f8e5m2",
    25: "f8e4m3",
    29: "i4",
    30: "u4",
}
ALL_REFS = 0xFFFF


def with_default(attr: str, defaults: dict) -> str:
    """The attribute's name, with its default value where it has one."""
    value = defaults.get(attr)
    if value is None:
        return attr
    if value.HasField("type"):
        return f"{attr}?{SHORT_NAMES[value.type]}"
    if value.HasField("i"):
        return f"{attr}?{value.i}"
    return attr


def output_spec(arg, defaults: dict) -> str:
    """One output argument in the form described above."""
    if arg.type_list_attr:
        spec = "@" + arg.type_list_attr
    elif arg.type_attr:
        spec = with_default(arg.type_attr, defaults)
    else:
        spec = ":" + SHORT_NAMES[arg.type]
    if arg.number_attr:
        spec = with_default(arg.number_attr, defaults) + "*" + spec
    return spec + ("&" if arg.is_ref else "")


def ref_inputs(op) -> int:
    """Bit mask of the input arguments that take references."""
    mask = 0
    variable_length = False
    for i, arg in enumerate(op.input_arg):
        variable_length |= bool(arg.number_attr or arg.type_list_attr)
        if arg.is_ref:
            if variable_length or i >= 15:
                return ALL_REFS
            mask |= 1 << i
    return mask


def main() -> None:
    """Prints the table, sorted by name."""
    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Made by scripts/make_op_signatures.py; that file says what the rows mean.")
    print("// clang-format off")
    for op in sorted(ops.op, key=lambda op: op.name.encode()):
        defaults = {a.name: a.default_value for a in op.attr if a.HasField("default_value")}
        outputs = ",".join(output_spec(arg, defaults) for arg in op.output_arg)
        stateful = "true" if op.is_stateful else "false"
        print(f'{{"{op.name}", "{outputs}", {stateful}, {ref_inputs(op):#x}}},')


if __name__ == "__main__":
    main()
