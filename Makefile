# Two commands for a fresh machine with Python 3.11 and nothing else:
#   make demo   set everything up, score an example data set, write what a user would look at
#   make test   set everything up, lint, type-check, and run all tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test system lint check bench mutation clean

# $(call install,PYTHON,WHAT): the versions that were tested; where one cannot be had, say so and take what is allowed.
LOCK := constraints.txt
install = $(1) -m pip install --quiet --constraint $(LOCK) $(2) || { \
	echo "not every version of $(LOCK) can be had here: installing what pyproject.toml allows"; \
	$(1) -m pip install --quiet $(2); }

$(READY): pyproject.toml $(LOCK)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "spagree needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(call install,$(BIN)/python,--editable '.[all]' --group test --group lint)
	touch $(READY)

# New versions of everything, to be tested and committed.
.PHONY: lock
lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	sed -n '/^#/p' $(LOCK) > $(LOCK).new
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --no-annotate --all-extras --group test --group lint --group docs --group dist pyproject.toml >> $(LOCK).new
	mv $(LOCK).new $(LOCK)

# The demo installs only what it shows: no Spark, no compiler, no test tools.
DEMO := .venv-demo
SHOW := $(DEMO)/bin/spagree

$(DEMO)/.ready: pyproject.toml $(LOCK)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "spagree needs Python 3.11 or newer; try: make PYTHON=python3.11 demo")'
	$(PYTHON) -m venv $(DEMO)
	$(call install,$(DEMO)/bin/python,--no-compile --editable '.[report]')
	touch $@

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

# The type checker runs on one core: it runs beside the tests, which wait now and then.
test: $(READY) system
	$(MAKE) --no-print-directory --jobs 2 lint check

# Programs the tests drive, such as a browser: installed where that can be done, otherwise their tests are skipped.
system:
	@sh tests/system.sh

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Two workers, one per core; tests/distribution.py says what each of them runs.
JOBS ?= 2
WORKERS := -n $(JOBS) --dist loadgroup --no-loadscope-reorder

check: $(READY)
	$(BIN)/python -m pytest $(WORKERS)

# The same tests with branches counted, which doubles their time.
.PHONY: coverage
coverage: $(READY) system
	$(BIN)/python -m pytest $(WORKERS) --cov --cov-report=
	$(BIN)/coverage report
	$(BIN)/coverage report --include='*/spagree/counts/*,*/spagree/estimate/*' --fail-under=99

# Spark, dask and modin in every case; `make test` runs the richest cases.
.PHONY: test-engines
test-engines: $(READY)
	EVERY_CASE=1 $(BIN)/python -m pytest $(WORKERS) tests/counts/test_tally_engines.py tests/counts/test_tally_groups.py tests/read/test_read_spark.py

# Every law on twenty times as many examples as in `make test`.
.PHONY: test-laws
test-laws: $(READY)
	FUZZ=20 $(BIN)/python -m pytest $(WORKERS) -m hypothesis

# Damaged and hostile files, other tools' files, hostile frames: a few hundred cases run with the tests, here thousands.
.PHONY: fuzz
fuzz: $(READY)
	FUZZ=50 $(BIN)/python -m pytest $(WORKERS) tests/fuzz tests/read/files/test_read_laws.py tests/read/files/test_read_hostile_files.py tests/read/tools/test_tools_laws.py

bench: $(READY)
	$(BIN)/python -m benchmarks core
	$(BIN)/python -m benchmarks paper

# The live monitor: speed; many more kills and random requests than the tests run.
.PHONY: bench-monitor test-monitor
bench-monitor: $(READY)
	$(BIN)/python -m benchmarks monitor

test-monitor: $(READY)
	SPAGREE_KILLS=100 SPAGREE_FUZZ=2000 SPAGREE_FSYNC=on $(BIN)/python -m pytest tests/monitor

# Hours, gigabytes and a quiet machine; docs/scale has the results. Options: python -m benchmarks scale --help
.PHONY: bench-scale bench-peers bench-billion
bench-scale: $(READY)
	$(BIN)/python -m benchmarks scale

