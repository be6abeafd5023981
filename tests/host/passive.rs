//! A slurmctld whose records are not as the table says: nothing is written, one line says why, jobs stay in order.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSymbol};
use slurm_inproc::{
    Association, AssociationUsage, Conf, CountingSiteFactor, Error, Host, HostResult, Job, Partition, Program,
};

use crate::charges::running;
use crate::setup::{fill, options, our_errors, ours, waiting, NOW};

const ADVICE: &str = "It was probably built from patched sources. Build this plugin with SLURM_SRC=";

const LEFT_OUT: &str = "This calculation of priorities is skipped";
const PASSIVE: &str = "The plugin is passive until slurmctld starts again";

fn count(log: &str, text: &str) -> usize {
    log.lines().filter(|line| line.contains(text)).count()
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.5, "{found}, not {expected}");
}

/// Three jobs in several partitions, which no other job is, with records of which one kind is larger.
fn three_larger(host: &mut Host, record: &str) -> HostResult<()> {
    host.pad(record, 8)?;
    host.partition(&Partition::new("patched").factor(9_u16))?;
    host.associations(&[Association::new(9_u32)
        .parent(2_u32)
        .account("physics")
        .user("dora")
        .uid(1009_u32)])?;
    let jobs = [11, 12, 13].map(|id| {
        waiting(id).association(9_u32).user_id(1009_u32).partitions(["patched", "batch"].map(str::to_owned))
    });
    host.jobs(&jobs)
}

/// Everything that happens to a plugin, with jobs whose records differ.
fn live(host: &mut Host) -> HostResult<()> {
    host.init()?;
    let before = host.snapshot()?;
    for _ in 0..2 {
        host.advance(300)?;
        host.cycle()?;
        host.job_end(11)?;
        host.reconfigure(true)?;
    }
    assert_eq!(host.snapshot()?, before, "nothing is written");
    Ok(())
}

/// Associations are not among them: their size is checked at the start, with the root's.
#[test]
fn several_records_of_another_size_stop_all_writing_with_one_line() -> HostResult<()> {
    for (record, size, found, kept) in [
        ("job", 1048, "a job record has 1056 bytes, 1048 expected", [999, 999, 999]),
        ("details", 504, "a job's details has 512 bytes, 504 expected", [1, 4242, 9]),
        ("part", 328, "a partition has 336 bytes, 328 expected", [1, 4242, 9]),
    ] {
        let mut host = ours()?;
        fill(&mut host)?;
        host.configure(
            &Conf::new().weight_age(1000_u32).weight_fairshare(1000_u32).decay_half_life(604_800_u32),
        )?;
        host.usage(&[AssociationUsage::new(4_u32).raw(1000_u64)])?;
        three_larger(&mut host, record)?;
        live(&mut host)?;
        // A change; then an administrator's number and a change; then the release of a hold.
        let asked =
            [(1_u32, 1000, false), (4242, 500, true), (0, 10, false)].map(|(number, last, direct)| {
                host.jobs(&[Job::new(11_u32).priority(number).direct_set_priority(direct)])?;
                host.try_priority(11, last)
            });
        assert_eq!(asked.into_iter().collect::<HostResult<Vec<_>>>()?, kept, "{record}");
        let log = host.quit()?;
        let errors = our_errors(&log);
        assert_eq!(errors.len(), 2, "{size}: {log}");
        for (error, end) in errors.into_iter().zip([LEFT_OUT, PASSIVE]) {
            assert!(error.contains(found) && error.contains(ADVICE) && error.contains(end), "{log}");
        }
    }
    Ok(())
}

#[test]
fn while_it_is_passive_one_line_an_hour_says_so() -> HostResult<()> {
    let mut host = ours()?;
    fill(&mut host)?;
    three_larger(&mut host, "details")?;
    host.init()?;
    // Passive from the second calculation on, for three hours.
    for _ in 0..37 {
        host.advance(300)?;
        host.cycle()?;
    }
    let log = host.quit()?;
    assert_eq!((count(&log, LEFT_OUT), count(&log, PASSIVE)), (1, 4), "{log}");
    Ok(())
}

