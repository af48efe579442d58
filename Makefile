# Two commands do everything on a machine that has Python 3.11+, pip and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench lint types layers clean

demo: .venv/.installed
	$(BIN)/orienteer demo

test: .venv/.installed-dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadscope

check: lint types layers test

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.installed-dev
	$(BIN)/mypy

layers: .venv/.installed-dev
	$(BIN)/lint-imports

bench: .venv/.installed-bench
	$(BIN)/python -m benchmarks

# Debian splits ensurepip off; pip can then furnish the environment from outside.
.venv/bin/python:
	$(PYTHON) -m venv .venv || { $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python .venv/bin/python install pip; }

.venv/.installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/.installed-dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ .venv/.installed

.venv/.installed-bench: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	touch $@ .venv/.installed .venv/.installed-dev

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
