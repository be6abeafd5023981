//! The file itself: when it is written, for whom, and where not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::process::Command;

use slurm_inproc::{constants, Conf, HostResult};

use super::{few, said, taken, Rig};
use crate::setup::{eventually, NOW};

#[test]
fn without_the_setting_there_is_no_file_and_no_thread() -> HostResult<()> {
    let mut rig = Rig::start("", &Conf::new(), &few())?;
    rig.snapshot(NOW);
    rig.change("")?;
    fs::remove_file(rig.path())?;
    rig.cycle_after(900)?;
    assert!(!rig.host.threads()?.contains(&"snapshot".to_owned()));
    assert_eq!(rig.files(), Vec::<String>::new());
    rig.host.quit().map(drop)
}

#[test]
fn it_is_written_when_it_is_due_and_nobody_else_can_read_it() -> HostResult<()> {
    let mut rig = Rig::start("SnapshotPeriod=600\n", &Conf::new(), &few())?;
    let first = rig.snapshot(NOW);
    assert_eq!(first.about.taken, NOW);
    let about = fs::metadata(rig.path())?;
    assert_eq!(about.permissions().mode() & 0o7777, 0o600);
    rig.cycle_after(300)?;
    rig.cycle_after(239)?;
    // A little early is right.
    rig.cycle_after(1)?;
    rig.snapshot(NOW + 540);
    assert_ne!(fs::metadata(rig.path())?.ino(), about.ino(), "another file took its place");
    assert_eq!(rig.files(), ["snapshot"]);
    // A clock that was set back.
    rig.cycle_after(-3600)?;
    rig.snapshot(NOW - 3060);
    let log = rig.host.quit()?;
    assert_eq!(said(&log), Vec::<&str>::new());
    Ok(())
}

#[test]
fn between_two_of_them_there_is_none() -> HostResult<()> {
    let mut rig = Rig::start("SnapshotPeriod=600\n", &Conf::new(), &few())?;
    rig.snapshot(NOW);
    fs::remove_file(rig.path())?;
    for _ in 0..5 {
        rig.cycle_after(100)?;
        assert!(!rig.host.threads()?.contains(&"snapshot".to_owned()));
    }
    assert_eq!(rig.files(), Vec::<String>::new());
    rig.host.quit().map(drop)
}

#[test]
fn a_group_gets_it_by_name_or_number_and_an_unknown_one_does_not() -> HostResult<()> {
    let gid = fs::metadata("/tmp")?.gid();
    let mut rig = Rig::start(&format!("SnapshotMode=0640\nSnapshotGroup={gid}\n"), &Conf::new(), &few())?;
    rig.snapshot(NOW);
    let about = fs::metadata(rig.path())?;
    assert_eq!((about.permissions().mode() & 0o7777, about.gid()), (0o640, gid));
    fs::remove_file(rig.path())?;
    let path = rig.path();
    rig.change(&format!("Snapshot={}\nSnapshotMode=0640\nSnapshotGroup=no_such_group\n", path.display()))?;
    for _ in 0..3 {
        rig.cycle_after(300)?;
        rig.expect("no Unix group has the name SnapshotGroup=no_such_group: nothing is written");
        rig.settle();
    }
    assert_eq!(rig.files(), Vec::<String>::new());
    let log = rig.host.quit()?;
    assert_eq!(said(&log).len(), 1, "{log}");
    Ok(())
}

#[test]
fn everybody_can_read_it_unless_something_is_private() -> HostResult<()> {
    let mut rig = Rig::start("SnapshotMode=0644\n", &Conf::new(), &few())?;
    rig.snapshot(NOW);
    assert_eq!(fs::metadata(rig.path())?.permissions().mode() & 0o7777, 0o644);
    let mut now = NOW;
    for private in [
        constants::PRIVATE_DATA_JOBS,
        constants::PRIVATE_DATA_USAGE,
        constants::PRIVATE_DATA_USERS,
        constants::PRIVATE_DATA_ACCOUNTS,
        constants::PRIVATE_DATA_PARTITIONS,
        constants::PRIVATE_DATA_RESERVATIONS,
    ] {
        // What everybody could read so far is taken away.
        assert!(rig.path().exists());
        rig.host.configure(&Conf::new().private_data(private))?;
        // Each writing is over before the next one is due: what goes on is said, too.
        rig.cycle_after(300)?;
        rig.settle();
        rig.cycle_after(300)?;
        rig.expect("and SnapshotMode=0644 contradict each other: nothing is written");
        rig.settle();
        assert_eq!(rig.files(), Vec::<String>::new());
        // Nodes are not in it.
        rig.host.configure(&Conf::new().private_data(constants::PRIVATE_DATA_NODES))?;
        rig.cycle_after(300)?;
        now += 900;
        // Its thread says after the writing that it works again.
        rig.snapshot(now);
    }
    let log = rig.host.quit()?;
    assert_eq!(said(&log).len(), 12, "once each, and once that it works again: {log}");
    Ok(())
}

