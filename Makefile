# `make run` starts the guard, and `make test` runs all that CI runs. `make help` lists every target: a comment that begins
# with "##" above a target is its line there.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
export CARGO_TERM_COLOR ?= auto
ARGS ?=

.PHONY: help compiled tried python wheels documented notice report fleet kubernetes packages supply-chain advisories cluster alerts release dist links site cargo-install lab smoke vm kernel kernel-check kernel-boot kernel-newest kernel-deb kernel-deb-test results decisions run test setup setup-test setup-kernel setup-kernel-deb guard build install uninstall format lint clippy density commits licences urls tables shell-lint unit-test doc msrv live unit deb-test pages deb lab-deb bench fuzz fuzz-quick sanitize soak clean

## list the targets
help:
	@awk '/^## /{ text = substr($$0, 4) } /^[a-z-]+:/{ if (text) printf "  make %-14s %s\n", substr($$1, 1, index($$1, ":") - 1), text; text = "" }' Makefile

## set up, build, and start the guard on this machine in mode tune; ARGS='--for 30s' adds options
run: guard
	@packaging/run $(TARGET)/release $(ARGS)

# What compiles goes two at a time: alone, each leaves a processor idle half of the time, since a link has one thread. Lint and tests are compiled for
# `debug`, programs for `release`, so that the two do not wait for each other. The output of each comes as a whole when it is done.
## set up, and run everything that CI runs
test: setup-test
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target compiled
	@$(MAKE) --no-print-directory --jobs=1 tried
	@echo "make test: all passed"

compiled: format shell-lint links lint build unit-test lab doc msrv

tried: cargo-install report documented notice fleet python live unit deb-test packages supply-chain kubernetes kernel-check smoke

## install what a build needs
setup:
	@packaging/bootstrap run

## install what the tests need
setup-test:
	@packaging/bootstrap test

## install what a kernel build needs
setup-kernel:
	@packaging/bootstrap kernel

## install what a kernel's packages need
setup-kernel-deb:
	@packaging/bootstrap kernel-deb

# What a guarded machine needs, and no more: a minute or two of compiling.
## build warmset, warmsetd and warmset-hold
guard: setup
	CARGO=$(CARGO) packaging/compile guard $(TARGET)

## build all programs, their manual pages and completions
build: guard
	CARGO=$(CARGO) packaging/compile desktop $(TARGET)
	CARGO=$(CARGO) packaging/compile tools $(TARGET)
	@valgrind/build $(TARGET)/release || [ $$? -eq 3 ]
	@qemu/build $(TARGET)/release || [ $$? -eq 3 ]

# Without DESTDIR it is for this machine, and so are the tool for Valgrind, which works with the version that is installed, and
# the plugin for QEMU.
## install what `make build` built below DESTDIR, by default in PREFIX=/usr/local; see packaging/install
install:
	@packaging/install install $(TARGET)/release
	@[ -n "$(DESTDIR)" ] || valgrind/build $(or $(LIBEXECDIR),$(or $(PREFIX),/usr/local)/libexec)/warmset || [ $$? -eq 3 ]
	@[ -n "$(DESTDIR)" ] || qemu/build $(or $(LIBEXECDIR),$(or $(PREFIX),/usr/local)/libexec)/warmset || [ $$? -eq 3 ]

## remove what `make install` installs, but not the configuration
uninstall:
	@packaging/install uninstall $(TARGET)/release
	@[ -n "$(DESTDIR)" ] || rm -rf $(or $(LIBEXECDIR),$(or $(PREFIX),/usr/local)/libexec)/warmset/valgrind-* $(or $(LIBEXECDIR),$(or $(PREFIX),/usr/local)/libexec)/warmset/qemu

## build the VM lab, its manual pages and completions
lab: guard
	CARGO=$(CARGO) packaging/compile lab $(TARGET)
	packaging/tests/pages.sh $(TARGET)/release lab-pages

## check the format of Rust sources
format:
	$(CARGO) fmt --all --check

## run clippy and the checks in lint/
lint: clippy density commits licences urls tables

