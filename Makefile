# make demo | test | check | bench | parity | docs | bench-peers     (everything happens in .venv)
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
REFERENCE ?= ../shared/reference
SOURCES := $(shell find src -type f -not -name '*.pyc') pyproject.toml README.md

# Tests compile more than they compute: XLA's older code generator, told to optimise less, takes half
# of the time.
QUICK_COMPILER := XLA_FLAGS="$(XLA_FLAGS) --xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1 --xla_cpu_parallel_codegen_split_count=1"

.PHONY: demo test check bench parity docs bench-peers clean

demo: $(VENV)/wheel.stamp
	$(BIN)/banditsrl reproduce vardim --panel realizable --scale quick --out results

test: $(VENV)/wheel.stamp
	$(QUICK_COMPILER) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --doctest-modules tests --pyargs banditsrl

check: $(VENV)/wheel.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/wheel.stamp
	$(BIN)/python benchmarks/speed.py $(BENCH)
	$(BIN)/python benchmarks/training.py $(BENCH)

parity: $(VENV)/wheel.stamp
	$(BIN)/python benchmarks/parity.py --reference $(REFERENCE)

$(VENV)/tools.stamp: constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt hatchling
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt \
		$$($(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; print(*[r.replace(' ', '') for r in p['dependencies'] + p['optional-dependencies']['dev']])")
	touch $@

$(VENV)/wheel.stamp: $(VENV)/tools.stamp $(SOURCES)
	rm -rf build/wheel
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w build/wheel .
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl
	touch $@

docs: $(VENV)/wheel.stamp
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt mkdocs "mkdocstrings[python]"
	$(BIN)/mkdocs build --strict

bench-peers: $(VENV)/wheel.stamp
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt
	.venv-peers/bin/pip install --quiet --disable-pip-version-check --no-deps -r benchmarks/peers/requirements-no-deps.txt
	.venv-peers/bin/pip install --quiet --disable-pip-version-check -c constraints.txt build/wheel/*.whl
	.venv-peers/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl
	.venv-peers/bin/python benchmarks/peers/run.py $(PEERS); status=$$?; .venv-peers/bin/python benchmarks/peers/report.py && exit $$status

clean:
	rm -rf $(VENV) .venv-peers build results
