# What people type. Each target is one line of work; what takes more lines lives in scripts/.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help install run test quick test-web test-interop test-delegate test-mcp attacks fuzz fuzz-shell check browser bench bench-quick model test-model test-spec test-injection test-clone test-kills test-large web wire screens docs lock clean

PYTHON ?= python3
WORKSPACE ?= $(HOME)/AnyCowork
ARGS ?=
# One more than there are cores: with two more, a page did not come within two minutes once.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
BIN := .venv/bin
ATTACKS := tests/attacks tests/faults/test_commits.py tests/unit/workspace tests/unit/sandbox tests/unit/checkpoints tests/unit/tools/test_execute_command.py
# These attack what the server decides by itself (rules, cards, records, requests): the rights of the account that it runs as change
# nothing there, so `make test` runs them once. `make attacks` repeats them too.
SAME_FOR_ANY_USER := access_end acp adaptive_injection asked_agents audit_checks audit_export autonomy bash_differential body_costs browsed_files budgets chat_servers command_rules content_readers control_files count delegate_messages denials denials_elsewhere edited_roles engine_rows forged_words gateway gone_models images injection instructions job_templates limited_keys limits log_secrets mcp_answers mcp_arguments mcp_floods mcp_modules mcp_sampling mechanisms_of_the_gate memory model_keys nested_repositories notifications openid origin_detours origins pdf_files peer_rows people people_log people_requests planted planted_elsewhere planted_routes private_chats receipts repository_shapes roles rules server sessions shown stalls stated_expectations terminal token_counts told_contents triggers unseen_content viewer_programs web web_search workers workflow_costs workflows
STAMP := .venv/.installed
LOCKED := requirements/uv.txt requirements/dev.txt pyproject.toml scripts/install.sh
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## set everything up in .venv (needs Python 3.11+, make and git; no root)
	@$(BIN)/python scripts/webui.py offer

$(STAMP): $(LOCKED)
	@PYTHON="$(PYTHON)" sh scripts/install.sh
	@touch $@

run: install ## set up, then serve on http://127.0.0.1:8484 (WORKSPACE=folder, ARGS="--port 9000")
	@sh scripts/first_workspace.sh "$(WORKSPACE)"
	@exec $(BIN)/anycowork serve --workspace "$(WORKSPACE)" $(ARGS)

test: install ## set up, check, then run every test there is (ARGS=tests/unit or ARGS="-k words": those tests and nothing else)
	@if [ -z "$(ARGS)" ]; then $(MAKE) --no-print-directory --jobs=2 --output-sync=target browser check test-web; fi
	@echo "==> Running the tests"
	@$(BIN)/python $(if $(ARGS),-m pytest,scripts/run_tests.py) -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)
	@if [ -z "$(ARGS)" ]; then WORKERS=$(WORKERS) sh scripts/attacks_as_user.sh tests/attacks $(SAME_FOR_ANY_USER:%=--ignore=tests/attacks/test_%.py); fi
	@if [ -z "$(ARGS)" ] && [ -s .venv/unstable.txt ]; then cat .venv/unstable.txt; fi

quick: install ## check what is not committed yet and run the tests that name it (ARGS="--base main": since main)
	@$(BIN)/python scripts/quick.py $(ARGS)

# Beside `check`: each of them leaves a core idle most of its time.
test-web: install
	@echo "==> Testing the web UI"
	@$(BIN)/python scripts/webui.py test

test-interop: install ## run real programs against the passthrough: llm, aider, opencode (600 MB, into .venv/interop)
	@$(BIN)/python scripts/interop.py clients
	@$(BIN)/python -m pytest tests/interop/clients/check_clients.py $(ARGS)

test-delegate: install ## give tasks to real agents of other vendors (opencode, Claude, Codex, Gemini, goose, Qwen: 1.6 GB, into .venv/interop)
	@$(BIN)/python scripts/interop.py agents
	@$(BIN)/python -m pytest -n 2 tests/interop/clients/check_delegate.py $(ARGS)

test-mcp: install ## every MCP server of others over every transport and at its real work, and the conformance suite (make test runs a part)
	@ANYCOWORK_ALL_MCP_SERVERS=1 $(BIN)/python -m pytest -n 2 --dist loadfile tests/interop/test_real_mcp_servers.py tests/interop/test_mcp_server_work.py tests/interop/test_mcp_conformance.py $(ARGS)

test-spec: install ## break the code behind each clause of the requirements and show that its tests notice (slow; ARGS="LOOP-4" narrows)
	@$(BIN)/python scripts/sabotage.py $(ARGS)

test-injection: install ## play planted attacks with a model that obeys them: our own, and AgentDojo's (into .venv/injection; ARGS="--every 12 --tasks 2 --write")
	@[ -x .venv/injection/bin/python ] || { $(BIN)/python -m venv .venv/injection && .venv/injection/bin/python -m pip install --disable-pip-version-check --progress-bar off -q --no-deps --require-hashes -r tests/injection/agentdojo.txt; }
	@$(BIN)/python -m pytest -n 0 tests/attacks/test_injection.py
	@$(BIN)/python tests/injection/run.py $(ARGS)

test-clone: install ## clone into an empty folder and show that make run and make test set everything up there (slow, needs the network)
	@$(BIN)/python scripts/clean_clone.py $(ARGS)

