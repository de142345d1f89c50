# The two commands:
#   make run [ARGS='--for 30s']   set up, build, and start the guard on this machine, tuning only
#   make test                     set up, and pass everything that CI asks for
# The others are the steps of these, and `make deb`, `make pages`, `make bench`; `make lab` builds the virtual machines' part,
# `make vm` tests it, and `make results` runs the long tables of docs/results.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
export CARGO_TERM_COLOR ?= auto
ARGS ?=

.PHONY: python documented notice report fleet kubernetes arch release links site cargo-install lab smoke vm kernel kernel-check results run test setup setup-test setup-kernel build format lint shell-lint unit-test doc msrv live unit deb-test pages deb bench fuzz clean
.NOTPARALLEL:

run: build
	@packaging/run $(TARGET)/release/warmsetd --mode tune --live $(ARGS)

test: setup-test format lint shell-lint links unit-test doc build cargo-install report documented notice fleet python live unit deb-test arch kubernetes lab kernel-check smoke msrv
	@echo "make test: all passed"

setup:
	@packaging/bootstrap run

setup-test:
	@packaging/bootstrap test

setup-kernel:
	@packaging/bootstrap kernel

build: setup
	$(CARGO) build --release --locked -p warmset-cli
# Without shared libraries the guard is a third smaller in memory, and needs nothing that could be paged out. A guard that
# panics ends at once; the command catches what a library does with damaged files.
	$(CARGO) rustc --release --locked -p warmset-daemon --bin warmsetd -- -C target-feature=+crt-static -C panic=abort -C lto=fat -C codegen-units=1
	$(CARGO) rustc --release --locked -p warmset-hold --bin warmset-hold -- -C target-feature=+crt-static -C panic=abort -C lto=fat -C codegen-units=1

# The lab, and the program that runs inside its machines, which must need nothing that is not on their disk.
lab: build
	$(CARGO) build --release --locked -p warmset-vmlab --bin warmset-lab
	$(CARGO) rustc --release --locked -p warmset-vmlab --bin warmset-guest -- -C target-feature=+crt-static -C panic=abort

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

shell-lint:
	packaging/tests/shell.sh

# Every link in the pages of this repository leads somewhere.
links:
	python3 packaging/site/site.py check

# The pages as a site, in target/site/html; brings mdBook from the registry the first time.
site: links
	packaging/site/build $(TARGET)

unit-test:
	$(CARGO) test --workspace --locked

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# The command by `cargo install`.
cargo-install: build
	packaging/tests/install.sh $(TARGET)

# Notices on a bus of their own.
notice: build
	packaging/tests/notice.sh $(TARGET)/release/warmset

# The report of a program's working set, in a browser without a screen.
report: build
	packaging/tests/report.sh $(TARGET)/release

# Metrics, alerts and the dashboard, under a real Prometheus.
fleet: build
	packaging/tests/fleet.sh $(TARGET)/release

# The Python package in a fresh environment: lint, types, examples, tests, the notebook.
python: build
	packaging/tests/python.sh $(TARGET)/release

# Every command that the pages tell people to run.
documented: lab
	packaging/tests/documented.py $(TARGET)/release

# A live run of 10 seconds that must write nothing.
live: build
	packaging/tests/live.sh $(TARGET)/release/warmsetd

unit: build
	packaging/tests/unit.sh $(TARGET)/release

# Boots Debian's 6.12 twice and lets a storm rage for thirty seconds, without and with the guard.
smoke: lab
	packaging/tests/machines.sh smoke

# The lab's own tests: every kernel, panics, wedges, Ctrl-C, what a guard must stand, and the package on a Debian with systemd.
vm: lab deb
	packaging/tests/machines.sh smoke failures service protect

# Builds a kernel with our series and runs the series' tests in it; half an hour of one processor for each series.
kernel: setup-kernel lab
	$(TARGET)/release/warmset-lab selftest --series $(or $(SERIES),6.12)
	$(TARGET)/release/warmset-lab selftest --series $(or $(SERIES),6.12) --nodes 1,1 hot
	$(TARGET)/release/warmset-lab selftest --series $(or $(SERIES),6.12) --nodes 3,1 nodes

# The kernel series as a reviewer would look at them, patch by patch; nothing is done again that is in kernel/CHECKED unchanged.
kernel-check: lab
	python3 packaging/tests/kernel.py $(TARGET)/release

# The tables of docs/results, by hand: hours.
results: lab
	bench/results.sh $(TARGET)/release

# Debian 13's own rustc, 1.85, checks the workspace.
msrv:
	packaging/tests/msrv.sh $(TARGET)

pages: lab
	$(CARGO) run --quiet --locked -p warmset-cli --example pages -- $(TARGET)/release/pages
	$(CARGO) run --quiet --locked -p warmset-vmlab --example pages -- $(TARGET)/release/lab-pages
	packaging/tests/pages.sh $(TARGET)/release

deb: lab pages
	packaging/deb/build $(TARGET)

# Installs the package in a clean root, runs it, purges it, and compares the root with before.
deb-test: deb
	packaging/tests/deb.sh $(TARGET)

# What the PKGBUILD puts where, from the programs just built.
arch: deb
	packaging/tests/arch.sh $(TARGET)/release

# Builds the commit twice from nothing and compares the bytes. docs/releasing.md has the rest.
release:
	@packaging/release

# The container image of the package, and what starts it: manifests, chart, a container each.
kubernetes: deb
	packaging/tests/kubernetes.sh $(TARGET)

# What a tick costs, and what the guard costs beside earlyoom; takes four minutes, as root.
bench: build
	bench/cost.sh $(TARGET)/release/warmsetd 30
	$(CARGO) bench --locked -p warmset-daemon --bench tick
	bench/instructions.sh $(TARGET)/release
	bench/simulator.sh $(TARGET)/release
	bench/python.sh
	bench/sweep.sh $(TARGET)/release

# The parsers beside a fuzzer, ten minutes: needs a nightly compiler and cargo-fuzz. What it keeps, `make test` reads again.
fuzz:
	cd fuzz && $(CARGO) +nightly fuzz run traces -- -max_total_time=$(or $(SECONDS),600) -max_len=4096 -timeout=10

clean:
	$(CARGO) clean
