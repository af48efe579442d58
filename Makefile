# Two commands do everything on a machine that has Python 3.11+, pip and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test browser external-tools check bench bench-quick docs release-check fresh-clone lint types layers clean

demo: .venv/.installed
	$(BIN)/orienteer demo

# All but the slow ones, in six minutes on two cores; with TESTS=all those, too, as CI has it. More options by PYTEST, as
# in `make test PYTEST="--durations=25"` or `make test PYTEST="--hypothesis-profile=thorough"`.
test: .venv/.installed-dev browser external-tools
	$(BIN)/python -m pytest --numprocesses auto --dist loadscope --no-loadscope-reorder \
	  $(if $(filter all,$(TESTS)),,-m "not slow") $(PYTEST)

# Tests of the pages and of rendering need browsers, and are skipped without: they are installed where that is possible.
browser:
	@for wanted in chromium:chromium-browser:google-chrome chromium-headless-shell:chrome-headless-shell:headless_shell; do \
	  found=; for name in $$(echo $$wanted | tr : ' '); do command -v $$name >/dev/null && found=yes; done; \
	  if [ -z "$$found" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    export DEBIAN_FRONTEND=noninteractive; package=$${wanted%%:*}; \
	    { apt-get install -y -qq $$package || { apt-get update -qq && apt-get install -y -qq $$package; }; } \
	      >/dev/null 2>&1 || true; \
	  fi; \
	done

# pywb, ReplayWeb.page, httpbin, schemathesis and real pages, in the user's cache; tests of a missing one are skipped.
external-tools: .venv/.installed-dev
	@$(BIN)/python -m tests.external_tools

check: TESTS := all
check: lint types layers test

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.installed-dev
	$(BIN)/mypy

layers: .venv/.installed-dev
	$(BIN)/lint-imports

# The documents as a site that needs no network; a warning ends it. Then open build/docs/index.html.
docs: .venv/.installed-docs
	$(BIN)/sphinx-build -q -W --keep-going docs build/docs

# A wheel and an sdist are built in build/release, checked, installed and used with every Python at hand.
release-check:
	$(PYTHON) -m release.check

# The tests on fresh clones, as root and not, with every Python at hand: some nine runs of ten minutes or more.
fresh-clone:
	$(PYTHON) -m release.fresh_clone

# All benchmarks take some hours; an interrupted run is resumed. The quick ones take a quarter of an hour.
bench: .venv/.installed-bench
	$(BIN)/python -m benchmarks

bench-quick: .venv/.installed-bench
	$(BIN)/python -m benchmarks quick

# Debian splits ensurepip off; pip can then furnish the environment from outside.
.venv/bin/python:
	$(PYTHON) -m venv .venv || { $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python .venv/bin/python install pip; }

.venv/.installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/.installed-dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ .venv/.installed

.venv/.installed-docs: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@ .venv/.installed

.venv/.installed-bench: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	touch $@ .venv/.installed .venv/.installed-dev

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist docs/reference
