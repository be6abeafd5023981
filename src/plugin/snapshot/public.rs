//! The file of `SnapshotPublic=`, for everybody: what Slurm itself tells everybody of the cluster, and the settings that name nobody.
//!
//! `PrivateData` may hide partitions from users. Then the file has neither partitions nor settings that name some. If it hides nodes too,
//! Slurm tells no user how large the cluster is, and neither does the file.

use std::io::{self, Write};

use multifactor2_core::settings::{Settings, PARAMETERS};
use multifactor2_snapshot::format::Writer;
use multifactor2_snapshot::records::{About, Parameter, Partition, Qos, Setting, Tres};

use super::gather::Gathered;
use super::records;
use crate::host::constants::{PRIVATE_DATA_NODES, PRIVATE_DATA_PARTITIONS};

/// Writes the file. No lock is held.
///
/// # Errors
/// Those of `out`.
pub fn write(gathered: &Gathered, settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
    let hides = |bits: u16| gathered.private_data & bits == bits;
    let (shows_partitions, shows_size) =
        (!hides(PRIVATE_DATA_PARTITIONS), !hides(PRIVATE_DATA_PARTITIONS | PRIVATE_DATA_NODES));
    let public = settings.public(shows_partitions);
    let mut writer = Writer::begin(out)?;
    writer.all([about(gathered, public.withheld, shows_partitions, shows_size)])?;
    // That one may hold settings which name somebody.
    let parameters = gathered.told.parameters.iter().filter(|(name, _)| *name != PARAMETERS);
    writer.all(parameters.map(|(name, value)| Parameter { name: name.clone(), value: value.clone() }))?;
    writer.heading::<Setting>()?;
    for line in public.settings.lines() {
        writer.record(&Setting { line, from: String::new() })?;
    }
    writer.all(
        records::tres(gathered).map(|tres| Tres { count: if shows_size { tres.count } else { 0 }, ..tres }),
    )?;
    if shows_partitions {
        writer.all::<Partition>(&gathered.partitions)?;
    }
    writer.all(gathered.qos.iter().map(|qos| Qos { usage: None, ..qos.clone() }))?;
    writer.end().map(drop)
}

fn about(gathered: &Gathered, withheld: usize, shows_partitions: bool, shows_size: bool) -> About {
    const WHY: &str = "This is the public file: it has no jobs.";
    let mut about = records::about(gathered);
    "public".clone_into(&mut about.source);
    about.withheld = u32::try_from(withheld).unwrap_or(u32::MAX);
    about.partial_tree = true;
    about.lack_queue("not_asked", WHY);
    if !shows_partitions {
        about.hidden.push("Partitions are left out: PrivateData hides them.".to_owned());
    }
    if !shows_size {
        (about.cpus, about.nodes) = (0, 0);
        about
            .hidden
            .push("The size of the cluster is left out: PrivateData hides partitions and nodes.".to_owned());
    }
    about
}
