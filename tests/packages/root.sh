# Sourced by the package tests: a fresh root directory of a Debian suite with its own Slurm, which vanishes with the test.
#
# enter_root NAME "$0" "$@" starts the script again in a mount namespace where $root is such a directory: a cached
# one below target/packaging-roots, as the lower layer of an overlay in memory. Needs root, and the programs that
# tests/packages/build makes. NAME is a suite, or a suite and "-build": with Rust and rpmbuild as well, or a suite
# and "-source": with Rust and munge alone, and the packages of tests/install-deps.sh at hand without network.

top=$(cd "$(dirname "$0")/../.." && pwd)
roots=$top/target/packaging-roots
programs=$top/target/packaging-programs
recipe=3 # to be counted up when what is installed changes

fail() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# Fails unless the file has a line with the text.
expect() {
	grep -qF -- "$2" "$1" || {
		cat "$1" >&2
		fail "expected: $2"
	}
}

# Fails unless the file has the licence of every crate that is linked into what a package of the workspace makes.
expect_licences() {
	"$top/packaging/linked-crates" "$2" >"$tmp/linked"
	[ "$(wc -l <"$tmp/linked")" -gt 10 ] || fail "few crates are linked: $(cat "$tmp/linked")"
	lacking=$(grep -vxFf "$1" "$tmp/linked") && fail "no licence in $1 of$lacking"
	expect "$1" "Permission is hereby granted, free of charge"
}

say() {
	echo "${0##*/}: $*"
}

make_root() {
	[ "$(cat "$roots/$1/.complete" 2>/dev/null)" != "$recipe" ] || return 0
	command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing: run packaging/install-tools"
	say "making a root directory of $1 in $roots"
	suite=${1%-*}
	mkdir -p "$roots"
	rm -rf "${roots:?}/$1"
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n 1)
	[ -n "$mirror" ] || fail "apt on this machine knows no Debian mirror (see sources.list(5))"
	packages=slurmctld,slurmd,slurmdbd,slurm-client,slurm-wlm-basic-plugins,libnss-wrapper,munge,iproute2
	# Debian 11 has the plugin for databases among the basic ones, and the release in the names of the others.
	case $1 in
	bullseye) packages=$packages,mariadb-server-core-10.5,mariadb-client-core-10.5 ;;
	*) packages=$packages,slurm-wlm-mysql-plugin,mariadb-server-core,mariadb-client-core ;;
	esac
	case $1 in
	*-build) packages=$packages,cargo,rustc,gcc,libc6-dev,rpm,debugedit,elfutils,file,cpio ;;
	*-source)
		packages=rustc-web,cargo-web,munge,iproute2
		fetch=$(sed -n '/^packages="$/,/^"$/{s/packages=//;s/"//;p}' "$top/tests/install-deps.sh" | tr '\n' ' ')
		set -- "$1" --skip=cleanup/apt \
			--customize-hook="chroot \"\$1\" apt-get install -y -q --download-only --no-install-recommends $fetch"
		;;
	esac
	directory=$roots/$1
	shift
	mmdebstrap --quiet --variant=apt --aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--include="$packages" "$@" "$suite" "$directory" "deb $mirror $suite main"
	echo "$recipe" >"$directory/.complete"
}

enter_root() {
	name=$1
	shift
	[ "$(id -u)" = 0 ] || fail "needs root, for packages are installed into a root directory of their own"
	make_root "$name"
	INSIDE=$name RUST_BACKTRACE=0 exec unshare --mount --net --pid --fork --kill-child "$@"
}

