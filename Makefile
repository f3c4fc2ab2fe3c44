# Two commands do everything on a fresh machine: `make door` (the main job) and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
TORCH  := "torch==2.13.0" "torchvision==0.28.0"
# The lowest versions that setup.cfg allows live apart.
OLDEST := .venv-oldest
# Arguments for the door run, for example: make door ARGS="--steps 2000"
ARGS   ?=
STEPS  ?=

.DEFAULT_GOAL := help
.PHONY: help install docs figures door demo-videos test test-all test-oldest lint type format bench site notebooks gl clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

# One stamp per set of extras: installed again when the package's metadata or the pins change.
$(VENV)/.base: setup.cfg pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt $(TORCH)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,export,peers,sweeps]"
	touch $@

$(VENV)/.all: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,export,peers,notebooks,site,sweeps]"
	touch $@

$(OLDEST)/.installed: setup.cfg constraints-oldest.txt
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --constraint constraints-oldest.txt $(TORCH)
	$(OLDEST)/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable ".[export,peers,sweeps]" pytest pytest-xdist hypothesis
	touch $@

install: $(VENV)/.base gl  ## set everything up, and nothing else

gl:  ## install the system OpenGL libraries where they are missing
	@sh tools/install_gl.sh

door: $(VENV)/.base gl  ## learn to open the door from the embedded demonstrations
	$(BIN)/python -m vision_pwil.train_door $(if $(STEPS),--steps $(STEPS)) $(ARGS)

demo-videos: $(VENV)/.base gl  ## from videos made on the spot to a policy and its video: a few minutes, in build/demo-videos
	rm -rf build/demo-videos
	$(BIN)/python -m tools.pages build/demo-videos docs/own-environment.md docs/own-videos.md
	@echo "The policy's video is build/demo-videos/runs/pixels/policy.mp4; docs/own-videos.md explains each step."

test: $(VENV)/.dev gl lint type  ## lint, type-check and run the tests (under 15 minutes on 2 cores)
	$(BIN)/python -m pytest -n 2 -m "not slow" $(ARGS)

test-all: $(VENV)/.all gl lint type  ## every test, the slow ones too
	$(BIN)/python -m pytest $(ARGS)

test-oldest: $(OLDEST)/.installed gl  ## the fast tests with the lowest versions that setup.cfg allows
	$(OLDEST)/bin/python -m pytest -n 2 -m "not slow" $(ARGS)

lint: $(VENV)/.dev  ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/.dev  ## mypy
	$(BIN)/mypy

format: $(VENV)/.dev  ## rewrite the sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

figures: $(VENV)/.dev  ## compute the headline figures from results/, and write every table that shows them
	$(BIN)/python -m tools.figures

docs: $(VENV)/.dev  ## write docs/commands.md anew from every --help
	$(BIN)/python tools/commands.py

bench: $(VENV)/.dev gl  ## every benchmark, one after the other
	for b in rewarder rendering demonstrations tcc sac door locomotion; do $(BIN)/python -m benchmarks.$$b || exit 1; done

site: $(VENV)/.all  ## build the documentation site into site/; a link that leads nowhere fails
	$(BIN)/python tools/site.py

notebooks: $(VENV)/.all gl  ## execute the notebooks and keep their outputs
	$(BIN)/python tools/notebooks.py

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) $(OLDEST) build site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