bench-peers: $(READY) .venv-peers/.ready
	$(BIN)/python -m benchmarks peers

bench-billion: $(READY)
	$(BIN)/python -m benchmarks billion

.venv-peers/.ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(@D)/bin/python -m pip install --quiet --group peers
	touch $@

# A study by name, for example `make study NAME=intervals`; `python -m benchmarks --help` lists them.
.PHONY: study
study: $(READY)
	$(BIN)/python -m benchmarks $(NAME)

# The pages and pictures of docs/report.md.
.PHONY: example-reports
example-reports: $(READY)
	$(BIN)/python benchmarks/example_reports.py

# The pictures of docs/monitor.md.
.PHONY: monitor-pictures
monitor-pictures: $(READY)
	$(BIN)/python benchmarks/monitor_pictures.py

# Reports on ten shapes of data and a picture of each in build/screenshots, to look at after a change of the page.
.PHONY: screenshots drawing-library
screenshots: $(READY)
	$(BIN)/python benchmarks/screenshots.py

# The library that draws the charts of a page, as the installed vl-convert has it.
drawing-library: $(READY)
	$(BIN)/python -c 'import vl_convert; print(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))' > src/spagree/present/report/library.js

# A sample of the mutants of counts/ and estimate/: MUTANTS of them, drawn by SEED from every module; less than an hour
# on two cores. In an environment of its own: mutmut 3.8 does not work with pytest 9. Its first call only makes mutants
# and learns which tests reach them, then fails because none has that name.
SEED ?= 1
MUTANTS ?= 150
mutation:
	$(PYTHON) -m venv .venv-mutation
	.venv-mutation/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-mutation/bin/python -m pip install --quiet --editable '.[all]' --group test 'mutmut>=3.8' 'pytest<9'
	rm -rf mutants
	.venv-mutation/bin/mutmut run --max-children 2 none > .venv-mutation/first.log 2>&1; \
		test -s mutants/mutmut-stats.json || { tail -c 3000 .venv-mutation/first.log; exit 1; }
	.venv-mutation/bin/mutmut run --max-children 2 $$(.venv-mutation/bin/python tests/mutants.py sample $(SEED) $(MUTANTS))
	.venv-mutation/bin/python tests/mutants.py score

# The annotation tools themselves, in environments of their own: 1.5 GB; needs PyPI the first time.
.PHONY: test-live
test-live: $(READY) .venv-potato/.ready .venv-label-studio/.ready
	$(BIN)/python -m pytest tests/live/live_*.py

.venv-potato/.ready: TOOL := potato-annotation
.venv-label-studio/.ready: TOOL := label-studio
.venv-potato/.ready .venv-label-studio/.ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet $(TOOL)
	touch $@

# The documentation site in site/, with every link checked.
.PHONY: docs dist test-oldest sbom
docs: $(READY)
	$(call install,$(BIN)/python,--group docs)
	$(BIN)/python docs/build_site.py

# Source archive and wheel, checked, and the wheel tried without extras in an empty environment.
dist: $(READY)
	$(call install,$(BIN)/python,--group dist)
	rm -rf dist
	PIP_CONSTRAINT=$(CURDIR)/$(LOCK) $(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	rm -rf .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet dist/*.whl
	.venv-wheel/bin/python tests/smoke.py

# The oldest versions of every dependency that pyproject.toml allows.
test-oldest: $(READY)
	mkdir -p build
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --extra report --extra excel --extra postgres --extra zstd --python-version 3.11 pyproject.toml -o build/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-oldest/bin/python -m pip install --quiet -r build/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --no-deps --editable .
	.venv-oldest/bin/python tests/smoke.py

# What the installed package consists of, as CycloneDX JSON.
sbom: $(DEMO)/.ready $(READY)
	$(call install,$(BIN)/python,--group dist)
	mkdir -p dist
	$(BIN)/cyclonedx-py environment $(DEMO)/bin/python --output-file dist/sbom.json

clean:
	rm -rf $(VENV) .venv-demo .venv-wheel .venv-oldest .venv-mutation build dist site demo mutants .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