/// A directory is in its place.
#[test]
fn what_everybody_could_read_and_cannot_be_taken_away_is_named() -> HostResult<()> {
    let mut rig = Rig::start("SnapshotMode=0644\n", &Conf::new(), &few())?;
    rig.snapshot(NOW);
    fs::remove_file(rig.path())?;
    fs::create_dir(rig.path())?;
    rig.host.configure(&Conf::new().private_data(constants::PRIVATE_DATA_JOBS))?;
    rig.cycle_after(300)?;
    rig.expect("The earlier file remains: Snapshot: ");
    rig.host.quit().map(drop)
}

/// Runs cycles with a path that is refused: one error, no file, priorities as ever; and one line when it works again.
fn refused(prepare: impl FnOnce(&Rig) -> std::io::Result<String>, error: &str) -> HostResult<()> {
    let mut rig = Rig::start("", &Conf::new(), &few())?;
    rig.snapshot(NOW);
    let path = rig.path();
    fs::remove_file(&path)?;
    let other = prepare(&rig)?;
    rig.change(&format!("Snapshot={other}\n"))?;
    let before = rig.files();
    for _ in 0..3 {
        rig.cycle_after(300)?;
        rig.expect(error);
        rig.settle();
    }
    assert_eq!(rig.files(), before, "{other}");
    rig.change(&format!("Snapshot={}\n", path.display()))?;
    rig.cycle_after(300)?;
    rig.snapshot(NOW + 1200);
    rig.expect("is written again");
    let log = rig.host.quit()?;
    assert_eq!(said(&log).len(), 2, "{other}: {log}");
    Ok(())
}

#[test]
fn a_directory_that_others_can_write_is_refused() -> HostResult<()> {
    for mode in [0o770, 0o707, 0o1777] {
        refused(
            |rig| {
                let directory = rig.directory.path().join("open");
                fs::create_dir(&directory)?;
                fs::set_permissions(&directory, Permissions::from_mode(mode))?;
                Ok(directory.join("s").display().to_string())
            },
            "open is writable by its group or by everybody: nothing is written",
        )?;
    }
    Ok(())
}

#[test]
fn a_directory_of_another_user_is_refused() -> HostResult<()> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        slurm_testcluster::skip("a_directory_of_another_user_is_refused", "only root can make one");
        return Ok(());
    }
    refused(
        |rig| {
            let directory = rig.directory.path().join("theirs");
            fs::create_dir(&directory)?;
            std::os::unix::fs::chown(&directory, Some(12_345), None)?;
            Ok(directory.join("s").display().to_string())
        },
        "theirs belongs to the user with UID 12345: nothing is written",
    )
}

#[test]
fn symbolic_links_and_what_is_no_file_are_refused() -> HostResult<()> {
    refused(
        |rig| {
            fs::create_dir(rig.directory.path().join("real"))?;
            symlink("real", rig.directory.path().join("link"))?;
            Ok(rig.directory.path().join("link/s").display().to_string())
        },
        "link is not a directory, or is a symbolic link: nothing is written",
    )?;
    refused(
        |rig| {
            fs::write(rig.directory.path().join("file"), "mine")?;
            Ok(rig.directory.path().join("file/s").display().to_string())
        },
        "file is not a directory, or is a symbolic link: nothing is written",
    )?;
    refused(
        |rig| {
            fs::write(rig.directory.path().join("elsewhere"), "mine")?;
            symlink("elsewhere", rig.directory.path().join("s"))?;
            Ok(rig.directory.path().join("s").display().to_string())
        },
        "s exists and is not a regular file: nothing is written",
    )?;
    refused(
        |rig| {
            fs::create_dir(rig.directory.path().join("s"))?;
            Ok(rig.directory.path().join("s").display().to_string())
        },
        "s exists and is not a regular file: nothing is written",
    )?;
    refused(
        |rig| Ok(rig.directory.path().join("none/s").display().to_string()),
        "none: No such file or directory",
    )
}

