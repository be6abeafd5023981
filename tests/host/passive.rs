//! A slurmctld whose records are not as the table says: nothing is written, one line says why, jobs stay in order.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSymbol};
use slurm_inproc::{
    Association, AssociationUsage, Conf, CountingSiteFactor, Error, Host, HostResult, Partition, Program,
};

use crate::setup::{fill, options, our_errors, ours, waiting};

const ADVICE: &str = "It was probably built from patched sources. Build this plugin with SLURM_SRC=";

/// Everything that happens to a plugin, with one job whose records differ.
fn live(host: &mut Host) -> HostResult<()> {
    host.init()?;
    let before = host.snapshot()?;
    for _ in 0..2 {
        host.advance(86_400)?;
        host.cycle()?;
        host.job_end(1)?;
        host.reconfigure(true)?;
    }
    assert_eq!(host.snapshot()?, before, "nothing is written");
    assert_eq!(host.try_priority(1, 1000)?, 999);
    assert_eq!(host.try_priority(1, 999)?, 998);
    assert_eq!(host.try_priority(1, 1)?, 1);
    assert_eq!(host.snapshot()?, before, "nothing is written");
    Ok(())
}

/// Associations are not among them: their size is checked at the start, with the root's.
#[test]
fn a_record_of_another_size_stops_all_writing_with_one_line() -> HostResult<()> {
    for (record, size, found) in [
        ("job", 1048, "a job record has 1056 bytes, 1048 expected"),
        ("details", 504, "a job's details has 512 bytes, 504 expected"),
        ("part", 328, "a partition has 336 bytes, 328 expected"),
    ] {
        let mut host = ours()?;
        fill(&mut host)?;
        host.configure(
            &Conf::new().weight_age(1000_u32).weight_fairshare(1000_u32).decay_half_life(604_800_u32),
        )?;
        host.usage(&[AssociationUsage::new(4_u32).raw(1000_u64)])?;
        host.pad(record, 8)?;
        host.partition(&Partition::new("patched").factor(9_u16))?;
        host.associations(&[Association::new(9_u32)
            .parent(2_u32)
            .account("physics")
            .user("dora")
            .uid(1009_u32)])?;
        host.jobs(&[waiting(1).association(9_u32).user_id(1009_u32).partitions(["patched".to_owned()])])?;
        live(&mut host)?;
        let log = host.quit()?;
        let errors = our_errors(&log);
        assert_eq!(errors.len(), 1, "{size}: {log}");
        assert!(errors[0].contains(found) && errors[0].contains(ADVICE), "{log}");
        assert!(errors[0].contains("jobs are ordered by submission and nothing is written"), "{log}");
    }
    Ok(())
}

#[test]
fn a_root_association_of_another_size_refuses_the_start() -> HostResult<()> {
    let mut host = ours()?;
    host.pad("assoc", 16)?;
    fill(&mut host)?;
    assert!(matches!(host.init(), Err(Error::Refused { .. })));
    let log = host.log();
    assert!(log.contains("the root association has 328 bytes, 312 expected"), "{log}");
    assert!(log.contains(ADVICE), "{log}");
    Ok(())
}

#[test]
fn a_configuration_of_another_size_refuses_the_start() -> HostResult<()> {
    let directory = tempfile::tempdir()?;
    let patched = directory.path().join("patched");
    fs::write(&patched, with_larger_configuration(&fs::read(Program::build(true)?.path)?))?;
    fs::set_permissions(&patched, fs::Permissions::from_mode(0o755))?;
    let mut options = options()?;
    let start = format!("shift; exec {} \"$@\"", patched.display());
    options.wrapper = ["sh", "-c", &start, "sh"].map(str::to_owned).to_vec();
    let mut host = Host::start(&options)?;
    fill(&mut host)?;
    assert!(matches!(host.init(), Err(Error::Refused { .. })));
    let log = host.log();
    assert!(log.contains("slurm_conf has 1552 bytes, 1544 expected"), "{log}");
    assert!(log.contains(ADVICE), "{log}");
    Ok(())
}

#[test]
fn where_writing_has_stopped_no_cycle_calls_a_site_factor_plugin_or_prepares_a_state_file() -> HostResult<()>
{
    // A job that is not as the layout says is there from the start, or comes when cycles have run.
    for late in [false, true] {
        let (site_factor, mut options) = (CountingSiteFactor::build()?, options()?);
        site_factor.add_to(&mut options);
        let mut host = Host::start(&options)?;
        fill(&mut host)?;
        host.configure(&Conf::new().weight_age(1000_u32))?;
        host.jobs(&[waiting(1)])?;
        if late {
            host.init()?;
            host.advance(300)?;
            host.cycle()?;
        }
        host.pad("job", 8)?;
        host.jobs(&[waiting(2).partitions(["batch".to_owned(), "fast".to_owned()])])?;
        if !late {
            host.init()?;
        }
        assert_eq!(host.try_priority(2, 1000)?, 999);
        let before = (host.snapshot()?, state_files(&host));
        assert!(
            before.1.iter().all(|(path, _)| path.extension().is_none_or(|end| end != "new")),
            "{before:?}"
        );
        for _ in 0..2 {
            host.advance(300)?;
            host.cycle()?;
        }
        assert_eq!((host.snapshot()?, state_files(&host)), before);
        assert_eq!(our_errors(&host.quit()?).len(), 1);
    }
    Ok(())
}

/// Names and bytes of what lies in `StateSaveLocation`.
fn state_files(host: &Host) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(host.directory().join("state")).expect("there is a StateSaveLocation");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("it can be read").path())
        .map(|path| (path.clone(), fs::read(path).expect("it can be read")))
        .collect();
    files.sort();
    files
}

/// The program with the symbol `slurm_conf` eight bytes larger.
fn with_larger_configuration(program: &[u8]) -> Vec<u8> {
    /// Offset of `st_size` in an entry of the symbol table.
    const SIZE_IN_SYMBOL: usize = 16;
    let file = ElfFile64::<Endianness>::parse(program).expect("an ELF file");
    let symbol =
        file.dynamic_symbols().find(|symbol| symbol.name() == Ok("slurm_conf")).expect("it is exported");
    let header = file.elf_header();
    let endian = header.endian().expect("an endianness");
    let sections = header.sections(endian, program).expect("sections");
    let table =
        sections.iter().find(|s| s.sh_type.get(endian) == object::elf::SHT_DYNSYM).expect("a symbol table");
    let entry = usize::try_from(table.sh_offset.get(endian)).expect("small") + 24 * symbol.index().0;
    let mut patched = program.to_vec();
    let size = &mut patched[entry + SIZE_IN_SYMBOL..entry + SIZE_IN_SYMBOL + 8];
    size.copy_from_slice(&(symbol.size() + 8).to_ne_bytes());
    patched
}

#[test]
fn the_checks_are_made_again_after_fini_and_init() -> HostResult<()> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(&Conf::new().weight_age(1000_u32))?;
    host.pad("job", 8)?;
    host.jobs(&[waiting(1)])?;
    host.init()?;
    assert_eq!(host.dump_job(1)?.priority, 1);
    host.fini()?;
    host.delete_job(1)?;
    host.pad("job", 0)?;
    host.jobs(&[waiting(2)])?;
    host.init()?;
    assert_eq!(host.dump_job(2)?.priority, 250);
    host.quit().map(drop)
}
