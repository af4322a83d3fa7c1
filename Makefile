# Two commands for a fresh machine with Python 3.11 and nothing else:
#   make demo   set everything up, score an example data set, write what a user would look at
#   make test   set everything up, lint, type-check, and run all tests
# Longer checks are options of pytest, timings and studies `python -m benchmarks NAME`: see .github/CONTRIBUTING.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := .venv-demo
LOCK := constraints.txt

.PHONY: setup demo test lint tests docs bench clean

# $(call environment,FOLDER): an empty environment.
environment = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "spagree needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)")' && \
	$(PYTHON) -m venv $(1)

# $(call install,FOLDER,WHAT): the versions that were tested; where one cannot be had, say so and take what is allowed.
install = $(1)/bin/python -m pip install --quiet --constraint $(LOCK) $(2) || { \
	echo "not every version of $(LOCK) can be had here: installing what pyproject.toml allows"; \
	$(1)/bin/python -m pip install --quiet $(2); }

setup: $(READY)

$(READY): pyproject.toml $(LOCK)
	$(call environment,$(VENV))
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(call install,$(VENV),--editable '.[all]' --group test --group lint)
	touch $@

# The demo installs only what it shows: no Spark, no compiler, no test tools.
$(DEMO)/.ready: pyproject.toml $(LOCK)
	$(call environment,$(DEMO))
	$(call install,$(DEMO),--no-compile --editable '.[report]')
	touch $@

demo: SHOW := $(DEMO)/bin/spagree
demo: $(DEMO)/.ready
	mkdir -p demo
	$(SHOW) score example:sparse
	$(SHOW) score example:sparse --verbose > demo/summary.txt
	$(SHOW) score example:sparse --json > demo/agreement.json
	$(SHOW) items example:sparse --worst 10 > demo/hardest-items.txt
	$(SHOW) score example:sparse --report demo/report.html --export demo/tables --force > /dev/null
	@echo
	@echo "Written: demo/summary.txt, demo/agreement.json, demo/hardest-items.txt, demo/tables/"
	@echo "Report: $(CURDIR)/demo/report.html (open it in a browser)"
	@echo "Next: $(SHOW) score YOUR.csv    or    $(SHOW) examples"

# Programs the tests drive, such as a browser, are installed where that can be done; otherwise it is said what is skipped.
# The type checker runs on one core: it runs beside the tests, which wait now and then.
test: $(READY)
	@sh tests/system.sh
	$(MAKE) --no-print-directory --jobs 2 lint tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Two workers, one per core; tests/distribution.py says what each of them runs.
tests: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

# The documentation site in site/, with its pictures and example pages made and every link checked.
docs: $(READY)
	$(call install,$(VENV),--group docs)
	$(BIN)/python docs/build_site.py

# The core job and the paper's experiments against other ways to compute the same.
bench: $(READY)
	$(BIN)/python -m benchmarks core
	$(BIN)/python -m benchmarks paper

clean:
	rm -rf .venv .venv-* build dist site demo mutants .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
