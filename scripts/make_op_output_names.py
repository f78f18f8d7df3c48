# SPDX-License-Identifier: Apache-2.0
"""Writes src/cli/op_output_names.inc from the op registry of the installed TensorFlow.

    python scripts/make_op_output_names.py > src/cli/op_output_names.inc

One row for each operation with two output arguments or more: {name, arguments}. `arguments` lists
them in order, separated by commas, each as

    name           one output
    name=attr      as many outputs as that integer attribute says
    name=@attr     one output for each type of that list attribute
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session


def argument(arg) -> str:
    """One output argument in the form described above."""
    if arg.type_list_attr:
        return f"{arg.name}=@{arg.type_list_attr}"
    return f"{arg.name}={arg.number_attr}" if arg.number_attr else arg.name


def main() -> None:
    """Prints the table, sorted by name."""
    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Made by scripts/make_op_output_names.py; that file says what the rows mean.")
    print("// clang-format off")
    for op in sorted(ops.op, key=lambda op: op.name.encode()):
        if len(op.output_arg) > 1:
            print(f'{{"{op.name}", "{",".join(argument(a) for a in op.output_arg)}"}},')


if __name__ == "__main__":
    main()
