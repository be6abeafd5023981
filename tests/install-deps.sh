#!/bin/sh
# Installs what `make demo` and, with the argument `test`, also `make test` need on Debian 12, and says what it does.
# As root it installs; as another user it says what is missing and how to get it.
# Starts no system service, neither now nor at boot, changes nothing when all is there, and does not install Rust.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)

packages="
slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins slurm-wlm-mysql-plugin
mariadb-server-core
libnss-wrapper
gcc libc6-dev binutils make
"
# Slurm's own headers and sources, which the tests compare with, other releases of Debian, what slurmctld runs under and is looked into with, and what
# changes the database behind slurmdbd's back; promtool; a browser for the pages of the command.
[ "${1-}" != test ] || packages="$packages libclang-dev dpkg-dev mmdebstrap valgrind gdb mariadb-client-core prometheus chromium chromium-driver"

say() {
    echo "install-deps: $*"
}

fail() {
    say "$*" >&2
    exit 1
}

"$top/packaging/check-compilers" rust

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

all_installed() {
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p'
}
before=$(all_installed)

# What was not there before, dependencies such as munge included, shall not run at the next boot either. What was there
# stays as it was.
keep_off_at_boot() {
    for package in $(all_installed | grep -vxF "$before"); do
        dpkg -L "$package" | sed -n 's|.*/lib/systemd/system/\([^/@]*\.[a-z]*\)$|\1|p; s|^/etc/init\.d/||p'
    done | sort -u | while read -r unit; do
        case $unit in
        *.service | *.socket | *.timer | *.path)
            # What the packages enabled them with; unlike systemctl it is there without systemd. It wants to be called for a package.
            DPKG_MAINTSCRIPT_PACKAGE=install-deps deb-systemd-helper disable "$unit"
            say "off at boot: $unit"
            ;;
        *.*) ;;
        *) update-rc.d "$unit" disable ;;
        esac
    done
}

# Packages of daemons start them; a policy of 101 forbids it. An existing policy is put back.
policy=/usr/sbin/policy-rc.d
saved=
restore() {
    keep_off_at_boot
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
