//! Unix groups, by name and number: looked up on the decay thread, and those that are unknown again.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use slurm_inproc::HostResult;

use super::{assert_all, change, job, loaded, loaded_with, said, JOHN, NO_GROUP, PAUL};

const UNKNOWN: &str = "this name does not exist";

#[test]
fn groups_are_found_by_name_and_number() -> HostResult<()> {
    let settings = "Component=CRED Group=1\nCredential=Group Name=root,987654 Priority=40\n\
        Credential=Group Name=4321 Priority=5\nCredential=Group Name=* Priority=3\n";
    let jobs = [
        job(1, JOHN).group_id(0_u32),
        job(2, JOHN).group_id(NO_GROUP),
        job(3, PAUL).group_id(4321_u32),
        job(4, PAUL).group_id(77_u32),
    ];
    let mut host = loaded(settings, &jobs)?;
    assert_all(&mut host, &[(1, 40), (2, 40), (3, 5), (4, 3)], "groups")?;
    assert!(said(&host, UNKNOWN).is_empty(), "{:?}", said(&host, UNKNOWN));
    host.quit().map(drop)
}

/// Writes the file, which counts as changed where the second of its change is another one.
fn write(file: &Path, text: &str) -> HostResult<()> {
    let before = fs::metadata(file).and_then(|file| file.modified()).ok();
    fs::write(file, text)?;
    let time = before.map_or_else(SystemTime::now, |before| before + Duration::from_secs(2));
    Ok(fs::File::options().append(true).open(file)?.set_modified(time)?)
}

/// Where the system's groups are those of a file.
pub fn wrapped(groups: &Path) -> Vec<String> {
    let wrapper =
        ["/usr/lib/x86_64-linux-gnu/libnss_wrapper.so", "/usr/lib/aarch64-linux-gnu/libnss_wrapper.so"];
    let library = wrapper.into_iter().find(|path| Path::new(path).exists());
    let library = library.expect("libnss_wrapper is not installed: run tests/install-deps.sh");
    vec![
        "env".to_owned(),
        format!("LD_PRELOAD={library}"),
        "NSS_WRAPPER_PASSWD=/etc/passwd".to_owned(),
        format!("NSS_WRAPPER_GROUP={}", groups.display()),
    ]
}

#[test]
fn a_group_that_appears_later_counts_from_the_next_cycle_on() -> HostResult<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("group");
    write(&file, "root:x:0:\n")?;
    let settings = "Component=CRED Group=1\nCredential=Group Name=staff Priority=10000\n\
        Target=Group Name=staff Percent=10\n";
    let conf = slurm_inproc::Conf::new();
    let jobs = [job(1, JOHN).group_id(50_u32)];
    let mut host = loaded_with(settings, &jobs, &conf, |options| options.wrapper = wrapped(&file))?;
    for _ in 0..3 {
        assert_all(&mut host, &[(1, 0)], "no such group")?;
        host.cycle()?;
    }
    // Each line once.
    let warnings = said(&host, UNKNOWN);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().any(|line| line.contains("line 2: Credential=Group Name=staff")), "{warnings:?}");
    assert!(warnings.iter().any(|line| line.contains("line 3: Target=Group Name=staff")), "{warnings:?}");
    write(&file, "root:x:0:\nstaff:x:50:\n")?;
    host.cycle()?;
    assert_all(&mut host, &[(1, 10_000)], "it is there")?;
    host.reconfigure(false)?;
    host.cycle()?;
    assert_all(&mut host, &[(1, 10_000)], "and after a reconfigure")?;
    assert_eq!(said(&host, UNKNOWN).len(), 2);
    host.quit().map(drop)
}

/// A name is resolved anew at a reconfigure: a group may have got another number.
#[test]
fn a_reconfigure_resolves_names_anew() -> HostResult<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("group");
    write(&file, "staff:x:50:\n")?;
    let settings = "Component=CRED Group=1\nCredential=Group Name=staff Priority=10000\n";
    let conf = slurm_inproc::Conf::new();
    let jobs = [job(1, JOHN).group_id(50_u32), job(2, JOHN).group_id(51_u32)];
    let mut host = loaded_with(settings, &jobs, &conf, |options| options.wrapper = wrapped(&file))?;
    assert_all(&mut host, &[(1, 10_000), (2, 0)], "50")?;
    write(&file, "staff:x:51:\n")?;
    host.cycle()?;
    assert_all(&mut host, &[(1, 10_000), (2, 0)], "until a reconfigure")?;
    host.reconfigure(false)?;
    host.cycle()?;
    assert_all(&mut host, &[(1, 0), (2, 10_000)], "51")?;
    host.quit().map(drop)
}

/// Users, accounts, QOS and partitions, too; one that comes is not warned of, and one that goes is, again.
#[test]
fn unknown_names_are_warned_of_once() -> HostResult<()> {
    let settings = "Component=CRED User=1\n\
        Credential=User Name=nobody1,john Priority=1\n\
        Credential=Account Name=nowhere Priority=1\n\
        Credential=Parent Name=above Priority=1\n\
        Credential=QOS Name=none,HIGH Priority=1\n\
        Credential=Partition Name=part,fast Priority=1\n\
        Credential=Group Name=no-such-group-here Priority=1\n\
        Service=Partition Name=part2 QueueTimeWeight=1\n\
        Service=QOS Name=none2 QueueTimeWeight=1\n\
        Target=User Name=nobody2 Percent=1\n\
        Component=SERV Partition=part3 QueueTime=1\n";
    let mut host = loaded(settings, &[job(1, JOHN)])?;
    host.cycle()?;
    host.cycle()?;
    let warnings = said(&host, UNKNOWN);
    for text in [
        "line 2: Credential=User Name=nobody1",
        "line 3: Credential=Account Name=nowhere",
        "line 4: Credential=Parent Name=above",
        "line 5: Credential=QOS Name=none",
        "line 6: Credential=Partition Name=part",
        "line 7: Credential=Group Name=no-such-group-here",
        "line 8: Service=Partition Name=part2",
        "line 9: Service=QOS Name=none2",
        "line 10: Target=User Name=nobody2",
        "part3",
    ] {
        let found = warnings.iter().filter(|line| line.contains(text)).count();
        assert!(found >= 1, "{text} is not in {warnings:#?}");
    }
    assert_eq!(warnings.len(), 10, "{warnings:#?}");
    // There is one now, and then not any more.
    host.partition(&slurm_inproc::Partition::new("part"))?;
    host.cycle()?;
    assert_eq!(said(&host, UNKNOWN).len(), 10);
    host.partition(&slurm_inproc::Partition::new("part").delete(true))?;
    host.cycle()?;
    assert_eq!(said(&host, UNKNOWN).len(), 11);
    change(&mut host, "")?;
    assert_eq!(said(&host, UNKNOWN).len(), 11);
    host.quit().map(drop)
}
