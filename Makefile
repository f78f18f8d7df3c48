# SPDX-License-Identifier: Apache-2.0
#
# `make demo` and `make test` do all set-up themselves and are quick when it is done already.
# `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
JOBS ?= $(shell nproc)
PY := $(VENV)/bin/python
DEMO_OUT ?= demo-out
BENCH_FLAGS ?=

export CMAKE_CXX_COMPILER_LAUNCHER := $(shell command -v ccache 2>/dev/null)

cxx_files = $(shell git ls-files --cached --others --exclude-standard -- \
  'include/*.h' 'src/*.h' 'src/*.cc' 'tests/*.h' 'tests/*.cc' 'bench/*.h' 'bench/*.cc' 'fuzz/*.cc')
package_files = $(shell find src include python -type f -not -name '*.pyc') \
  CMakeLists.txt pyproject.toml README.md

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | column -t -s $$'\t'

# ---- set-up -------------------------------------------------------------------------------------

.PHONY: setup
setup: $(VENV)/.tflms ## System packages, virtual environment, build, install

build/.system: scripts/setup_system.sh
	@mkdir -p build
	scripts/setup_system.sh
	@touch $@

$(VENV)/.requirements: requirements.txt build/.system
	@echo "== virtual environment $(VENV)"
	[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.tflms: $(VENV)/.requirements $(package_files)
	@echo "== building and installing the Python package"
	$(PY) -m pip install -q --disable-pip-version-check --no-deps --force-reinstall .
	@touch $@

$(VENV)/.developer: requirements-dev.txt $(VENV)/.requirements
	$(PY) -m pip install -q --disable-pip-version-check -r requirements-dev.txt
	@touch $@

# ---- build and test -----------------------------------------------------------------------------

.PHONY: build
build: build/.system ## Core and plugin, by the preset `dev`
	@echo "== build (dev)"
	cmake --preset dev >build/configure-dev.log || { cat build/configure-dev.log; exit 1; }
	cmake --build --preset dev -j $(JOBS)

.PHONY: test
test: test-core test-sanitized test-python ## All tests

.PHONY: test-core
test-core: build ## Core tests (no TensorFlow needed)
	@echo "== core tests (dev)"
	ctest --preset dev -j $(JOBS)

.PHONY: test-sanitized
test-sanitized: build/.system ## Core tests under address and undefined-behaviour sanitizers
	@echo "== core tests (asan)"
	cmake --preset asan >build/configure-asan.log || { cat build/configure-asan.log; exit 1; }
	cmake --build --preset asan -j $(JOBS)
	@# One process for each half: a process for each test spends most of its time on starting.
	pids=(); for half in 0 1; do \
	  GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=$$half \
	    build/asan/tests/core/tflms_core_tests --gtest_brief=1 & pids+=($$!); \
	done; \
	status=0; for pid in "$${pids[@]}"; do wait "$$pid" || status=1; done; exit $$status

.PHONY: test-python
test-python: setup ## Python tests (stock TensorFlow, simulated GPU)
	@echo "== Python tests"
	$(PY) -m pytest -q -n 2 -m "not slow"

.PHONY: nightly
nightly: test ## All tests, thread sanitizer, the long random tests, all TensorFlow versions
	cmake --preset tsan && cmake --build --preset tsan -j $(JOBS) && ctest --preset tsan -j $(JOBS)
	$(PY) -m pytest -q -m slow
	$(PY) bench/random_models.py --models 200 --dags 1000
	$(PY) scripts/test_versions.py --write docs/versions.md

# ---- use ----------------------------------------------------------------------------------------

.PHONY: demo
demo: setup ## ResNet-50 at a batch that does not fit, without and with tflms
	@mkdir -p $(DEMO_OUT)
	$(PY) bench/demo.py --out $(DEMO_OUT)

.PHONY: bench
bench: setup build/.system ## All benchmarks (hours); BENCH_FLAGS=--quick runs small forms
	cmake --preset release -DTFLMS_BENCH=ON >build/configure-release.log
	cmake --build --preset release -j $(JOBS)
	build/release/bench/core/rewrite_bench $(if $(findstring --quick,$(BENCH_FLAGS)),--benchmark_filter=/1000$$)
	$(PY) bench/suite.py $(BENCH_FLAGS)

# ---- style --------------------------------------------------------------------------------------

.PHONY: format
format: $(VENV)/.developer ## Formats C++ and Python
	clang-format -i $(cxx_files)
	$(VENV)/bin/ruff format -q python tests bench scripts examples
	$(VENV)/bin/ruff check -q --fix python tests bench scripts examples

.PHONY: lint
lint: build $(VENV)/.developer ## Formatting, clang-tidy, ruff, mypy
	clang-format --dry-run -Werror $(cxx_files)
	clang-tidy -quiet -p build/dev $(filter-out src/tensorflow/sim_gpu/%,$(filter src/%.cc,$(cxx_files)))
	$(VENV)/bin/ruff format --check python tests bench scripts examples
	$(VENV)/bin/ruff check python tests bench scripts examples
	$(VENV)/bin/mypy

.PHONY: docs
docs: setup ## Pages made from the code
	$(PY) scripts/make_docs.py

.PHONY: clean
clean: ## Removes what was built (not the virtual environment)
	rm -rf build $(DEMO_OUT) $(VENV)/.tflms
