# The two commands are `make demo` and `make test`. Both need Python 3.11 or newer, make, and a
# package index; each makes .venv when it is not there, and a second run installs nothing.
# Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --constraint constraints.txt --build-constraint constraints.txt
CODE := src tests benchmarks scripts
MARKERS := not wide

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all check lint types contracts tests bench docs clean

help:
	@echo "make demo      survey the built-in corpora and name the page that shows the result"
	@echo "make test      every gate: lint, types, contracts, tests, the wheel"
	@echo "make test-all  the same, with the wide grids and the real models"
	@echo "make check     the fast gates only: lint, types, contracts"
	@echo "make bench     every benchmark, one after the other"
	@echo "make docs      measure again the numbers in README.md and docs/, and build site/"
	@echo "make clean     remove .venv, caches, and what demo and build wrote"

demo: $(VENV)/core.stamp
	$(BIN)/gnomon survey --out demo

test: check tests
	@echo "== all gates passed"

test-all: MARKERS :=
test-all: check tests
	@echo "== all gates passed, wide grids and real models included"

check: lint types contracts

lint: $(VENV)/dev.stamp
	@echo "== lint and format (ruff)"
	$(BIN)/python -m ruff check $(CODE)
	$(BIN)/python -m ruff format --check $(CODE)

types: $(VENV)/dev.stamp
	@echo "== types (mypy, strict)"
	$(BIN)/python -m mypy

contracts: $(VENV)/dev.stamp
	@echo "== contracts between the rooms (import-linter)"
	$(BIN)/lint-imports --no-logo --no-cache

# One thread each: workers whose linear algebra takes all cores wait for one another most of the time.
tests: export OMP_NUM_THREADS := 1
tests: export OPENBLAS_NUM_THREADS := 1
tests: export MKL_NUM_THREADS := 1
tests: $(VENV)/dev.stamp
	@echo "== tests, doctests and the wheel (pytest)"
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "$(MARKERS)"

bench: $(VENV)/dev.stamp
	@set -e; for script in benchmarks/bench_*.py; do \
	  echo "== $$script"; $(BIN)/python "$$script"; \
	done

# Everything measured that stands in a text is measured again; then the site is built into site/.
docs: demo $(VENV)/dev.stamp
	$(BIN)/python scripts/make_figures.py docs/figures
	$(BIN)/python scripts/page_picture.py demo/three-regimes/report.html docs/figures/page.png
	$(BIN)/python scripts/fill_docs.py demo README.md docs/index.md docs/guide.md docs/noise.md
	$(BIN)/python scripts/verdict_page.py docs/verdicts.md
	$(BIN)/python scripts/decision_page.py docs/decisions.md
	$(BIN)/python scripts/options_page.py docs/api/corpus.md docs/api/pipeline.md docs/api/encodings.md
	$(BIN)/python scripts/catalogue_page.py docs/catalogue.md
	$(BIN)/python scripts/scaling_page.py docs/real-models.md
	$(BIN)/python scripts/groups_page.py docs/mathematics/groups.md
	$(BIN)/python scripts/spectra_page.py docs/figures/spectra.svg
	$(BIN)/python scripts/lab_results.py docs/laboratory.md
	$(BIN)/python scripts/run_docs.py --write docs/index.md docs/mathematics/*.md docs/howto/*.md docs/tutorials/*.md
	$(BIN)/python scripts/make_notebooks.py docs/tutorials docs/notebooks
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "== the documentation: site/index.html"

clean:
	rm -rf $(VENV) demo dist build site .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# The interpreter is asked first: an old one would fail later, and less clearly.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(None if sys.version_info >= (3, 11) else \
	  "Gnomon needs Python 3.11 or newer, and $(PYTHON) is " + v + "; run make with PYTHON=python3.11.")'
	@echo "== making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --upgrade --constraint constraints.txt pip

# The stamps are the memory: they are younger than what they were made from, or the step runs again.
$(VENV)/core.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing gnomon (once)"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing gnomon and the tools its tests need (once)"
	@$(INSTALL) --editable '.[dev]'
	@touch $(VENV)/core.stamp $@
