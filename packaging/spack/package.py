# SPDX-License-Identifier: GPL-2.0-or-later
"""Spack recipe. Put it into packages/slurm_multifactor2 (packages/slurm-multifactor2 before Spack 1.0) of a repository of yours, and the
two tarballs of a release into the directory in which you run Spack:

    spack install --no-checksum slurm-multifactor2

Then name the plugin's directory in slurm.conf: PluginDir=<Slurm's>:<prefix>/lib/slurm.
"""

import os

from spack.package import *


class SlurmMultifactor2(Package):
    """Fair-share priority plugin for Slurm: tickets flow down the account tree to users with waiting jobs. With the command
    multifactor2, which says why a job has its priority."""

    homepage = "https://slurm.schedmd.com/priority_multifactor2.html"
    manual_download = True
    license("GPL-2.0-or-later")

    # A tarball cannot have its own checksum in it: add sha256=… from the release's list of checksums.
    version("0.2.0")

    variant("plugin", default=True, description="Build the plugin, not the command alone")

    depends_on("c", type="build")
    depends_on("rust@1.82:", type="build")
    depends_on("gmake", type="build")
    # One file runs in all of these; no header of Slurm is needed.
    conflicts("^slurm@:20-10")
    conflicts("^slurm@26-06:")

    # The crates, so that nothing is fetched while it is built.
    resource(
        name="vendor",
        url=f"file://{os.getcwd()}/slurm-multifactor2-0.2.0-vendor.tar.gz",
        placement="vendor",
        when="@0.2.0",
    )

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/slurm-multifactor2-{version}.tar.gz"

    def install(self, spec, prefix):
        mkdirp(".cargo")
        with open(".cargo/config.toml", "w") as config:
            config.write(
                '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "vendor"\n'
            )
        make(
            "install" if spec.satisfies("+plugin") else "install-command",
            f"PLUGINDIR={prefix.lib.slurm}",
            f"SBINDIR={prefix.sbin}",
            f"BINDIR={prefix.bin}",
            f"DATADIR={prefix.share}",
        )