clippy:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

density:
	python3 lint/density.py

commits:
	python3 lint/commits.py

licences:
	python3 lint/licences.py

urls:
	python3 lint/urls.py

tables:
	python3 lint/tables.py

## check the shell scripts with shellcheck
shell-lint:
	packaging/tests/shell.sh

## check that every link in the pages leads to a file and a heading, and that the reference pages are complete
links:
	python3 packaging/site/site.py check
	python3 lint/reference.py

## build the pages as a site in target/site/html; installs mdBook the first time
site: links
	packaging/site/build $(TARGET)

## run the tests of all crates
unit-test:
	$(CARGO) test --workspace --locked

## build the documentation of all crates
doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

## test `cargo install` of the command
cargo-install: build
	packaging/tests/install.sh $(TARGET)

## test `warmset notice` on a D-Bus session of its own
notice: build
	packaging/tests/notice.sh $(TARGET)/release/warmset

## test the report of a working set in a headless browser
report: build
	packaging/tests/report.sh $(TARGET)/release

## test metrics, alerts and the dashboard with a real Prometheus
fleet: build
	packaging/tests/fleet.sh $(TARGET)/release

## make its wheel, and test the Python package in a fresh environment
python: build
	packaging/tests/python.sh $(TARGET)/release

# Not a part of `make test`, which makes the wheel for this machine.
## make wheels of the Python package for manylinux, x86-64 and aarch64, in target/wheels, and try that for aarch64 under QEMU
wheels:
	packaging/wheels $(TARGET)
	python3 packaging/tests/wheels.py $(TARGET)/wheels/*.whl
	packaging/tests/wheel-emulated.sh $(TARGET)

## run every command that the pages tell people to run
documented: build lab
	packaging/tests/documented.py $(TARGET)/release

## observe this machine for 10 s, and check that nothing is written, and what stays in memory
live: build
	packaging/tests/live.sh $(TARGET)/release/warmsetd
	packaging/tests/resident.py $(TARGET)/release/warmsetd

## check the systemd units and how exposed they are
unit: build
	packaging/tests/unit.sh $(TARGET)/release

## boot Debian's 6.12 twice for a load of 30 s, without and with the guard
smoke: build lab
	packaging/tests/machines.sh smoke trace

## run all tests in virtual machines: every kernel, faults, protection, the package under systemd
vm: build lab deb
	packaging/tests/machines.sh smoke trace failures service service_life actors_acts soak:disturb take_over protect size squeeze decisions

## build a kernel with our series and run its tests; half an hour of one CPU for each SERIES
kernel: setup-kernel lab
	$(TARGET)/release/warmset-lab selftest --series $(or $(SERIES),6.12)
	$(TARGET)/release/warmset-lab selftest --series $(or $(SERIES),6.12) --nodes 1,1 hot
	$(TARGET)/release/warmset-lab selftest --series $(or $(SERIES),6.12) --nodes 3,1 nodes

# A patch that kernel/CHECKED lists unchanged is not checked again.
## check the kernel series patch by patch, as a reviewer would
kernel-check: lab
	python3 packaging/tests/kernel.py $(TARGET)/release

## build each kernel with our patches and run its tests in machines: most of an hour for each
kernel-boot: lab
	python3 packaging/tests/kernel.py $(TARGET)/release boot

## say whether each kernel series applies to the newest source that Debian has
kernel-newest: setup-kernel lab
	python3 packaging/tests/kernel.py $(TARGET)/release newest

# The configuration is that of the kernel that runs, unless CONFIG names another one.
## build Debian packages of a kernel with our series; SERIES=6.12 CONFIG=FILE
kernel-deb: setup-kernel-deb lab
	packaging/kernel/deb $(TARGET)/release $(or $(SERIES),6.12) $(or $(CONFIG),/boot/config-$(shell uname -r)) $(or $(OUT),$(TARGET)/kernel-deb)

## install the packages that `make kernel-deb CONFIG=lab` built in a machine with systemd, and boot it
kernel-deb-test: lab deb
	packaging/tests/machines.sh kernel_package

## measure the tables of docs/results again; takes hours
results: lab
	bench/results.sh $(TARGET)/release

## play 24 situations beside each guard, and write docs/results/decisions.md; two hours, as root
decisions: lab
	bench/decisions.sh $(TARGET)/release

## check the workspace with Debian 13's rustc 1.85
msrv:
	packaging/tests/msrv.sh $(TARGET)

## check the manual pages and the completions
pages: build
	packaging/tests/pages.sh $(TARGET)/release pages

## build the Debian packages warmset and warmset-tools
deb: pages
	packaging/deb/build $(TARGET) warmset warmset-tools

## build the Debian package of the VM lab
lab-deb: lab
	packaging/deb/build $(TARGET) warmset-lab

## install, run and purge the package in a clean root, and compare the root with before
deb-test: deb
	packaging/tests/deb.sh $(TARGET)

## compare what make install, the Debian packages, PKGBUILD, the rpm spec, APKBUILD and the Nix expression install
packages: deb
	packaging/tests/packages.sh $(TARGET)

## test the list of what is in the programs, the signature of sums, and the check of advisories
supply-chain: build
	packaging/tests/sbom.sh $(TARGET)
	packaging/tests/sign.sh
	python3 packaging/tests/crates.py $(TARGET)

# Not a part of `make test`: its database comes from the network. ADVISORY_DB is a copy that is here already.
## compare the crates with the RustSec database of known vulnerabilities; see docs/releasing.md
advisories:
	lint/advisories.py $(TARGET) $(if $(ADVISORY_DB),--database $(ADVISORY_DB))

## make static archives, the Debian packages and the wheel in target/dist, with their checksums
dist: deb
	packaging/dist $(TARGET)

## build the commit twice from nothing and compare the bytes; see docs/releasing.md
release:
	@packaging/release

# Not a part of `make test`: the first time, it compiles Kubernetes. It uses the image of `make kubernetes`.
## run the manifests and the chart on a Kubernetes of one node, in namespaces of this machine; as root
cluster: kubernetes
	packaging/tests/cluster.sh $(TARGET)

## see which alerts fire in a machine that is short of memory; takes 15 min
alerts: lab
	packaging/tests/alerts.sh $(TARGET)/release

## test the container image, the Kubernetes manifests and the chart
kubernetes: deb
	packaging/tests/kubernetes.sh $(TARGET)

## measure what a tick costs, and the guard beside earlyoom; takes 4 min, as root
bench: build
	bench/cost.sh $(TARGET)/release/warmsetd 30
	$(CARGO) bench --locked -p warmset-daemon --bench tick
	$(CARGO) bench --locked -p warmset-traces --bench reading
	bench/instructions.sh $(TARGET)/release
	bench/simulator.sh $(TARGET)/release
	bench/beside.py $(TARGET)/release
	bench/growth.sh $(TARGET)/release
	bench/curves.sh
	bench/python.sh
	bench/sweep.sh $(TARGET)/release

# Needs a nightly compiler.
## run the tests of unsafe code under the address sanitizer
sanitize:
	packaging/tests/sanitize.sh $(TARGET)

## run the guard beside storms for HOURS of a machine, 8 by default, in all MODES, and write target/soak
soak: lab deb
	HOURS="$(or $(HOURS),8)" MODES="$(or $(MODES),observe tune guard protect)" packaging/tests/machines.sh soak:beside

## change the kept inputs of every parser a little, RUNS times, by default 200 000: minutes, and no nightly compiler
fuzz-quick:
	MUTATIONS=$(or $(RUNS),200000) $(CARGO) test --locked -p warmset-parsers

# Needs a nightly compiler and cargo-fuzz. `make test` changes and reads the inputs that are kept.
## fuzz PARSER, by default every parser, for SECONDS each, 600 by default, or with RUNS inputs
fuzz:
	FUZZ_SECONDS="$(SECONDS)" FUZZ_RUNS="$(RUNS)" fuzz/run $(PARSER)

## remove what was built
clean:
	$(CARGO) clean
