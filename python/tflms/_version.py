# SPDX-License-Identifier: Apache-2.0
"""The version of the installed package; CMakeLists.txt is where it is set."""

from __future__ import annotations

from importlib import metadata

try:
    __version__: str = metadata.version("tflms")
except metadata.PackageNotFoundError:  # imported from a source tree that was never installed
    __version__ = "0+unknown"
