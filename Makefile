# `make demo` and `make test` install all they need: see .ci/setup. VENV may name another folder.
VENV ?= .venv
BIN := $(VENV)/bin
# Tests on real brokers wait half of their time: three workers fill two cores.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadgroup

# Tests start kfix hundreds of times: with byte code, as it is installed.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup setup-dev demo fleet-demo test slice test-all touched costs parts mutants unit proofs real test-security test-matrix test-deaths test-spark-versions test-install test-hadoop fuzz oracle check lint format bench docs docs-serve clean

# What a user needs: the command line and the lab. About 120 MB.
setup:
	@bash .ci/setup $(VENV)

# What the tests need, too: Spark, an object store, a browser. About 1.6 GB, with the jars of each line of Kafka.
setup-dev:
	@bash .ci/setup $(VENV) dev

demo: setup
	@$(BIN)/kfix lab demo

FLEET ?= fleet-demo
fleet-demo:
	@bash .ci/setup $(VENV) fleet
	@rm -rf $(FLEET)/store && mkdir -p $(FLEET)
	@$(BIN)/kfix fleet demo --store $(FLEET)/store --html $(FLEET)/report.html
	@echo "open $(FLEET)/report.html in a browser"

# What every change must pass, in ten minutes on two idle cores: every function of tests/unit, tests/catalogue,
# tests/proofs and tests/browser with some of its copies, a session of Spark, and real brokers of every line of Kafka.
# Costs decide (tests/suite); `make parts` shows what runs when. KFIX_TEST_PATIENCE=3 multiplies all time-outs.
test: setup-dev
	@$(PYTEST) --part fast

# One slice of a round of all other tests, chosen by the commit: CI runs it after `make test`. TURN=N runs another one.
TURN ?=
slice: setup-dev
	@$(PYTEST) --part slice $(if $(TURN),--turn $(TURN))

# All tests: about three hours on two cores.
test-all: setup-dev
	@$(PYTEST) --part all

# At a desk: only the tests that a change since BASE can reach by imports. It misses one in eight.
BASE ?= HEAD
touched: setup-dev
	@$(BIN)/python -m tests.suite touched --base $(BASE)

# Measures tests that have no cost yet, in CPU seconds, and writes tests/costs.json; COSTS="--again tests/unit" those.
COSTS ?=
costs: setup-dev
	@$(BIN)/python -m tests.suite costs $(COSTS)

parts: setup-dev
	@$(BIN)/python -m tests.suite parts

# Puts each fault of tests/mutants/faults into a copy of the tree and runs the fast tests that can find it (docs/mutants.md).
# MUTANTS="--record" writes the results down, "--slice 3/20" tries a part of the list, "--only adapters" one part of kfix.
MUTANTS ?=
mutants: setup-dev
	@$(BIN)/python -m tests.mutants $(MUTANTS)

# Each module by itself: no cluster, about two minutes on two idle cores.
unit: setup-dev
	@$(PYTEST) tests/unit

# The rules over the whole repository (tests/catalogue), and properties of whole commands, without a cluster: terminals,
# kills, hostile input, random clusters, process pools, an object store, and the commands of the documentation.
proofs: setup-dev
	@$(PYTEST) tests/catalogue tests/proofs

# Real brokers, real Spark, a real browser.
real: setup-dev
	@$(PYTEST) tests/cluster tests/spark tests/browser

# Every line of Kafka with every security and mechanism: about an hour on two cores. The cells of docs/security-matrix.md that
# have no result yet are run first, then every failure line with and without an authorizer, and each right that is taken away,
# and runbooks with exactly their documented rights.
test-security: setup-dev
	@$(BIN)/python -m tests.security
	@KFIX_TEST_SECURITY=all $(PYTEST) tests/cluster/test_secured_labs.py tests/cluster/test_missing_rights.py tests/cluster/test_least_rights.py

# Every incident of the lab on every line of Kafka where it can happen: made, diagnosed, remedied, proved; writes
# docs/matrix.json and docs/matrix.md. Resumes where it ended; one line with MATRIX="--line 4.3.1-kraft". Over an hour.
MATRIX ?=
test-matrix: setup-dev
	@$(BIN)/python -m tests.matrix $(MATRIX)

# Each runbook of KRaft on real brokers, killed before and after each record of its journal, and resumed; writes
# docs/killed-runs.json and docs/killed-runs.md. Resumes where it ended; one runbook with DEATHS="--runbook isr-dead". About an hour.
DEATHS ?=
test-deaths: setup-dev
	@$(BIN)/python -m tests.deaths $(DEATHS)

# Spark 4.0 and 4.3 beside the locked 4.1: downloads 900 MB, takes about 30 minutes.
test-spark-versions: setup-dev
	@$(BIN)/python -m tests.spark.versions

# The wheel as users install it: pipx and uv, each extra, each Python that is installed, and the hooks with the real pre-commit. About
# five minutes; `make test-install EXTRAS=spark` downloads 400 MB more.
test-install: setup-dev
	@$(BIN)/python -m tests.install $(EXTRAS)

# An audit on YARN and HDFS: Maven downloads Hadoop's servers (170 jars), which run on loopback.
test-hadoop: setup-dev
	@$(BIN)/python -m pytest -q tests/spark/on_hdfs.py
	@$(BIN)/python -m pytest -q tests/spark/on_yarn.py

# A part of this is in every `make test`: hostile files, clusters, arguments and queries, and a kill after every record of
# every run. New FUZZ cases of each kind of input: `python -m tests.proofs.fuzz KIND CASES [FIRST]` runs, or repeats, one kind.
FUZZ ?= 100000
fuzz: setup-dev
	@KFIX_FUZZ=$(FUZZ) $(PYTEST) --part all --timeout 14400 tests/proofs/test_*.py tests/proofs/fleet/test_queries_reach_nothing.py

# Forecasts of `kfix whatif` against real brokers that are then killed: about 25 s a trial. A slice is in every `make test`.
TRIALS ?= 100
LINE ?=
oracle: setup-dev
	@$(BIN)/python -m tests.proofs.oracle $(TRIALS) $(LINE)

lint: setup-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/vulture

check: lint test

format: setup-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The pages of docs/ as a site, in site/: open site/index.html, or `mkdocs serve` while writing.
docs:
	@bash .ci/setup $(VENV) docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The site on this machine, with its search, which browsers do not run from files.
docs-serve: docs
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000

bench: setup-dev
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.wire
	@$(BIN)/python -m benchmarks.multi_read
	@$(BIN)/python -m benchmarks.ensemble
	@$(BIN)/python -m benchmarks.judging
	@$(BIN)/python -m benchmarks.first_verdict

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site
