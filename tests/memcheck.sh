#!/usr/bin/env bash
# Runs the in-process tests with the plugin under AddressSanitizer, with the shim under UBSan, and with the host
# program under valgrind. Any report of one of them fails. The argument is the directory with Slurm's source.
set -euo pipefail
cd "$(dirname "$0")/.."
sources=$1
target=${CARGO_TARGET_DIR:-target}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export SLURM_SRC_DIRS=$sources

say() { echo "memcheck: $*"; }

# The tests themselves are built as ever; only the plugin differs, and the host program that loads it.
run() {
	local plugin=$1
	shift
	MULTIFACTOR2_PLUGIN=$plugin "$@" cargo test --locked --test host --test accidents
}

say "AddressSanitizer"
RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" CFLAGS="-fsanitize=address -fno-omit-frame-pointer" \
	cargo build --locked --release --lib --target x86_64-unknown-linux-gnu --target-dir "$target/asan"
