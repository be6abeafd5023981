# slurm-multifactor2: 'make help' lists the targets.

CARGO     ?= cargo
DESTDIR   ?=
# Where Slurm looks for plugins: what the running slurmctld says, else the first usual directory that exists.
PLUGINDIR ?= $(shell packaging/find-plugindir)
# Where multifactor2-trial goes.
SBINDIR   ?= /usr/local/sbin
# Where the command multifactor2 goes; completions go below DATADIR.
BINDIR    ?= /usr/local/bin
DATADIR   ?= /usr/local/share
MANDIR    ?= $(DATADIR)/man
# A Slurm source tree whose layout is to be compiled in besides the known releases.
SLURM_SRC ?=
export SLURM_SRC

FEATURES  := $(if $(SLURM_SRC),--features slurm-src)
OUTPUT    ?= target/release
BUILT     := $(OUTPUT)/libpriority_multifactor2.so
# What the command makes of itself, and what of it goes below DATADIR; manual pages go to MANDIR.
SHARE     := $(OUTPUT)/share
SHARED    := bash-completion/completions zsh/site-functions fish/vendor_completions.d slurm-multifactor2/schema
PLUGIN    := priority_multifactor2.so
HEADERS   := target/slurm-src

.PHONY: all build command install install-command uninstall demo test test-heavy test-parity test-releases requests replay-truth replay-ubccr preempting counts faults random soak mutants extend fuzz memcheck miri layouts bench docs screenshots book figures lint clean help

all: build

build: command ## build the plugin and the commands (no Slurm tree needed; SLURM_SRC=/path adds that tree's layout)
	@packaging/check-compilers rust c
	$(CARGO) build --release --locked $(FEATURES)

# By itself, so that what it needs of a crate changes nothing in the plugin.
command: ## build the command multifactor2
	@packaging/check-compilers rust
	$(CARGO) build --release --locked --package multifactor2-command
	env -u CARGO_BUILD_TARGET $(CARGO) run --release --locked -q --package multifactor2-command -- generate $(SHARE)

