# Everything from nothing: `make demo` and `make test` need Python 3.11 to 3.13 and make, and nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TORCH := torch==2.13.0
MINUTES ?= 5
DEALS ?= 2000
GROUPS := main agilerl benchmarl

.PHONY: demo test test-adapters lint install clean

demo: $(VENV)/installed  ## Train German four-handed for MINUTES, then play the result against the built-in players.
	$(BIN)/python -m train.ppo --rules german --players 4 --minutes $(MINUTES) --out runs/demo
	$(BIN)/napoleon tournament --rules german --players runs/demo/agent.onnx,rule,random --deals $(DEALS) --html runs/demo/tournament.html
	@echo "The agent is runs/demo/agent.onnx, the tournament runs/demo/tournament.html, the curves: $(BIN)/tensorboard --logdir runs/demo/log"

test: $(VENV)/installed  ## Lint, types, tests.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/pytest -n auto

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
