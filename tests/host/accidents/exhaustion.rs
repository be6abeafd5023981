//! What the plugin asks of the system and does not get: a thread, memory. And its file, replaced while it runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use slurm_inproc::{Conf, Error, HostResult, Job, Options};
use tempfile::TempDir;

use crate::setup::{host, plugins, running, usage, CPUS, NOW};

/// Says no to callers in the plugin's file while a file called `no` lies beside the shared object.
const REFUSALS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t);

static int refused(void *caller)
{
	Dl_info info;
	return !access(FLAG, F_OK) && dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "multifactor2");
}

#ifdef MEMORY
void *malloc(size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}
#endif

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (refused(__builtin_return_address(0)))
		return EAGAIN;
	*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	return next(thread, how, run, argument);
}
"#;

/// A shared object that refuses, and options with it preloaded.
fn refusing(options: &mut Options, define: &str) -> HostResult<TempDir> {
    let place = tempfile::tempdir()?;
    let [source, object, flag] = ["refuse.c", "refuse.so", "no"].map(|name| place.path().join(name));
    fs::write(&source, REFUSALS)?;
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", define])
        .arg(format!("-DFLAG=\"{}\"", flag.display()))
        .arg("-o")
        .args([&object, &source])
        .status()?;
    assert!(status.success());
    options.wrapper = vec!["env".to_owned(), format!("LD_PRELOAD={}", object.display())];
    Ok(place)
}

fn refuse(place: &Path, yes: bool) -> HostResult<()> {
    let flag = place.join("no");
    if yes {
        fs::write(flag, "")?;
    } else {
        fs::remove_file(flag)?;
    }
    Ok(())
}

#[test]
fn without_a_thread_new_jobs_have_priorities_and_usage_is_charged_at_the_end_of_jobs() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let mut options = Options::new(ours);
    let place = refusing(&mut options, "-DTHREAD")?;
    let mut host = host(&options)?;
    host.jobs(&[running(1, 3, NOW), Job::new(2_u32).association(3_u32).user_id(1003_u32).priority(1_u32)])?;
    refuse(place.path(), true)?;
    host.init_without_thread()?;
    let log = host.log();
    let line = "cannot start the decay thread: Resource temporarily unavailable";
    assert!(log.contains(line) && log.contains("raise the task limit"), "{log}");
    assert!(!host.threads()?.iter().any(|name| name == "decay"));
    assert_eq!(host.set_priority(2)?, 1000, "the only user that waits has everything");
    host.advance(300)?;
    host.jobs(&[Job::new(1_u32).state(slurm_inproc::state::COMPLETE).end_time(NOW + 300)])?;
    host.job_end(1)?;
    assert_eq!(usage(&mut host, 3)?, 300.0 * CPUS);
    // A restart with more tasks allowed.
    host.save()?;
    host.fini()?;
    refuse(place.path(), false)?;
    host.init()?;
    assert!(host.threads()?.iter().any(|name| name == "decay"));
    assert_eq!(usage(&mut host, 3)?, 300.0 * CPUS);
    host.quit().map(drop)
}

#[test]
fn exhausted_memory_ends_the_process_and_costs_what_a_kill_does() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let state = tempfile::tempdir()?;
    let conf = Conf::new().state_save_location(state.path().display().to_string());
    let mut options = Options::new(ours);
    let place = refusing(&mut options, "-DMEMORY")?;
    let mut host = host(&options)?;
    host.configure(&conf)?;
    host.jobs(&[running(1, 3, NOW)])?;
    host.init()?;
    host.advance(300)?;
    host.cycle()?;
    refuse(place.path(), true)?;
    host.advance(300)?;
    assert!(matches!(host.cycle(), Err(Error::Died { .. } | Error::Io(_))), "no memory, and no end");
    let log = host.log();
    assert!(log.contains("memory allocation of") && log.contains("failed"), "{log}");
    drop(host);
    refuse(place.path(), false)?;
    // slurmctld had saved its usage at the first cycle.
    crate::setup::write_usage_saved(state.path(), NOW + 301)?;
    options.clock = NOW + 1000;
    let mut host = crate::setup::host(&options)?;
    host.configure(&conf)?;
    host.usage(&[slurm_inproc::AssociationUsage::new(3_u32).raw(300.0 * CPUS)])?;
    host.jobs(&[running(1, 3, NOW)])?;
    host.init()?;
    assert_eq!(usage(&mut host, 3)?, 1000.0 * CPUS);
    host.quit().map(drop)
}

#[test]
fn a_file_that_is_replaced_changes_nothing_until_the_next_start() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let mut host = host(&Options::new(ours))?;
    host.jobs(&[running(1, 3, NOW)])?;
    host.init()?;
    // As packages and `install` do: a new file under the old name.
    let file = host.directory().join("plugins/priority_multifactor2.so");
    fs::write(file.with_extension("new"), b"not a shared object")?;
    fs::rename(file.with_extension("new"), &file)?;
    for cycles in [1.0, 2.0] {
        host.advance(300)?;
        host.cycle()?;
        assert_eq!(usage(&mut host, 3)?, cycles * 300.0 * CPUS);
    }
    host.reconfigure(false)?;
    host.advance(300)?;
    host.cycle()?;
    assert_eq!(usage(&mut host, 3)?, 900.0 * CPUS);
    let log = host.quit()?;
    assert!(!log.contains("error: priority/"), "{log}");
    Ok(())
}
