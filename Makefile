# make setup     the environment in .venv: pinned and checked packages, and pencil itself, editable
# make demo      the shortest way to see it work
# make test      all tests
# make check     what every commit must pass: lint, types, import order, fast tests
# make clean     remove the environment, caches and built packages
#
# Another Python: make setup PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

.PHONY: setup demo test check lint types imports fast clean

setup: $(READY)

# Torch comes last: what it needs is locked, and its own pin then takes whichever build the machine offers.
$(READY): pyproject.toml requirements/dev.txt requirements/torch.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "pencil needs Python 3.11 or newer, which $(PYTHON) is not; try: make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "setup: making .venv"
	@$(PYTHON) -m venv .venv
	@echo "setup: installing the locked packages"
	@$(PIP) --no-deps --require-hashes -r requirements/dev.txt
	@echo "setup: installing torch"
	@$(PIP) -r requirements/torch.txt
	@echo "setup: installing pencil"
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@
	@echo "setup: ready, with the command $(BIN)/pencil"

demo: setup
	@$(BIN)/pencil demo

test: setup
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile

check: lint types imports fast

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

imports: setup
	@$(BIN)/lint-imports --no-logo

fast: setup
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow"

clean:
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