# In the namespaces: mounts everything and sets $root and $tmp. The network is one of its own, so that ports are free; with
# nothing but a loopback the C library would find no address at all, and the second one leads nowhere.
mount_root() {
	tmp=$(mktemp -d)
	trap 'umount -l "$tmp"; rmdir "$tmp"' EXIT
	mount -t tmpfs none "$tmp"
	mkdir "$tmp/upper" "$tmp/work" "$tmp/root"
	mount -t overlay none -o "lowerdir=$roots/$1,upperdir=$tmp/upper,workdir=$tmp/work" "$tmp/root"
	root=$tmp/root
	mount -t proc none "$root/proc"
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	mount -t tmpfs none "$root/tmp"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chroot "$root" ip link set lo up
	chroot "$root" ip link add test0 type bridge
	chroot "$root" ip address add 192.0.2.1/32 dev test0
	chroot "$root" ip link set test0 up
	cp "$programs/demo" "$programs/migration" "$root/"
}

# The command, as on a login node: under all of its names, with its licences in this file, without anything of Slurm's or the plugin.
expect_command() {
	cp -r "$top/tests/command/recorded/24.11.5/multifactor2-root" "$root/saved"
	cat >"$root/ask" <<-'EOF'
		set -eu
		multifactor2 --version
		job=$(multifactor2 queue --from /saved -nP -o job | head -n 1)
		swhy "$job" --from /saved >/why
		multifactor2 why "$job" --from /saved | cmp - /why
		for name in multifactor2 swhy; do
			for place in bash-completion/completions/$name zsh/*/_$name fish/vendor_completions.d/$name.fish; do
				[ -s /usr/share/$place ] || { echo "no $place"; exit 1; }
			done
		done
		! ldd /usr/bin/multifactor2 | grep -i slurm
	EOF
	chroot "$root" sh /ask >"$tmp/asked" 2>&1 || {
		cat "$tmp/asked" >&2
		fail "the command does not answer"
	}
	expect "$tmp/asked" "multifactor2 ${version%-*}"
	expect "$root/why" "Priority 2214: "
	expect_licences "$1" multifactor2-command
	left=$(find "$root/usr" -name 'priority_multifactor2*')
	[ -z "$left" ] || fail "the command brings the plugin: $left"
	rm -r "$root/saved" "$root/ask" "$root/why"
	say "the command answers, alone"
}

# The documented example in a cluster of the root's own Slurm, with the plugin at this path in the root.
run_demo() {
	chroot "$root" /demo --plugin "$1" >"$tmp/demo" 2>&1 || {
		cat "$tmp/demo" >&2
		fail "the example failed"
	}
	expect "$tmp/demo" "All documented numbers are what Slurm reports."
	say "$(sed -n 's/.*\(Slurm [0-9.]* runs\).*/\1/p' "$tmp/demo") with $1: all documented numbers"
}

# Every step of docs/migration.md, with the plugin at this path in the root and the installed trial: without
# authentication as in all test clusters, and with munge as on most real ones. (Without the file: on the machine itself,
# for here it is among Slurm's own.)
run_migration() {
	chroot "$root" sh -c 'mkdir -p /run/munge && exec munged --force' >"$tmp/munged" 2>&1 || {
		cat "$tmp/munged" >&2
		fail "munged does not start"
	}
	for auth in auth/none auth/munge; do
		MULTIFACTOR2_PLUGIN=$1 MULTIFACTOR2_TRIAL=/usr/sbin/multifactor2-trial MULTIFACTOR2_AUTH=$auth \
			chroot "$root" /migration from_ --test-threads 1 >"$tmp/migration" 2>&1 || {
			tail -n 20 "$root"/tmp/slurm-test-*/log/* >&2
			cat "$tmp/migration" >&2
			fail "migration with $auth failed"
		}
		say "migration with $auth: $(sed -n 's/^test result: ok. \([0-9]* passed\).*/\1/p' "$tmp/migration")"
	done
}

# A slurm.conf that names the plugin, where the packages' scripts look.
configure() {
	mkdir -p "$root/etc/slurm"
	printf 'ClusterName=c\nPriorityType = priority/multifactor2 # tickets\n' >"$root/etc/slurm/slurm.conf"
}

[ -x "$programs/migration" ] || fail "$programs is missing: run make package-test"
