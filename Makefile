# make setup     the environment in .venv: pinned and checked packages, and pencil itself, editable
# make demo      the shortest way to see it work
# make test      all tests
# make check     what every commit must pass: lint, types, import order, fast tests
# make package   wheel and source archive in dist/, and their tests
# make docs      the documentation as a site in site/, links checked, every code block run
# make lowest    the fast tests with the lowest versions of all dependencies and extras, in .venv-lowest
# make torture   kills, full disks, damaged and hostile files, long runs; SEEDS="1 2 3" for three in a row
# make audit     ask pip-audit whether a locked package has a known flaw
# make clean     remove the environment, caches and built packages
#
# Another Python: make setup PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin
# Images of containers often set this; each of the many processes here would then compile all it imports anew.
unexport PYTHONDONTWRITEBYTECODE
READY := .venv/.ready
# Of 19,000 files of packages few are ever imported; Python compiles those when they are, pip would compile all.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile

.PHONY: setup demo test check lint types imports fast package docs lowest torture audit clean

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
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder

check: lint types imports fast

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

imports: setup
	@$(BIN)/lint-imports --no-logo

fast: setup
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder -m "not slow"

package: setup
	@rm -rf dist
	@$(BIN)/python -m hatchling build
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/test_package.py

docs: setup
	@$(BIN)/mkdocs build --strict --quiet
	@echo "docs: written to site/"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto tests/docs

# Tests of the browser, of packaging and of the site need more than this installs; the small hub that one test pushes to
# speaks as today's clients do.
lowest:
	@$(PYTHON) -m venv .venv-lowest
	@$(PYTHON) requirements/lowest.py > .venv-lowest/lowest.txt
	@.venv-lowest/bin/pip install -qq --disable-pip-version-check -r .venv-lowest/lowest.txt pytest pytest-xdist hypothesis
	@.venv-lowest/bin/pip install -qq --disable-pip-version-check --no-deps .
	@OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder -m "not slow and not gpu" \
	  --ignore tests/review/test_browser.py --ignore tests/test_package.py --ignore tests/docs \
	  --deselect tests/export/test_hf_dataset.py::test_it_is_pushed_to_a_hub_as_it_stands

# Apart from `make test`: at most twenty minutes on two cores.
SEED ?= 0
SEEDS ?= $(SEED)
torture: setup
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.torture --seeds "$(SEEDS)"

# In an environment of its own. Packages that its data does not know are a failure too: they were not looked at.
audit:
	@$(PYTHON) -m venv .venv-audit
	@.venv-audit/bin/python -m pip install -qq --disable-pip-version-check pip-audit
	@.venv-audit/bin/pip-audit --strict --disable-pip --require-hashes -r requirements/dev.txt

clean:
	@rm -rf .venv .venv-lowest .venv-audit build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
