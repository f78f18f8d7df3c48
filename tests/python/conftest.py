# SPDX-License-Identifier: Apache-2.0
"""Shared by all Python tests. No test imports TensorFlow in pytest's own process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# No test uses a plan that another run has left in the home folder.
os.environ.setdefault("TFLMS_CACHE_DIR", "off")
