//! The line that says what is being done: on a terminal, after a second, and nowhere else.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use tempfile::TempDir;

use crate::recorded;

/// A Slurm whose `scontrol` takes its time, and has no other command.
fn slurm(seconds: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let config = recorded::directory("24.11.5").join("multifactor2-root/config.txt");
    let path = directory.path().join("scontrol");
    let script = format!(
        "#!/bin/sh\n[ \"$2\" = config ] || exit 1\nsleep {seconds}\nexec cat '{}'\n",
        config.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

fn command(slurm: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multifactor2"));
    let path = format!("{}:/usr/bin:/bin", slurm.path().display());
    command.args(["settings", "--json"]).env("PATH", path).env("TERM", "xterm").stdin(Stdio::null());
    command
}

/// What a command writes to its standard output, which is none, and to the terminal of its standard error.
pub fn on_a_terminal(mut command: Command) -> (String, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let end = File::options().read(true).write(true).open(Path::new(&name)).unwrap();
    let child = command.stdout(Stdio::piped()).stderr(end).spawn().unwrap();
    // It holds our copy of the terminal, without which reading ends with an error when the child has ended.
    drop(command);
    let reader = thread::spawn(move || {
        let mut shown = Vec::new();
        let mut terminal = File::from(terminal);
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = terminal.read(&mut bytes) {
            shown.extend_from_slice(&bytes[..length]);
        }
        String::from_utf8(shown).unwrap()
    });
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    (String::from_utf8(output.stdout).unwrap(), reader.join().unwrap())
}

#[test]
fn a_terminal_is_told_what_takes_longer_than_a_second() {
    let slurm = slurm("2.5");
    let (out, shown) = on_a_terminal(command(&slurm));
    assert!(shown.contains("\rAsking scontrol, 1 s\x1b[K"), "{shown:?}");
    assert!(shown.contains("\rAsking scontrol, 2 s\x1b[K"), "{shown:?}");
    assert!(shown.ends_with("\r\x1b[K"), "the line is cleared: {shown:?}");
    serde_json::from_str::<serde_json::Value>(&out).unwrap();
}

#[test]
fn what_is_quick_or_goes_to_a_file_has_no_such_line() {
    let (_, shown) = on_a_terminal(command(&slurm("0")));
    assert_eq!(shown, "");
    let output = command(&slurm("1.5")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
}
