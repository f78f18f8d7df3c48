# SPDX-License-Identifier: Apache-2.0
"""The errors that tflms raises on purpose."""

from __future__ import annotations


class TflmsError(RuntimeError):
    """tflms cannot do what was asked; the message says why and what to try."""
