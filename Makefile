# `make demo` and `make test` set up all they need: see .ci/setup. VENV may name another folder.
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: setup demo fleet-demo test fuzz check lint format bench docs clean

setup:
	@bash .ci/setup $(VENV)

demo: setup
	@$(BIN)/kfix lab demo

FLEET ?= fleet-demo
fleet-demo: setup
	@rm -rf $(FLEET)/store && mkdir -p $(FLEET)
	@$(BIN)/kfix fleet demo --store $(FLEET)/store --html $(FLEET)/report.html
	@echo "open $(FLEET)/report.html in a browser"

# Cluster tests are two groups, one a worker; each worker has one cluster that its tests share.
test: setup
	@$(BIN)/python -m pytest -n 2 --dist loadgroup

# A slice of this is in every `make test`: hostile files, clusters and arguments, and a kill after every record of every
# run. FUZZ cases of each kind of input: `python -m tests.proofs.fuzz KIND CASES [FIRST]` runs, or repeats, one kind.
FUZZ ?= 100000
fuzz: setup
	@KFIX_FUZZ=$(FUZZ) $(BIN)/python -m pytest -n 2 --dist loadgroup --timeout 14400 tests/proofs

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

check: lint test

format: setup
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The pages of docs/ as a site, in site/: open site/index.html, or `mkdocs serve` while writing.
docs:
	@bash .ci/setup $(VENV) docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: setup
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site
