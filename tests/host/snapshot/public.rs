//! The file of `SnapshotPublic=`: everybody can read it, and it names nobody, whatever `PrivateData` says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use multifactor2_snapshot::Snapshot;
use slurm_inproc::{constants, Conf, HostResult};

use super::{few, said, taken, Rig};
use crate::setup::{eventually, NOW};

/// Some lines that name somebody, and some that do not.
const LINES: &str = "Distribution=standing\nOverride=User Name=alice Tickets=10\nOverride=QOS Name=normal Tickets=10\nCharge=Partition Name=batch Factor=2\n";

const ALL: [u16; 8] = [
    constants::PRIVATE_DATA_ACCOUNTS,
    constants::PRIVATE_DATA_EVENTS,
    constants::PRIVATE_DATA_JOBS,
    constants::PRIVATE_DATA_NODES,
    constants::PRIVATE_DATA_PARTITIONS,
    constants::PRIVATE_DATA_RESERVATIONS,
    constants::PRIVATE_DATA_USAGE,
    constants::PRIVATE_DATA_USERS,
];

fn path(rig: &Rig) -> PathBuf {
    rig.directory.path().join("public")
}

fn of(rig: &Rig, time: i64) -> Snapshot {
    let path = path(rig);
    let found = eventually(|| taken(&path).filter(|found| found.about.time == time));
    // The other file comes after it.
    rig.idle();
    found.unwrap_or_else(|| panic!("no file for everybody of {time}: {}", rig.host.log()))
}

#[test]
fn it_has_the_cluster_and_nobody_under_each_word_of_private_data() -> HostResult<()> {
    let mut rig = Rig::start(LINES, &Conf::new(), &few())?;
    // The next one is left out while a slow disk still writes this one.
    rig.snapshot(NOW);
    let (conf, public) = (rig.host.directory().join("multifactor2.conf"), path(&rig));
    rig.host.tres_totals(&[(1, 200), (2, 1_000_000), (4, 20)])?;
    rig.cycle_after(300)?;
    let mut now = NOW + 300;
    let whole = rig.snapshot(now);
    let line = format!("SnapshotPublic={}\n", public.display());
    fs::write(&conf, fs::read_to_string(&conf)? + &line)?;
    rig.host.reconfigure(true)?;
    for private in ALL.into_iter().chain([0, ALL.iter().sum()]) {
        rig.host.configure(&Conf::new().private_data(private))?;
        rig.cycle_after(300)?;
        now += 300;
        let found = of(&rig, now);
        assert_eq!(fs::metadata(&public)?.permissions().mode() & 0o7777, 0o644, "{private:#x}");
        let hides_partitions = private & constants::PRIVATE_DATA_PARTITIONS != 0;
        let hides_size = hides_partitions && private & constants::PRIVATE_DATA_NODES != 0;
        // What Slurm tells everybody is that of the other file.
        assert_eq!(found.about.source, "public");
        assert_eq!(found.about.cluster, whole.about.cluster);
        let size = if hides_size { (0, 0) } else { (whole.about.cpus, whole.about.nodes) };
        assert_eq!((found.about.cpus, found.about.nodes), size, "{private:#x}");
        assert!(whole.about.cpus > 0 && whole.tres.iter().any(|tres| tres.count > 0));
        for (tres, known) in found.tres.iter().zip(&whole.tres) {
            let count = if hides_size { 0 } else { known.count };
            assert_eq!((&tres.name, tres.count, tres.weight), (&known.name, count, known.weight));
        }
        assert_eq!(found.tres.len(), whole.tres.len());
        assert_eq!(found.partitions, if hides_partitions { Vec::new() } else { whole.partitions.clone() });
        let names = |snapshot: &Snapshot| snapshot.qos.iter().map(|qos| qos.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&whole));
        let lines: Vec<String> =
            found.settings.iter().flatten().map(|setting| setting.line.clone()).collect();
        for (line, is_there) in
            [("Distribution", true), ("Override=QOS", true), ("Charge=Partition", !hides_partitions)]
        {
            assert_eq!(
                lines.iter().any(|found| found.starts_with(line)),
                is_there,
                "{private:#x}: {lines:?}"
            );
        }
        assert_eq!(found.about.withheld, if hides_partitions { 2 } else { 1 });
        // And nobody.
        assert!(found.jobs.is_empty() && found.associations.is_empty() && found.running.is_empty());
        assert!(found.entries.is_empty() && found.usage.is_empty() && found.groups.is_empty());
        assert!(found.qos.iter().all(|qos| qos.usage.is_none()));
        let text = fs::read_to_string(&public)?;
        for association in &whole.associations {
            for name in [&association.user, &association.account] {
                let word = format!("\"{name}\"");
                assert!(
                    name.is_empty() || name == "root" || !text.contains(&word),
                    "{private:#x}: {name}: {text}"
                );
            }
        }
        assert!(!text.contains("alice"), "{text}");
    }
    let log = rig.host.quit()?;
    assert_eq!(said(&log), Vec::<&str>::new());
    Ok(())
}

#[test]
fn it_is_written_without_the_other_and_where_that_is_refused() -> HostResult<()> {
    let mut rig = Rig::start("", &Conf::new(), &few())?;
    rig.snapshot(NOW);
    fs::remove_file(rig.path())?;
    let public = path(&rig);
    rig.change(&format!("SnapshotPublic={}\n", public.display()))?;
    rig.cycle_after(300)?;
    of(&rig, NOW + 300);
    assert_eq!(rig.files(), ["public"], "nothing else");
    // The other one contradicts PrivateData.
    let other = rig.path();
    rig.host.configure(&Conf::new().private_data(constants::PRIVATE_DATA_JOBS))?;
    rig.change(&format!(
        "Snapshot={}\nSnapshotMode=0644\nSnapshotPublic={}\n",
        other.display(),
        public.display()
    ))?;
    rig.cycle_after(300)?;
    of(&rig, NOW + 600);
    assert_eq!(rig.files(), ["public"]);
    rig.settle();
    fs::set_permissions(rig.directory.path(), fs::Permissions::from_mode(0o777))?;
    rig.cycle_after(300)?;
    rig.expect("SnapshotPublic: ");
    rig.settle();
    assert_eq!(of(&rig, NOW + 600).about.time, NOW + 600, "the old one stays");
    fs::set_permissions(rig.directory.path(), fs::Permissions::from_mode(0o755))?;
    rig.cycle_after(300)?;
    of(&rig, NOW + 1200);
    rig.expect(&format!("SnapshotPublic={} is written again", public.display()));
    let log = rig.host.quit()?;
    let found = said(&log);
    assert_eq!(found.len(), 3, "{log}");
    assert!(
        found[1].contains("SnapshotPublic: ")
            && found[1].contains("is writable by its group or by everybody"),
        "{log}"
    );
    Ok(())
}
