# Verbs for people. Each makes what it needs in .venv; with uv when it is there, with pip otherwise.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
ifdef UV
  MAKE_VENV := uv venv --quiet $(VENV)
  INSTALL := uv pip install --quiet --python $(BIN)/python
else
  MAKE_VENV := $(PYTHON) -m venv $(VENV)
  INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/cpp/*.*pp src/cpp/kernels/*)
PYTEST_ARGS ?=

.PHONY: demo test test-gpu sanitize browser lint bench docs results clean
.DELETE_ON_ERROR:

$(BIN)/python:
	$(MAKE_VENV)

$(VENV)/.demo: $(SOURCES) | $(BIN)/python
	$(INSTALL) -e '.[demo,expansion]'
	@touch $@

$(VENV)/.dev: $(SOURCES) | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo ## index the demo pictures and open the page (ARGS=--no-serve: one example search)
	$(BIN)/sketchseek demo $(ARGS)

test: $(VENV)/.dev browser ## the whole suite
	$(BIN)/python -m pytest $(PYTEST_ARGS)

sanitize: $(VENV)/.dev ## the engine's tests under address, undefined-behaviour and thread sanitizers
	$(BIN)/python benchmarks/sanitize.py $(ARGS)

$(VENV)/.gpu: $(VENV)/.dev
	$(INSTALL) -e '.[gpu]'
	@touch $@

test-gpu: $(VENV)/.gpu ## the kernels for graphics processors: on one where there is one, interpreted elsewhere
	$(BIN)/python -m pytest tests/shape/engine/test_gpu.py $(PYTEST_ARGS)

browser: # for the page's tests: any Chrome or Chromium; the distribution's is installed where that is allowed
	@for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
	  command -v $$name >/dev/null && exit 0; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	else echo "There is no Chrome or Chromium here: the page's tests will be skipped."; fi

lint: $(VENV)/.dev ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev ## speed of every method and its peers
	$(BIN)/sketchseek bench $(ARGS)

results: $(VENV)/.dev ## docs/results.md and its figures, from the development sets
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/results.py $(ARGS)

docs: $(VENV)/.dev ## the documentation as a site in build/site
	$(BIN)/mkdocs build --quiet

clean:
	rm -rf $(VENV) build