define INSTALL_COMMAND
	packaging/strip $(OUTPUT)/multifactor2
	install -D -m 755 $(OUTPUT)/multifactor2.stripped "$(DESTDIR)$(BINDIR)/multifactor2"
	ln -sf multifactor2 "$(DESTDIR)$(BINDIR)/swhy"
	install -D -m 644 -t "$(DESTDIR)$(MANDIR)/man1" $(SHARE)/man/man1/*
	for directory in $(SHARED); do \
		install -D -m 644 -t "$(DESTDIR)$(DATADIR)/$$directory" $(SHARE)/$$directory/* || exit 1; done
endef

install-command: command ## install the command alone, for login nodes: into BINDIR and MANDIR, completions and schemas into DATADIR
	$(INSTALL_COMMAND)

install: build ## install the plugin into DESTDIR/PLUGINDIR, the trial into SBINDIR, and the command
	@test -n "$(PLUGINDIR)" || { echo "No plugin directory of Slurm found: give PLUGINDIR=/path (see PluginDir in 'scontrol show config')" >&2; exit 1; }
	install -d "$(DESTDIR)$(PLUGINDIR)"
	packaging/strip $(BUILT)
	install -m 755 $(BUILT).stripped "$(DESTDIR)$(PLUGINDIR)/$(PLUGIN)"
	install -D -m 755 packaging/trial "$(DESTDIR)$(SBINDIR)/multifactor2-trial"
	install -D -m 644 -t "$(DESTDIR)$(MANDIR)/man8" packaging/man/*.8
	$(INSTALL_COMMAND)
	@echo "Installed $(DESTDIR)$(PLUGINDIR)/$(PLUGIN). Set PriorityType=priority/multifactor2 in slurm.conf and restart slurmctld."

uninstall: ## remove what install or install-command has installed
	@if file=$$(packaging/notice configured); then \
		echo "$$file still says PriorityType=priority/multifactor2: change it first, or slurmctld will not start" >&2; exit 1; fi
	rm -f "$(DESTDIR)$(PLUGINDIR)/$(PLUGIN)" "$(DESTDIR)$(SBINDIR)/multifactor2-trial"
	cd packaging/man && for page in *.8; do rm -f "$(DESTDIR)$(MANDIR)/man8/$$page"; done
	for name in multifactor2 swhy; do \
		rm -f "$(DESTDIR)$(BINDIR)/$$name" "$(DESTDIR)$(MANDIR)/man1/$$name".1 "$(DESTDIR)$(MANDIR)/man1/$$name"-*.1; \
		for directory in $(SHARED); do (cd "$(DESTDIR)$(DATADIR)/$$directory" 2>/dev/null && rm -f $$name _$$name $$name.fish); done; done; \
	rm -rf "$(DESTDIR)$(DATADIR)/slurm-multifactor2/schema"

demo: ## show the documented example in a private cluster (as root installs what it needs; KEEP=1 leaves it running; POLICIES=1: the ticket policies)
	tests/install-deps.sh demo
	$(CARGO) build --release --locked $(FEATURES)
	$(CARGO) run --release --locked -q -p slurm-testcluster --bin demo -- --plugin $(BUILT) $(if $(filter-out 0,$(POLICIES)),--policies)

# Tests that run at a time. Those in clusters of other releases wait more than they compute: they run beside the others, and what they print comes after.
TEST_THREADS ?= 4
LIVE_THREADS ?= 8
LIVE_LOG  := target/test-releases.log
TESTS     = $(IN_PROCESS) $(CARGO) test --locked --no-fail-fast --workspace --features slurm-headers/layouts

test: ## run all tests (as root installs what they need)
	tests/skips clear
	tests/install-deps.sh test
	$(CARGO) build --release --locked
	slurm-headers/fetch-source.sh $(HEADERS) >/dev/null
	$(TESTS) --no-run
	tests/beside $(LIVE_LOG) 'RUST_TEST_THREADS=$(LIVE_THREADS) $(TESTS) --test releases' \
		'RUST_TEST_THREADS=$(TEST_THREADS) $(TESTS) --exclude slurm-releases && $(MAKE) faults'
	@tests/skips show

test-heavy: ## those tests of layouts and of one slurmctld in the process that take minutes: every shift in every layout, ten million jobs
	tests/install-deps.sh test
	$(CARGO) build --release --locked
	slurm-headers/fetch-source.sh $(HEADERS) >/dev/null
	$(IN_PROCESS) $(CARGO) test --locked --no-fail-fast --test layouts --test host --features slurm-headers/layouts -- --ignored

# Where the long tests and those under sanitizers find Slurm's source and the plugin.
IN_PROCESS = env -u SLURM_SRC SLURM_SRC_DIRS=$(abspath $(HEADERS)) MULTIFACTOR2_PLUGIN=$(abspath $(BUILT))
KILLS     ?= 200
SEEDS     ?= 1000
FIRST     ?= 1
MINUTES   ?= 10
# Debian suites: bullseye bookworm trixie forky; all if empty.
RELEASES  ?=
FUZZ_SECONDS ?= 1800

faults: ## panic in every step of the plugin, in a test build
	$(CARGO) build --release --locked
	slurm-headers/fetch-source.sh $(HEADERS) >/dev/null
	$(IN_PROCESS) $(CARGO) test --locked --features faults --test faults

random: ## run the random tests of core and accounting by SEEDS=1000 seeds (from FIRST=1 on), once before an issue ends
	SEEDS=$(SEEDS) FIRST=$(FIRST) tests/random-seeds

soak: ## in each of RELEASES (all Debian suites): kill slurmctld KILLS=200 times, then everything at once for MINUTES=10; ends in a table
	tests/skips clear
	tests/install-deps.sh test
	RELEASES="$(RELEASES)" PARTS="$(PARTS)" $(CARGO) run --locked -q --release -p slurm-soak --bin soak -- $(KILLS) $(MINUTES)

# The version that the list of equivalent mutants (.cargo/mutants.toml) was made with.
MUTANTS_VERSION := 27.1.0
# "core", "accounting", "command", files or directories in one of them (core/rules, command/model), or files or directories of src. core
# takes an hour on an idle machine, src/plugin some hours; MUTANT_SHARD=0/3 takes a third of it.
MUTANTS   ?= core
MUTANT_SHARD ?=

mutants: ## plant deliberate mistakes in MUTANTS=core (or command/model, plugin, plugin/write.rs, …) and see whether the tests notice; hours
	slurm-headers/fetch-source.sh $(HEADERS) >/dev/null
	target/tools/bin/cargo-mutants --version 2>/dev/null | grep -q '$(MUTANTS_VERSION)' || \
		$(CARGO) install cargo-mutants --locked --version $(MUTANTS_VERSION) --root target/tools
	env -u SLURM_SRC -u MULTIFACTOR2_PLUGIN SLURM_SRC_DIRS=$(abspath $(HEADERS)) MUTANT_SHARD="$(MUTANT_SHARD)" \
		CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0 tests/mutants $(MUTANTS)

fuzz: ## fuzz every target for FUZZ_SECONDS=1800 (needs cargo-fuzz)
	cd fuzz && for target in settings state_file own_usage tree numbers trace migrate snapshot commands texts; do \
		env -u SLURM_SRC RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -timeout=120 || exit 1; done

memcheck: ## run the in-process tests under AddressSanitizer, UBSan (the shim) and valgrind
	slurm-headers/fetch-source.sh $(HEADERS) >/dev/null
	tests/memcheck.sh $(abspath $(HEADERS))

miri: ## run the tests of core, accounting and of the boundary's plain memory under Miri (needs its nightly toolchain)
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=8 $(CARGO) miri test --locked -p multifactor2-core -p multifactor2-accounting --lib
	MIRIFLAGS=-Zmiri-disable-isolation $(CARGO) miri test --locked -p slurm-multifactor2 --lib -- host::layout host::records host::live

test-parity: ## the long comparisons with stock priority/multifactor in real clusters (ten minutes)
	tests/install-deps.sh test
	$(CARGO) build --release --locked
	env -u SLURM_SRC MULTIFACTOR2_PLUGIN=$(abspath $(BUILT)) \
		$(CARGO) test --locked --test daemons -- --ignored --nocapture

test-releases: ## run all tests in real clusters of Slurm 20.11, 22.05, 24.11 and 26.05 (root; MULTIFACTOR2_SLURM_PREFIXES adds others)
	tests/install-deps.sh test
	RUST_TEST_THREADS=$(LIVE_THREADS) $(CARGO) test --locked --no-fail-fast -p slurm-releases --features full

requests: ## measure what answers of the command cost slurmctld at 20,000 jobs, beside sprio and squeue (root)
	$(CARGO) run --release --locked -q -p slurm-releases --bin requests -- $(RELEASES)

# Cells that replays are compared with; all if empty. Three clusters at a time take an hour and a half.
CELLS     ?=

replay-truth: ## run the jobs of tests/replay/truth in real clusters of 22.05 and 26.05 again, where a run is not there (root; hours)
	$(CARGO) build --release --locked -q -p slurm-releases --bins
	target/release/replay-truth tests/replay/truth $(CELLS)

preempting: ## two users preempt each other's jobs for two hours, in steps of FSStep (root; PREEMPTING="--minutes N --half-life MINUTES --step POINTS --without SUITE")
	$(CARGO) build --release --locked -q -p slurm-releases --bins
	target/release/preempting $(PREEMPTING)

replay-ubccr: ## compare a replay with a public run of a small cluster, which is fetched
	$(CARGO) build --release --locked -q -p multifactor2-command
	tests/replay/ubccr target/release/multifactor2

layouts: ## compare SLURM_SRC=/path with the committed layouts, and say what differs
	@test -n "$(SLURM_SRC)" || { echo "Give SLURM_SRC=/path/to/slurm-x.y.z" >&2; exit 2; }
	env -u SLURM_SRC $(CARGO) run --locked -q -p slurm-headers --features layouts --bin layouts -- verify --slurm-src $(SLURM_SRC)

# Options of the measurement; without any, the tables of docs/performance.md are rewritten.
BENCH     ?= --docs docs/performance.md

# As an administrator has them: on one machine a submission took half as long again from the file that the linker wrote as from a copy.
INSTALLED = $(abspath target/installed)

bench: ## measure beside stock priority/multifactor, the core alone, answers of the command, and how the time of a replay grows; BENCH=--quick is shorter, and leaves docs/performance.md
	tests/install-deps.sh test
	$(MAKE) install DESTDIR=$(INSTALLED) PLUGINDIR=/bin BINDIR=/bin
	slurm-headers/fetch-source.sh $(HEADERS) >/dev/null
	env -u SLURM_SRC SLURM_SRC_DIRS=$(abspath $(HEADERS)) MULTIFACTOR2_PLUGIN=$(INSTALLED)/bin/$(PLUGIN) \
		$(CARGO) run --release --locked -q -p slurm-bench -- --older "$$(tests/bench/build-reference)" $(BENCH)
	env -u SLURM_SRC $(CARGO) bench --locked --workspace --bench engine --bench accounting --bench layout
	env -u SLURM_SRC $(CARGO) run --release --locked -q -p multifactor2-replay --example sizes -- --all

# VERSION=1 writes those of the version, too, which only a version replaces.
counts: ## write tests/bench/counts.tsv anew: instructions per job, which 'make test' compares; the commit says why
	$(CARGO) build --release --locked
	slurm-headers/fetch-source.sh $(HEADERS) >/dev/null
	$(IN_PROCESS) MULTIFACTOR2_WRITE_COUNTS=$(if $(VERSION),version,yes) $(CARGO) test --locked -p slurm-bench --test counts

docs: ## rewrite what is made in docs, priority_multifactor2(8) and the example: settings and subcommands from their tables, diagnostics from docs/messages.md
	$(CARGO) run --locked -q -p multifactor2-core --example docs
	$(CARGO) run --locked -q -p multifactor2-command --example docs
	MULTIFACTOR2_WRITE_DOCS=1 $(CARGO) test --locked -q -p slurm-multifactor2 --lib -- phases picture
	MULTIFACTOR2_WRITE_DOCS=1 $(CARGO) test --locked -q -p multifactor2-command --test command -- shown figures

screenshots: ## take the pictures of pages in docs anew (needs chromium and chromium-driver); their pixels differ between machines
	MULTIFACTOR2_WRITE_DOCS=1 $(CARGO) test --locked -q -p multifactor2-command --test command -- screenshots

book: ## build README and docs as one book for a browser, in dist/book (needs mdbook; says how to get it)
	packaging/book

# FIGURES=--quick leaves the gains of those who play, which take most of the time.
FIGURES   ?=

figures: ## replay synthetic workloads for the pictures and tables of docs on shares and on who can play (the same bytes every time)
	$(CARGO) run --release --locked -q -p multifactor2-replay --example figures -- $(FIGURES)

# Packages and releases

.PHONY: dist rpm deb package-test reproducible release-check

dist: ## make the release tarball of HEAD, that of the crates it is built from, and bills of materials, in dist/ (the same bytes every time)
	packaging/install-tools dist
	packaging/dist

rpm: ## make tarballs, source RPM and an RPM for EL 8, 9 and 10, in dist/ (as root installs what it needs)
	packaging/install-tools rpm
	packaging/dist
	packaging/rpm

deb: ## make a Debian package for Debian 11 and later, in dist/ (as root installs what it needs)
	packaging/install-tools deb
	packaging/dist
	packaging/deb

package-test: ## install, run, update and remove the packages of dist/ in root directories of their own (as root)
	packaging/install-tools check
	tests/packages/build
	tests/packages/rpm
	tests/packages/rebuild
	tests/packages/source
	tests/packages/deb
	tests/packages/releases
	tests/packages/recipes

reproducible: ## make the RPMs of dist/ in two folders, and compare their bytes (after make rpm; ten minutes)
	tests/packages/reproducible

release-check: ## everything that a release needs
	packaging/install-tools check
	$(MAKE) lint
	$(MAKE) test
	$(MAKE) test-heavy
	$(MAKE) test-releases
	target/packaging-tools/bin/cargo-deny --locked check bans licenses sources
	$(MAKE) dist && cp dist/*.tar.gz dist/*.cdx.json target/ && $(MAKE) dist
	cd dist && for file in *.tar.gz *.cdx.json; do cmp "$$file" "../target/$$file" || exit 1; done
	$(MAKE) rpm
	$(MAKE) reproducible
	rpmlint -r packaging/slurm-multifactor2.rpmlintrc dist/*.rpm packaging/slurm-multifactor2.spec
	$(MAKE) deb
	lintian --fail-on error dist/*.deb
	$(MAKE) command
	test -z "$$(groff -man -t -ww -Tutf8 -I $(SHARE)/man $(SHARE)/man/man1/* packaging/man/*.8 2>&1 >/dev/null)"
	$(MAKE) package-test
	git diff --quiet HEAD

extend: ## apply patches as a new maintainer would write them, to a copy of the last commit, and run the tests that they are for
	tests/extend/run

lint: ## formatting and clippy, as the tests of a change check them
	tests/extend/run check
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets --features slurm-headers/layouts,slurm-releases/full -- -D warnings
	$(CARGO) clippy --locked --features faults --test faults -- -D warnings
	cd fuzz && $(CARGO) check --locked --no-default-features --target-dir $(CURDIR)/target

clean: ## remove what was built
	$(CARGO) clean

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16
