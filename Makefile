# The two commands:
#   make run [ARGS='--for 30s']   set up, build, and start the guard on this machine, tuning only
#   make test                     set up, and pass everything that CI asks for
# The others are the steps of these, and `make deb`, `make pages`, `make bench`.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
export CARGO_TERM_COLOR ?= auto
ARGS ?=

.PHONY: run test setup setup-test build format lint shell-lint unit-test doc msrv live unit deb-test pages deb bench clean
.NOTPARALLEL:

run: build
	@packaging/run $(TARGET)/release/warmsetd --mode tune --live $(ARGS)

test: setup-test format lint shell-lint unit-test doc build live unit deb-test msrv
	@echo "make test: all passed"

setup:
	@packaging/bootstrap run

setup-test:
	@packaging/bootstrap test

build: setup
	$(CARGO) build --release --locked -p warmset-cli
# Without shared libraries the guard is a third smaller in memory, and needs nothing that could be paged out.
	$(CARGO) rustc --release --locked -p warmset-daemon --bin warmsetd -- -C target-feature=+crt-static

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

shell-lint:
	packaging/tests/shell.sh

unit-test:
	$(CARGO) test --workspace --locked

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# A live run of 10 seconds that must write nothing.
live: build
	packaging/tests/live.sh $(TARGET)/release/warmsetd

unit: build
	packaging/tests/unit.sh $(TARGET)/release

# Debian 13's own rustc, 1.85, checks the workspace.
msrv:
	packaging/tests/msrv.sh $(TARGET)

pages:
	$(CARGO) run --quiet --locked -p warmset-cli --example pages -- $(TARGET)/release/pages

deb: build pages
	packaging/deb/build $(TARGET)

# Installs the package in a clean root, runs it, purges it, and compares the root with before.
deb-test: deb
	packaging/tests/deb.sh $(TARGET)

# What a tick costs, and what the guard costs beside earlyoom; takes four minutes, as root.
bench: build
	packaging/bench/cost.sh $(TARGET)/release/warmsetd
	$(CARGO) bench --locked -p warmset-daemon --bench tick

clean:
	$(CARGO) clean
