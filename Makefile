# Two commands are enough on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow lint format docs dist bench bench-baseline results clean help

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "boids needs Python 3.11 or newer; none was found on the PATH."; exit 2; }
	$(PYTHON) -m venv $(VENV)

# The stamps make a second call quick: nothing is installed again until pyproject.toml changes.
$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dashboard]'
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed  ## optimise a 100-dimensional problem, with a live progress line
	@echo "To watch it in a browser, in another terminal:  $(BIN)/boids dashboard --open"
	$(BIN)/boids run hartmann --dim 100 --budget 250 --seed 0

lint: $(VENV)/.installed-test  ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.installed-test  ## rewrite files in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: lint  ## lint, types and the test suite (all but the long statistics of test-slow)
	$(BIN)/pytest -n 2 -m "not slow" --durations 20 --durations-min 5

test-slow: $(VENV)/.installed-test  ## the long statistics
	$(BIN)/pytest -n 2 -m slow

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@ $(VENV)/.installed

docs: $(VENV)/.installed-docs  ## the site, in build/docs; warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet -d build/doctrees -c docs . build/docs
	@echo "The site is build/docs/index.html."

dist: $(VENV)/bin/python  ## wheel and sdist in dist/, and a trial of the wheel in an empty environment
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.2'
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tests/try_wheel.py dist

bench: $(VENV)/.installed-test  ## speed and memory, written to docs/benchmarks.md (15 minutes); PART=growth for one part
	$(BIN)/python -m benchmarks $(PART)

bench-baseline: $(VENV)/.installed-test  ## let `make bench` compare with its latest numbers from now on
	$(BIN)/python -m benchmarks --baseline

results: $(VENV)/.installed-test  ## the tables and figures of docs from the results in experiments/
	$(BIN)/python experiments/pages.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