#[test]
fn what_others_have_left_under_the_name_of_the_new_file_is_neither_followed_nor_written() -> HostResult<()> {
    let mut rig = Rig::start("", &Conf::new(), &few())?;
    rig.snapshot(NOW);
    // No process has so high a number.
    let new = rig.directory.path().join(format!(".snapshot.{}-1.new", i32::MAX));
    let other = rig.directory.path().join("other");
    fs::write(&other, "mine")?;
    symlink("other", &new)?;
    rig.cycle_after(300)?;
    rig.snapshot(NOW + 300);
    fs::write(&new, "left by one who was killed")?;
    rig.cycle_after(300)?;
    rig.snapshot(NOW + 600);
    assert_eq!(
        (fs::read_to_string(&other)?.as_str(), rig.files()),
        ("mine", vec!["other".to_owned(), "snapshot".to_owned()])
    );
    assert_eq!(said(&rig.host.quit()?), Vec::<&str>::new());
    Ok(())
}

/// A file system of 16 kB.
#[test]
fn a_full_disk_is_one_error_and_the_old_file_stays() -> HostResult<()> {
    let mut rig = Rig::start("", &Conf::new(), &few())?;
    rig.snapshot(NOW);
    let small = rig.directory.path().join("small");
    fs::create_dir(&small)?;
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k,mode=700", "none"]).arg(&small).status();
    if !mount.is_ok_and(|status| status.success()) {
        slurm_testcluster::skip("a_full_disk_is_one_error_and_the_old_file_stays", "nothing can be mounted");
        return Ok(());
    }
    let check = || -> HostResult<()> {
        let path = small.join("s");
        rig.change(&format!("Snapshot={}\n", path.display()))?;
        rig.cycle_after(300)?;
        eventually(|| taken(&path)).expect("room for one");
        fs::write(small.join("more"), [0; 8192])?;
        rig.host.jobs(&(100..200).map(crate::setup::waiting).collect::<Vec<_>>())?;
        for _ in 0..3 {
            rig.cycle_after(300)?;
            rig.expect("No space left on device");
            rig.settle();
        }
        assert_eq!(taken(&path).expect("the old one").about.time, NOW + 300);
        assert_eq!(fs::read_dir(&small)?.count(), 2, "nothing is left behind");
        assert!(rig.host.dump_job(1)?.priority > 0);
        let path = rig.path();
        rig.change(&format!("Snapshot={}\n", path.display()))?;
        rig.cycle_after(300)?;
        rig.expect("is written again");
        let log = rig.host.quit()?;
        assert_eq!(said(&log).len(), 2, "{log}");
        Ok(())
    };
    let checked = check();
    Command::new("umount").arg("-l").arg(&small).status()?;
    checked
}

/// A file system that does not answer: a `write` that waits as long as a file is there.
const HANGS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

ssize_t write(int file, const void *bytes, size_t count)
{
	static ssize_t (*next)(int, const void *, size_t);
	char name[17] = "";

	prctl(PR_GET_NAME, name);
	while (!strcmp(name, "snapshot") && !access(FLAG, F_OK))
		usleep(1000);
	*(void **)&next = dlsym(RTLD_NEXT, "write");
	return next(file, bytes, count);
}
"#;

#[test]
fn neither_a_cycle_nor_a_stop_waits_for_a_file_system_that_does_not_answer() -> HostResult<()> {
    let place = tempfile::tempdir()?;
    let [source, object, flag] = ["hang.c", "hang.so", "hangs"].map(|name| place.path().join(name));
    fs::write(&source, HANGS)?;
    fs::write(&flag, "")?;
    let define = format!("-DFLAG=\"{}\"", flag.display());
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", &define, "-o"])
        .args([&object, &source])
        .status()?;
    assert!(status.success());
    let conf = Conf::new().weight_age(100_000_u32);
    let mut rig = Rig::start_with("", &conf, &few(), |options| {
        options.wrapper = vec!["env".to_owned(), format!("LD_PRELOAD={}", object.display())];
    })?;
    let is_new = |file: &String| file.starts_with(".snapshot.") && file.ends_with("-1.new");
    eventually(|| rig.files().iter().any(is_new).then_some(())).expect("it has begun");
    let before = rig.host.dump_job(1)?.priority;
    rig.cycle_after(300)?;
    rig.cycle_after(300)?;
    assert!(rig.host.dump_job(1)?.priority > before, "cycles go on");
    rig.expect("has not finished: check the file system");
    assert_eq!(said(&rig.host.log()).len(), 1);
    let begin = std::time::Instant::now();
    rig.host.fini()?;
    assert!(begin.elapsed().as_secs() < 5, "a stop took {:?}", begin.elapsed());
    assert!(rig.files().iter().all(is_new), "{:?}", rig.files());
    // The next life writes beside it. When it answers again, what was begun is taken away, and nothing else.
    fs::remove_file(&flag)?;
    rig.host.init()?;
    rig.snapshot(NOW + 600);
    eventually(|| (rig.files() == ["snapshot"]).then_some(())).expect("the thread has ended");
    rig.host.quit().map(drop)
}
