#!/usr/bin/env bash
# Runs the in-process tests with the plugin under AddressSanitizer and its shim under UBSan, and then with the host
# program under valgrind. Any report fails the test that it comes from.
# The argument is the directory with Slurm's source. Needs gcc's libasan and libubsan, and valgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
export SLURM_SRC_DIRS=$1
unset SLURM_SRC
triple=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}/memcheck
plugin=$(realpath -m "$target/$triple/release/libpriority_multifactor2.so")

say() { echo "memcheck: $*"; }

say "building the plugin with AddressSanitizer, its shim with UBSan as well"
env RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" \
	"CFLAGS_${triple//-/_}=-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" \
	cargo build --locked --release --lib --target "$triple" --target-dir "$target"
for call in __asan_report_load __ubsan_handle; do
	nm -D --undefined-only "$plugin" | grep "$call" >/dev/null || { say "$call is not called: the sanitizer is not in" >&2; exit 1; }
done

# The host program brings the runtime of the sanitizers. What Slurm itself leaks is not looked for. The tests of exhaustion
# are left out: AddressSanitizer reserves more address space than they allow a process.
say "in-process tests under AddressSanitizer and UBSan"
env MULTIFACTOR2_PLUGIN="$plugin" INPROC_CFLAGS="-fsanitize=address,undefined -fno-omit-frame-pointer" \
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
	cargo test --locked --test host --test accidents "${@:2}" -- --skip exhaustion::

say "a scenario under valgrind"
cargo build --locked --release --lib
env MULTIFACTOR2_PLUGIN="$(realpath "${CARGO_TARGET_DIR:-target}/release/libpriority_multifactor2.so")" \
	cargo test --locked --test valgrind -- --ignored
