# Two commands: `make up` runs Bivouac, `make test` proves it. `make setup` prepares both without starting anything.
# The first that runs (a version manager's shim may not), can make an environment and is new enough; 3.12 and 3.11 have an
# embedded Redis. The distribution's own comes first: it is built optimized by profiles, a version manager's mostly is not.
PYTHONS := /usr/bin/python3.12 /usr/bin/python3.11 python3.12 python3.11 python3 python3.13 python3.14
PYTHON ?= $(shell for p in $(PYTHONS); do \
  $$p -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: up demo setup test lint setup-dev lock site long clean help

help: ## Say what there is
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 12

up: setup ## Start everything, print the login link, show health; Ctrl-C stops
	@$(BIN)/python manage.py up

demo: setup ## The same with 60 simulated nodes and scenarios to try, in a data directory of its own
	@BIVOUAC_DATA_DIR="$${BIVOUAC_DATA_DIR:-.bivouac-demo}" $(BIN)/python manage.py up --demo

setup: $(VENV)/.runtime ## Make the virtual environment; start nothing

$(VENV)/.runtime: requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed"; exit 1; }
	@test -x $(BIN)/python || { echo "Making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing the locked dependencies"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

setup-dev: setup $(VENV)/.development ## The same with the tools of the tests, and a browser

$(VENV)/.development: requirements-dev.lock
	@echo "Installing the tools of the tests"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

test: setup-dev ## Lint, types and every test but the long ones
	@bash .ci/prepare
	@bash .ci/gate

lint: setup-dev ## Format, lint, import directions, types
	@bash .ci/gate lint

LOCK = uv pip compile --universal -p 3.11 --generate-hashes --no-annotate --no-emit-index-url --quiet
LOCK += --custom-compile-command 'make lock' pyproject.toml

lock: ## Lock the dependencies anew, with the hash of each file; needs uv on the PATH
	@$(LOCK) -o requirements.lock
	@$(LOCK) --extra dev -o requirements-dev.lock

site: setup-dev ## Build the documentation's site into .venv/site
	@$(BIN)/python -m tests.drawings
	@$(BIN)/python -m tests.settings_document
	@$(BIN)/mkdocs build --strict --quiet --config-file .ci/mkdocs.yml

long: setup-dev ## The long tests
	@$(BIN)/python -m pytest -q -m long

clean: ## Forget the virtual environment; data stays
	@rm -rf $(VENV)
