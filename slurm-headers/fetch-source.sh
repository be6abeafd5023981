#!/bin/sh
# Fetches the source tree of the Slurm that this Debian release packages, for the tests that compare
# the committed layouts with real headers.
#
#     fetch-source.sh CACHE_DIR       prints the tree's directory, which is below CACHE_DIR
#
# The machine's apt configuration is read, for its mirrors and keys, and not changed: a stock Debian has
# only "deb" entries, so private "deb-src" entries are derived from them. A tree that is there already
# is not fetched again; an interrupted run is simply repeated.
set -eu

package=slurm-wlm

fail() {
    echo "fetch-source.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: fetch-source.sh CACHE_DIR"
command -v apt-get >/dev/null || fail "apt-get is missing. This script is for Debian and Ubuntu; elsewhere unpack" \
    "a Slurm source archive and name its directory in SLURM_SRC_DIRS"
command -v dpkg-source >/dev/null || fail "dpkg-source is missing: apt-get install dpkg-dev"

mkdir -p "$1"
cache=$(cd "$1" && pwd)
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
work=$cache/.apt
stamp=$cache/.complete-${codename:-unnamed}

# One run at a time; the others then find the tree.
exec 9>"$cache/.lock"
flock 9

if [ -f "$stamp" ] && [ -f "$cache/$(cat "$stamp")/META" ]; then
    echo "$cache/$(cat "$stamp")"
    exit 0
fi

rm -rf "$work/unpacked" "$work/sources.d"
mkdir -p "$work/sources.d" "$work/lists/partial" "$work/cache/archives/partial" "$work/download"

# The distribution's own entries, those of this release with a component that may hold Slurm, as sources.
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    awk -v codename="$codename" '
        $1 == "deb" && index($0, " " codename) && / (main|universe)( |$)/ { sub(/deb/, "deb-src"); print }
    ' >"$work/sources.d/machine.list"
for file in /etc/apt/sources.list.d/*.sources; do
    if [ -f "$file" ]; then
        cat "$file"
        echo
    fi
done |
    grep -v '^#' |
    awk -v codename="$codename" '
        BEGIN { RS = ""; ORS = "\n\n" }
        /(^|\n)Components:[^\n]*(main|universe)/ && (codename == "" || $0 ~ "(^|\n)Suites:[^\n]*" codename) {
            sub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src")
            sub(/^\n/, "")
            print
        }
    ' >"$work/sources.d/machine.sources"
[ -s "$work/sources.d/machine.list" ] || [ -s "$work/sources.d/machine.sources" ] ||
    fail "no entry for '$codename main' in /etc/apt/sources.list and /etc/apt/sources.list.d"

# The hooks of the machine's own configuration are not for these files.
cat >"$work/apt.conf" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$work/sources.d";
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
END
from_private() {
    apt-get -qq -c "$work/apt.conf" "$@" 9>&- >&2
}

echo "fetch-source.sh: fetching the source of $package for $codename" >&2
# A mirror that does not answer is no failure as long as the package is found.
from_private update || echo "fetch-source.sh: apt-get update failed, trying with what there is" >&2
(cd "$work/download" && from_private source --download-only "$package") ||
    fail "apt-get found no source package $package; see apt's message above"

dsc=$(ls -t "$work/download/$package"_*.dsc | head -n 1)
dpkg-source --no-check -x "$dsc" "$work/unpacked" >&2 9>&-
[ -f "$work/unpacked/META" ] || fail "$dsc unpacks to something without META"
version=$(sed -n 's/^ *Version:[[:space:]]*//p' "$work/unpacked/META")
tree=$package-$version
rm -rf "${cache:?}/$tree"
mv "$work/unpacked" "$cache/$tree"
echo "$tree" >"$stamp.new"
mv "$stamp.new" "$stamp"
rm -rf "$work"
echo "$cache/$tree"
