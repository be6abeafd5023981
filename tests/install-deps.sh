#!/bin/sh
# Installs what `make demo` and, with the argument `test`, also `make test` need on Debian 12, and says what it does.
# As root it installs; as another user it says what is missing and how to get it.
# Starts no system service, changes nothing when all is there, and does not install Rust.
set -eu

packages="
slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins slurm-wlm-mysql-plugin
mariadb-server-core
libnss-wrapper
gcc libc6-dev binutils make
"
# Slurm's own headers and sources, which the tests compare with, other releases of Debian, what slurmctld runs under and is looked into with, and what
# changes the database behind slurmdbd's back.
[ "${1-}" != test ] || packages="$packages libclang-dev dpkg-dev mmdebstrap valgrind gdb mariadb-client-core"

say() {
    echo "install-deps: $*"
}

fail() {
    say "$*" >&2
    exit 1
}

# cargo may be in its usual place without being in PATH, as under sudo.
if ! command -v cargo >/dev/null && [ ! -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    fail "cargo is missing. Install Rust 1.82 or newer, then run this again."
fi

command -v dpkg-query >/dev/null ||
    fail "this machine is not Debian or a derivative; install the equivalents of:" $packages

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null |
    sed -n 's/^installed //p')
missing=
for package in $packages; do
    echo "$installed" | grep -qx "$package" || missing="$missing $package"
done

if [ -z "$missing" ]; then
    say "all packages are there"
    exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
    say "missing:$missing" >&2
    fail "as root: apt-get update && apt-get install --no-install-recommends$missing"
fi

# Packages of daemons start them; a policy of 101 forbids it. An existing policy is put back.
policy=/usr/sbin/policy-rc.d
saved=
restore() {
    if [ -n "$saved" ]; then
        mv -f "$saved" "$policy"
    else
        rm -f "$policy"
    fi
}
if [ -e "$policy" ]; then
    saved=$policy.before-install-deps
    mv "$policy" "$saved"
fi
trap restore EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"

export DEBIAN_FRONTEND=noninteractive
install() {
    apt-get install -y -q --no-install-recommends $missing
}

say "installing:$missing"
if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
    say "fetching the package lists first"
    apt-get update -q
    install
elif ! install; then
    say "trying again with new package lists"
    apt-get update -q
    install
fi
say "done"