test-kills: install ## kill server, worker and database 1,000 times while jobs run (slow)
	@ANYCOWORK_KILL_ROUNDS=20 $(BIN)/python -m pytest -n $(WORKERS) tests/faults/test_jobs.py tests/faults/test_kill.py tests/faults/test_kills.py tests/faults/test_task_effects.py $(ARGS)

attacks: install ## run the attacks, as root and as an ordinary user (root becomes one for the second run)
	@echo "==> Running the attacks"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ATTACKS) $(ARGS)
	@WORKERS=$(WORKERS) sh scripts/attacks_as_user.sh $(ATTACKS) $(ARGS)

fuzz: install ## run the property tests with fresh random examples (make test repeats the same ones)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist load -m hypothesis --hypothesis-profile=fresh $(ARGS)
	@ANYCOWORK_FUZZ_EXAMPLES=20 $(BIN)/python -m pytest -n 0 --timeout=3600 tests/integration/api/test_fuzzing.py

fuzz-shell: install ## compare the analyser of commands with bash on a million random texts (resumes where it was stopped)
	@$(BIN)/python scripts/fuzz_shell.py $(ARGS)

check: install ## format, lint, types, layers, generated files
	@echo "==> Checking format, lint, types, layers, generated files"
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted: run .venv/bin/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo > .venv/layers.txt || { cat .venv/layers.txt; exit 1; }
	@$(BIN)/python scripts/patterns.py
	@$(BIN)/python scripts/check_names.py
	@$(BIN)/python scripts/check_sizes.py
	@$(BIN)/python scripts/package_graph.py > /dev/null
	@$(BIN)/python scripts/webui.py check
	@if [ -f scripts/spec_table.py ]; then $(BIN)/python scripts/spec_table.py --check; fi
	@$(BIN)/python scripts/wire.py --check > /dev/null

browser: install
	@sh scripts/browser.sh

test-large: install ## kill a commit and a restore of 5,000 files, compare 200,000 files with 1,000, review 20,000 in the browser, load every page at both widths, export and import 100,000 messages, refuse a million files (slow)
	@ANYCOWORK_LARGE_FILES=5000 ANYCOWORK_LARGE_KILLS=8 $(BIN)/python -m pytest -n 2 --timeout=3600 tests/faults/test_large_commits.py
	@ANYCOWORK_LARGE_COMMITS=1000000 $(BIN)/python -m pytest -n 0 --timeout=3600 tests/integration/api/test_git_habits.py -k many_commits
	@ANYCOWORK_LARGE_TREE_FOLDERS=10000 $(BIN)/python -m pytest -n 0 --timeout=3600 tests/faults/test_large_growth.py
	@ANYCOWORK_LARGE_PAGE_FILES=20000 $(BIN)/python -m pytest -n 0 --timeout=3600 tests/e2e/test_web_large.py
	@ANYCOWORK_ALL_PAGES=1 $(BIN)/python -m pytest -n 0 tests/e2e/test_web_still.py
	@ANYCOWORK_LARGE_MESSAGES=100000 $(BIN)/python -m pytest -n 0 --timeout=3600 tests/faults/test_record_memory.py tests/faults/test_large_imports.py
	@ANYCOWORK_LARGE_ROWS=100000 $(BIN)/python -m pytest -n 0 --timeout=3600 tests/faults/test_statement_plans.py
	@ANYCOWORK_LARGE_EMPTY_FILES=1000000 $(BIN)/python -m pytest -n 0 --timeout=3600 tests/faults/test_large_bad_input.py

bench: install ## measure, beside peers (ARGS names one benchmark)
	@if [ -f benchmarks/run.py ]; then $(BIN)/python benchmarks/run.py $(ARGS); else echo "There are no benchmarks in this version yet."; fi

bench-quick: install ## measure the six hot paths beside bare baselines and the committed ratios, in about three minutes (ARGS=--write)
	@$(BIN)/python benchmarks/quick.py $(ARGS)

model: install ## install what runs the local model, and fetch the model (about 1 GB)
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -q --require-hashes -r requirements/local.txt
	@$(BIN)/anycowork model pull $(ARGS)

test-model: install ## measure the local model at small tasks, beside a bare loop (ARGS="--half report --write")
	@$(BIN)/python tests/model/run.py $(ARGS)

web: $(STAMP) ## build the web UI
	@$(BIN)/python scripts/webui.py build

wire: $(STAMP) ## write the web UI's types from the server's own description
	@$(BIN)/python scripts/wire.py

screens: install browser ## look at every screen in a real browser: pictures into docs/screens/
	@$(BIN)/python scripts/screens.py

docs: install ## write the generated pages of docs/
	@if [ -f scripts/spec_table.py ]; then $(BIN)/python scripts/spec_table.py; else echo "There are no generated pages yet."; fi

lock: install ## pin the newest fitting versions with their hashes (LOCK=--upgrade; without it, what is new only)
	@for name in uv runtime dev local traces; do \
	  echo "==> Locking requirements/$$name.txt"; \
	  (cd requirements && ../$(COMPILE) $(LOCK) $$name.in -o $$name.txt) || exit 1; \
	done

clean: ## remove what was set up or built; data folders and workspaces stay
	@rm -rf .venv dist build .mypy_cache .ruff_cache .hypothesis .import_linter_cache web/node_modules src/anycowork/api/static/dist
	@find src tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
	@echo "Clean."
