//! The cluster's own database server: `MariaDB` behind a socket in the cluster's directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::release::host_program;

/// `MariaDB`'s own description of its system tables, by version.
const SYSTEM_TABLES: [&str; 3] = [
    "/usr/share/mariadb/mariadb_system_tables.sql",
    "/usr/share/mysql/mariadb_system_tables.sql",
    "/usr/share/mysql/mysql_system_tables.sql",
];

/// The server's options, if a test says some ([`crate::Builder::file`]).
pub const OPTIONS_FILE: &str = "mariadb.cnf";

/// The socket, as clients are told in `MYSQL_UNIX_PORT`.
pub(crate) fn socket(directory: &Path) -> PathBuf {
    directory.join("mariadb.sock")
}

/// Prepares an empty data directory and gives the command that serves it.
///
/// `mariadb-install-db` takes half a second to create 80 system tables. Without privileges to check, slurmdbd needs
/// one of them, `proc`, for its stored procedures; it is created at the start from
/// `MariaDB`'s own description.
pub(crate) fn prepare(directory: &Path) -> Result<Command> {
    let data = directory.join("database");
    // Not /tmp: a server that starts removes there what it takes for its own leftovers, and it is another one's.
    let temporary = data.join("tmp");
    fs::create_dir_all(&temporary)?;
    let tables = SYSTEM_TABLES
        .iter()
        .find_map(|path| fs::read_to_string(path).ok())
        .context("MariaDB's table descriptions are missing; run tests/install-deps.sh")?;
    let procedures = tables
        .lines()
        .find(|line| line.starts_with("CREATE TABLE IF NOT EXISTS proc "))
        .context("MariaDB's description of its system tables has no table 'proc'")?;
    let init = directory.join("database.sql");
    let statements = [
        "CREATE DATABASE IF NOT EXISTS mysql;",
        "USE mysql;",
        procedures,
        "CREATE DATABASE IF NOT EXISTS slurm;",
    ];
    fs::write(&init, statements.join("\n") + "\n")?;

    let mut command = Command::new(host_program("mariadbd")?);
    let options = directory.join(OPTIONS_FILE);
    // It must be the first argument.
    command.arg(if options.exists() {
        format!("--defaults-file={}", options.display())
    } else {
        "--no-defaults".to_owned()
    });
    command.args([
        "--skip-networking",
        "--skip-grant-tables",
        "--skip-name-resolve",
        "--skip-log-bin",
        "--innodb-doublewrite=0",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync",
        "--innodb-log-file-size=4M",
        "--innodb-buffer-pool-size=32M",
        "--innodb-lock-wait-timeout=900",
    ]);
    if rustix::process::getuid().is_root() {
        command.arg("--user=root");
    }
    for (option, path) in [
        ("tmpdir", temporary),
        ("datadir", data),
        ("socket", socket(directory)),
        ("init-file", init),
        ("pid-file", directory.join("mariadb.pid")),
    ] {
        command.arg(format!("--{option}={}", path.display()));
    }
    Ok(command)
}
