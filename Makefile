# Each command sets up what it needs, once, in .venv and node_modules; nothing has to be activated.
PYTHON ?= python3
SETUP = @$(PYTHON) scripts/setup.py
RUN = .venv/bin/python -m
MKDOCS = NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs
LOCKS = site library torch record kernel-test test node uv pip
COMPILE = .venv/bin/uv pip compile --quiet --upgrade --python-version 3.11 --python-platform linux --only-binary :all: \
	--no-annotate --no-emit-index-url --custom-compile-command "make lock"
NPM_LOCK = PATH="$$PATH:$(CURDIR)/.venv/bin" npm install --package-lock-only --ignore-scripts \
	--omit-lockfile-registry-resolved --no-audit --no-fund

# Whoever waits for a browser leaves a processor idle, so the tests have one process more than there are processors.
PYTEST = PYTEST_XDIST_AUTO_NUM_WORKERS=$$(($$(nproc) + 1)) $(RUN) pytest

# The tests of drawings and lists that need no torch, since to import it takes longer than they do.
DRAWINGS = tests/docs/test_drawings.py tests/docs/test_chapter_lists.py $(shell grep -L "import torch" tests/chapters/*/test_page.py)

# $(call step,NAME,COMMAND) runs a command, and says in a line how many seconds it took.
step = @from=$$(date +%s); $(2) && echo "==> $(1): $$(($$(date +%s) - from)) s"

# What the caller says reaches a command as one word of its environment, and no shell takes it for commands.
export SNIPPET N CHAPTER SEED PORT

.PHONY: help site check drawings-and-facts pages setup-test ruff-check ruff-format types copies facts run labs lab newest worksheet test test-all mutants serve record random sanitize lint fonts lock clean

help:  ## what can be called
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | while IFS="$$(printf '\t')" read -r name what; do \
		printf 'make %-9s %s\n' "$$name" "$$what"; done

site:  ## build the site into site/; with a GPU, first run what is stale or missing; PREVIEW=1 shows what is stale or missing with a mark
	$(SETUP) site
	@if nvidia-smi > /dev/null 2>&1 && ! $(RUN) scripts.records --check; then $(MAKE) --no-print-directory record || \
		echo "Not recorded, see above. A stale record that snippets/behind.toml doesn't list stops the build."; fi
	@$(MKDOCS) build --strict --site-dir build/site
	@rm -rf site && mv build/site site  # a build that stops leaves the last site as it was
	@echo "Built. Read it: $(PYTHON) -m http.server --directory site, then open http://localhost:8000"

check:  ## lint, and what a changed page can break: drawings, records, facts, equations, values, links; in 20 seconds
	@$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync pages drawings-and-facts lint  # all, also behind one that fails

drawings-and-facts: setup-test
	$(call step,drawings and facts,$(RUN) pytest -qq -o addopts=--import-mode=importlib --confcutdir=tests/chapters $(DRAWINGS) tests/facts)

pages: setup-test
	$(call step,pages,$(MKDOCS) build --strict --quiet --site-dir build/check)

test: lint  ## lint, then test everything that this machine can run
	@$(PYTEST)

test-all: lint  ## the same, and every page in a browser at every width
	@$(PYTEST) -m "not mutant"

mutants:  ## put small mistakes into the kernels, one at a time: each must make the test fail that tests/mutants/ names
	$(SETUP) test
	@$(RUN) pytest -m mutant -n logical --dist loadgroup tests/mutants

lint: ruff-check ruff-format types  ## check the code and its layout

ruff-check: setup-test
	$(call step,ruff check,$(RUN) ruff check --quiet)

ruff-format: setup-test
	$(call step,ruff format,$(RUN) ruff format --check --quiet)

types: setup-test
	$(call step,types of the live pieces,PATH="$$PATH:$(CURDIR)/.venv/bin" scripts/typescript/node_modules/.bin/tsc -p scripts/typescript)

setup-test:
	$(SETUP) test

serve:  ## the site at http://localhost:8000, built again at every change; PORT=8931 serves it there
	$(SETUP) site
	@PREVIEW=1 PYTHONDONTWRITEBYTECODE=1 $(MKDOCS) serve --dev-addr "127.0.0.1:$${PORT:-8000}"

facts:  ## put today's words of every fact onto the pages
	$(SETUP) site
	@$(RUN) scripts.facts

copies:  ## build the site, and into site/downloads PDFs of the sheets and of the handbook and an archive that opens from a disk
	$(SETUP) copies
	@COPIES=1 $(MAKE) --no-print-directory site
	$(RUN) scripts.copies

run:  ## run one snippet, with a GPU or without: make run SNIPPET=three_matmuls; BOARD=1 prints the numbers of its sheet's board
	$(SETUP) run
	@$(RUN) scripts.run "$$SNIPPET" $(if $(BOARD),--board)

labs:  ## put a file to write into labs/ for each lab, and show how far you are
	$(SETUP) run
	@$(RUN) scripts.labs

lab:  ## say what is wrong with your kernel: make lab N=4, or make lab N=vector-add
	$(SETUP) run
	@$(RUN) scripts.labs $${N:+"$$N"} || true

newest:  ## solve the labs on the newest PyTorch and Triton, in build/newest, instead of on those that are locked
	@$(PYTHON) -m venv --clear build/newest
	@build/newest/bin/python -m pip install -q --only-binary :all: --upgrade torch triton numpy pytest pytest-timeout pytest-xdist
	@build/newest/bin/python -m pip list
	@build/newest/bin/python -m pytest -n 0 tests/labs

worksheet:  ## an example with fresh numbers and its key, into build/worksheets: make worksheet CHAPTER=online-softmax SEED=7
	$(SETUP) site
	@$(RUN) scripts.write_worksheet "$$CHAPTER" "$$SEED"

record:  ## run on this machine's GPU the snippets and the kernels' tests whose record is stale or missing; ALL=1 runs all
	$(SETUP) record
	@$(RUN) scripts.records $(if $(ALL),--all); snippets=$$?; $(RUN) scripts.gpu_tests $(if $(ALL),--all) && exit $$snippets

random:  ## draw random cases of the kernels for a minute on this machine's GPU, if their record is stale or missing; ALL=1 always
	$(SETUP) record
	@$(RUN) tests.kernels.random_cases $(if $(ALL),--all)

sanitize:  ## watch the kernels' memory accesses on this machine's GPU with NVIDIA's compute-sanitizer
	$(SETUP) test
	$(RUN) tests.kernels.sanitize

fonts:  ## cut the fonts to the characters of the pages, into docs/assets/fonts
	@$(PYTHON) -m venv build/fonts
	@build/fonts/bin/python -m pip install -q --require-hashes --requirement scripts/fonts/requirements.txt
	@PATH="$$PATH:$(CURDIR)/.venv/bin" npm ci --prefix scripts/fonts --ignore-scripts --no-audit --no-fund --loglevel=error
	@build/fonts/bin/python -m scripts.fonts

lock:  ## choose the newest versions that pyproject.toml admits: requirements/*.txt, package-lock.json
	$(SETUP) lock
	@mkdir -p build
	$(COMPILE) $(LOCKS:%=--group %) --output-file build/versions.txt
	@for group in $(LOCKS); do $(COMPILE) --generate-hashes --emit-build-options \
		--constraint build/versions.txt --group $$group --output-file requirements/$$group.txt || exit; done
	$(NPM_LOCK)
	$(NPM_LOCK) --prefix scripts/typescript
	$(NPM_LOCK) --prefix scripts/fonts
	$(COMPILE) --generate-hashes --emit-build-options scripts/fonts/requirements.in --output-file scripts/fonts/requirements.txt

clean:  ## remove what was built and what was set up
	rm -rf build site .venv node_modules scripts/fonts/node_modules scripts/typescript/node_modules
