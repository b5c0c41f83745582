# Every target sets up what it needs in $(VENV); nothing but Python 3.11+ and make must be there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input

# The first of these that is new enough; empty when there is none. Expanded only in the recipe.
NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
FOUND = $(shell for p in "$(PYTHON)" python3.14 python3.13 python3.12 python3.11; do \
	"$$p" $(NEW_ENOUGH) >/dev/null 2>&1 && { echo "$$p"; break; }; done)
TOO_OLD = Python 3.11 or newer is needed, and neither $(PYTHON) nor python3.11 to python3.14 is. \
	Install one, or name one: make PYTHON=/path/to/python

.DEFAULT_GOAL := help
.PHONY: help setup docs dist demo test test-quick thorough measured interpreted packages coverage bench clusters size pictures screenshots lint format types ci clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.lint $(VENV)/.docs ## Create the environment with everything that development needs

demo: $(VENV)/.test ## Explain a classifier of breast tumours
	@$(BIN)/python examples/demo.py

test: $(VENV)/.test ## Run the tests and doctests
	@$(BIN)/python -m pytest -q -rs -n 2 --dist worksteal

test-quick: $(VENV)/.test ## Run what an installed wheel is tested with, in less than a minute
	@$(BIN)/python -m pytest -q -n 2 -m "contract or smoke" tests

# Tests that take some of their generated cases unless they are asked for all of them.
GENERATED = $(shell grep -rlE 'SKLEARN_PROBSR_CASES|WHOLE' tests --include='test_*.py')

thorough: $(VENV)/.test ## Run the tests on generated cases with all of these, which takes an hour
	@SKLEARN_PROBSR_CASES=whole $(BIN)/python -m pytest -q -rs -n 2 --dist worksteal $(GENERATED)

measured: $(VENV)/.test ## Run them and note which lines run, which takes longer
	@$(BIN)/python -m pytest -q -rs -n 2 --dist worksteal --cov --cov-report= --cov-fail-under=0

# Coverage cannot see compiled code run; here it does. Others take too long as Python.
INTERPRETED = $(addprefix tests/core/test_,clopper_pearson.py samples.py strict.py) \
	$(addprefix tests/rows/test_,search.py matching_kernels.py near_ties.py) \
	$(addprefix tests/independent/test_,spectrum.py ranks.py certainty.py one_sum.py vaaler.py \
	pairs.py sparse_kernels.py rankings.py certain_rows.py)

interpreted: $(VENV)/.test ## Run those of kernels without compiling, and note lines too
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -rs -n 2 --dist worksteal $(INTERPRETED) \
		--cov --cov-append --cov-report= --cov-fail-under=0

# Each of the libraries in an environment where its newest release installs.
packages: $(VENV)-packages/.packages $(VENV)-pygam/.packages $(VENV)-clients/.packages ## Test with other libraries
	@$(VENV)-packages/bin/python -m pytest -q -rs tests/adapters/contrib
	@$(VENV)-pygam/bin/python -m pytest -q -rs tests/adapters/contrib/test_pygam.py
	@$(VENV)-clients/bin/python -m pytest -q -rs -p no:dash tests/contracts/test_clients.py

$(VENV)-packages/.packages: WANTED = packages
$(VENV)-pygam/.packages: WANTED = pygam
$(VENV)-clients/.packages: WANTED = clients
$(VENV)-packages/.packages $(VENV)-pygam/.packages $(VENV)-clients/.packages: pyproject.toml $(VENV)/.created
	@$(BIN)/python -m venv --clear $(@D)
	@echo "Installing into $(@D)"
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check --no-input \
		-e ".[$(WANTED)]" hypothesis pytest
	@touch $@

coverage: ## Run both and report the lines that neither ran
	@$(MAKE) --no-print-directory measured
	@$(MAKE) --no-print-directory interpreted
	@$(BIN)/python -m coverage report --skip-covered

bench: $(VENV)/.test ## Run the benchmarks
	@$(BIN)/python -m tests.benchmarks

# An environment of their own: Dask, Spark and Ray take most of a gigabyte.
clusters: build/clusters/.ready ## Run the scripts for Dask, Spark and Ray on these
	@build/clusters/bin/python -m pytest -q -rs -p no:cacheprovider tests/explain/frames/test_engines.py

build/clusters/.ready: pyproject.toml
	@$(if $(FOUND),,$(error $(TOO_OLD)))
	@echo "Installing Dask, Spark and Ray into build/clusters (takes two minutes)"
	@"$(FOUND)" -m venv --clear build/clusters
	@build/clusters/bin/python -m pip install -qq --disable-pip-version-check --no-input \
		-e ".[all,test,clusters]"
	@touch $@

# Warnings are errors, links inside the site are followed, and nothing is loaded from elsewhere.
docs: $(VENV)/.docs ## Build the site into build/site
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@$(BIN)/python docs/check_site.py build/site
	@$(BIN)/python docs/look_at_site.py build/site

dist: $(VENV)/.release ## Build sdist and wheel into dist, and check them
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist . >/dev/null
	@$(BIN)/python -m twine check --strict dist/*
	@$(BIN)/python .ci/check_dist.py dist

# Beside two libraries of the same kind, counted from their newest wheels.
size: $(VENV)/.test ## Count the code of the package, without docstrings and comments
	@rm -rf build/size
	@$(BIN)/python -m pip download -qq --no-deps --disable-pip-version-check -d build/size shapiq skrub
	@$(BIN)/python -m docs.size build/size/*.whl

pictures: $(VENV)/.test ## Draw the pictures of the documentation again
	@$(BIN)/python docs/draw.py >/dev/null

screenshots: $(VENV)/.test ## Take the picture of the page again, with Chromium and its driver
	@$(BIN)/python docs/shoot.py

lint: $(VENV)/.lint ## Check rules and format with Ruff
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: $(VENV)/.lint ## Apply Ruff's safe fixes and its format
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

types: $(VENV)/.lint ## Check types with mypy
	@$(BIN)/mypy

ci: ## Run everything that must pass before a change is merged
	@.ci/run

clean: ## Remove the environment, builds and caches
	rm -rf $(VENV) $(VENV)-packages $(VENV)-pygam $(VENV)-clients build dist htmlcov .coverage .coverage.* .hypothesis
	rm -rf .mypy_cache .pytest_cache .ruff_cache
	find sklearn_probsr tests examples docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The stamps are touched last, so a set-up that was interrupted starts over.
$(VENV)/.created:
	@$(if $(FOUND),,$(error $(TOO_OLD)))
	@echo "Creating $(VENV) with $(FOUND)"
	@"$(FOUND)" -m venv --clear $(VENV)
	@touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.created
	@echo "Installing into $(VENV) (the first time takes a minute or two)"
	@$(PIP_INSTALL) -e ".[all,test]"
	@touch $@

$(VENV)/.docs: $(VENV)/.lint
	@$(PIP_INSTALL) -e ".[docs]"
	@touch $@

$(VENV)/.release: $(VENV)/.docs
	@$(PIP_INSTALL) -e ".[release]"
	@touch $@

# One after the other: two pips must not write to one environment.
$(VENV)/.lint: $(VENV)/.test
	@$(PIP_INSTALL) -e ".[lint]"
	@touch $@
