# `make demo` and `make test` each work alone in a fresh clone: they create .venv and install what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo demo-replay test selftest check device-test clean system

demo: $(STAMP)
	$(BIN)/kernelevolve run map_id --max-seconds 60

# Recorded proposals, judged live on this machine; make demo-replay REPLAY=FILE TASK=NAME for another recording.
REPLAY ?= docs/replays/running_mean_agent.jsonl
TASK   ?= docs/examples/running_mean
demo-replay: $(STAMP)
	$(BIN)/kernelevolve run $(TASK) --proposer replay:$(REPLAY) --max-seconds 60

test: $(STAMP)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/kernelevolve toolchain install triton gluon tlx cutedsl cutile
	$(BIN)/python -m pytest
	$(BIN)/kernelevolve selftest

# The judge before every attack and every honest kernel of the corpus: the gate of a release, part of `make test`.
selftest: $(STAMP)
	$(BIN)/kernelevolve selftest

check: test

device-test: $(STAMP)
	$(BIN)/python -m pytest -m device

$(STAMP): pyproject.toml constraints.txt
	@$(MAKE) --no-print-directory system
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt torch numpy
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e ".[cpu,dev]"
	@touch $@

# Says what is missing and the one line that brings it.
system:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed, '$(PYTHON)' is older. Fix: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "error: this Python cannot make virtual environments. Fix: sudo apt-get install -y python3-venv"; exit 1; }
	@command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "error: no C++ compiler. Fix: sudo apt-get install -y g++"; exit 1; }

clean:
	rm -rf $(VENV) build dist kernelevolve-runs