/// slurmctld goes on saving usage meanwhile, and ends in any way.
#[test]
fn what_ran_while_it_was_passive_is_charged_once_by_the_next_start() -> HostResult<()> {
    for (saves, killed) in [(0, true), (1, true), (3, true), (0, false), (2, false)] {
        let state = tempfile::tempdir()?;
        let start = |now: i64| -> HostResult<Host> {
            let mut options = options()?;
            options.clock = now;
            let mut host = Host::start(&options)?;
            fill(&mut host)?;
            host.configure(&Conf::new().weight_fairshare(1000_u32).decay_half_life(0_u32))?;
            host.configure(&Conf::new().state_save_location(state.path().display().to_string()))?;
            host.load()?;
            host.jobs(&[running(1)])?;
            Ok(host)
        };
        let mut host = start(NOW)?;
        host.init()?;
        host.advance(300)?;
        host.cycle()?;
        let raw = |host: &mut Host| Ok::<_, Error>(host.dump_association(4)?.usage_raw.to_f64());
        let charged = raw(&mut host)?;
        assert_near(charged, 1200.0);
        host.save()?;
        three_larger(&mut host, "job")?;
        let before = state_files(state.path());
        for round in 0..4 {
            host.advance(300)?;
            host.cycle()?;
            if round < saves {
                host.save()?;
            }
        }
        let decay_file = |files: Vec<(PathBuf, Vec<u8>)>| {
            files.into_iter().find(|(path, _)| path.ends_with("priority_last_decay_ran"))
        };
        assert_eq!(decay_file(state_files(state.path())), decay_file(before), "it does not move on");
        assert_near(raw(&mut host)?, charged);
        if killed {
            drop(host);
        } else {
            // As slurmctld ends.
            host.save()?;
            host.fini()?;
            host.quit()?;
        }
        let mut next = start(NOW + 1800)?;
        next.init()?;
        assert_near(raw(&mut next)?, 1800.0 * 4.0);
        next.advance(300)?;
        next.cycle()?;
        assert_near(raw(&mut next)?, 2100.0 * 4.0);
        next.quit()?;
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
        three_larger(&mut host, "job")?;
        if !late {
            host.init()?;
        }
        assert_eq!(host.try_priority(11, 1000)?, 999);
        await_settings(&host.directory().join("state"));
        let before = (host.snapshot()?, state_files(&host.directory().join("state")));
        assert!(
            before.1.iter().all(|(path, _)| path.extension().is_none_or(|end| end != "new")),
            "{before:?}"
        );
        for _ in 0..2 {
            host.advance(300)?;
            host.cycle()?;
        }
        assert_eq!((host.snapshot()?, state_files(&host.directory().join("state"))), before);
        assert_eq!(our_errors(&host.quit()?).len(), 2);
    }
    Ok(())
}

/// Waits until the plugin's thread has kept the settings, which it does at its own time.
fn await_settings(state: &Path) {
    let begin = Instant::now();
    let is_there = |name: &str| state.join(name).exists();
    while !is_there("multifactor2_settings") || is_there("multifactor2_settings.new") {
        assert!(begin.elapsed() < Duration::from_secs(60), "the settings are not kept");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Names and bytes of what lies in `StateSaveLocation`.
fn state_files(state: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(state).expect("there is a StateSaveLocation");
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
    three_larger(&mut host, "job")?;
    host.init()?;
    host.advance(300)?;
    host.cycle()?;
    assert_eq!(host.dump_job(11)?.priority, 1);
    assert_eq!(count(&host.log(), PASSIVE), 1);
    host.fini()?;
    for id in [11, 12, 13] {
        host.delete_job(id)?;
    }
    host.pad("job", 0)?;
    host.jobs(&[waiting(2)])?;
    host.init()?;
    assert!(host.dump_job(2)?.priority > 200, "by its age");
    host.quit().map(drop)
}
