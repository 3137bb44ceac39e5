# make demo | live | test | check | bench | parity | docs | dist | bench-peers
#
# Everything is installed into .venv. `make demo` installs the dependencies of the package only; the
# other targets add the tools that they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
REFERENCE ?= ../shared/reference
SOURCES := $(shell find src -type f -not -name '*.pyc') pyproject.toml README.md

PIP_INSTALL := pip install --quiet --disable-pip-version-check
INSTALL     := $(BIN)/$(PIP_INSTALL) -c constraints.txt

# The requirements of the package, or those of one of its extras, from pyproject.toml.
PROJECT      := import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']
RUNTIME       = $$($(BIN)/python -c "$(PROJECT); print(*[r.replace(' ', '') for r in project['dependencies']])")
EXTRA         = $$($(BIN)/python -c "$(PROJECT); print(*[r.replace(' ', '') for r in project['optional-dependencies']['$(1)']])")

# Tests spend more time compiling than computing. XLA's older code generator with a low optimisation
# level takes half the time.
QUICK_COMPILER := XLA_FLAGS="$(XLA_FLAGS) --xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1 --xla_cpu_parallel_codegen_split_count=1"

# Two processes run the tests, so each of them has one core. Threads of OpenBLAS that wait for each other would
# take up to twenty times as long.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1

.PHONY: demo live test check bench parity docs dist bench-peers clean

demo: $(VENV)/package.stamp
	$(BIN)/banditsrl reproduce vardim --panel realizable --scale quick --out results

# A service with simulated visitors; its dashboard stays until Ctrl+C. LIVE bounds the visit, for
# example LIVE="--minutes 10 --visitors 50".
LIVE ?= --stay
live: $(VENV)/package.stamp $(VENV)/serve.stamp
	$(BIN)/python examples/shop.py $(LIVE)

test: $(VENV)/package.stamp $(VENV)/test.stamp
	$(ONE_THREAD) $(QUICK_COMPILER) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --doctest-modules tests --pyargs banditsrl

check: $(VENV)/package.stamp $(VENV)/check.stamp $(VENV)/serve.stamp $(VENV)/postgres.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/package.stamp
	$(BIN)/python benchmarks/speed.py $(BENCH)
	$(BIN)/python benchmarks/training.py $(BENCH)

parity: $(VENV)/package.stamp
	$(BIN)/python benchmarks/parity.py --reference $(REFERENCE)

docs: $(VENV)/package.stamp $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "To read it: $(BIN)/python -m http.server -d build/site, then open http://127.0.0.1:8000"

# The wheel and the source distribution, each installed into an empty environment and used there.
dist: $(VENV)/runtime.stamp
	rm -rf build/dist build/empty
	$(BIN)/python -m hatchling build -d build/dist
	$(PYTHON) -m venv build/empty
	build/empty/bin/$(PIP_INSTALL) -c constraints.txt hatchling build/dist/*.whl
	build/empty/bin/banditsrl run vardim-realizable linucb --horizon 200 --seeds 2 --quiet
	build/empty/bin/$(PIP_INSTALL) --no-deps --no-build-isolation --force-reinstall build/dist/*.tar.gz
	build/empty/bin/banditsrl --version

bench-peers: $(VENV)/package.stamp
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/$(PIP_INSTALL) -r benchmarks/peers/requirements.txt
	.venv-peers/bin/$(PIP_INSTALL) --no-deps -r benchmarks/peers/requirements-no-deps.txt
	.venv-peers/bin/$(PIP_INSTALL) -c constraints.txt build/wheel/*.whl
	.venv-peers/bin/$(PIP_INSTALL) --no-deps --force-reinstall build/wheel/*.whl
	.venv-peers/bin/python benchmarks/peers/run.py $(PEERS); status=$$?; .venv-peers/bin/python benchmarks/peers/report.py && exit $$status

# The dependencies of the package, and hatchling, which builds it.
$(VENV)/runtime.stamp: constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) hatchling
	$(INSTALL) $(RUNTIME)
	touch $@

# The packages of one extra: serve, postgres, test, check or docs.
$(VENV)/%.stamp: $(VENV)/runtime.stamp
	$(INSTALL) $(call EXTRA,$*)
	touch $@

# The package itself, built again whenever a source file changes.
$(VENV)/package.stamp: $(VENV)/runtime.stamp $(SOURCES)
	rm -rf build/wheel
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w build/wheel .
	$(BIN)/$(PIP_INSTALL) --no-deps --force-reinstall build/wheel/*.whl
	touch $@

clean:
	rm -rf $(VENV) .venv-peers build results
