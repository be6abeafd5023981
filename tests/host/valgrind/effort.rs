//! How the plugin's work grows with what users submit, in instructions that valgrind counts: time depends on the machine,
//! these do not. Quadratic effort would be sixteen times as much for four times the size.

use std::fs;
use std::path::Path;

use slurm_inproc::{
    Association, Conf, FactorsFilter, Host, HostResult, Job, Options, Partition, Plugin, Qos,
};

/// What is done once, or several times.
type Work = fn(&mut Host, u32) -> HostResult<()>;

/// Instructions of a host that is prepared and then works `times` times.
fn instructions(prepare: Work, work: Work, size: u32, times: u32) -> HostResult<u64> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("profile");
    let mut options = Options::new(Plugin::multifactor2()?);
    options.wrapper = vec!["valgrind".to_owned(), "-q".to_owned(), "--tool=callgrind".to_owned()];
    options.wrapper.push(format!("--callgrind-out-file={}", file.display()));
    let mut host = Host::start(&options)?;
    let conf =
        Conf::new().cluster_cpus(1000_u32).nodes(100_u32).max_age(86_400_u32).decay_half_life(3600_u32);
    let conf = conf.weight_age(1000_u32).weight_partition(10_u32).weight_tres("CPU=10,Mem=10".to_owned());
    host.configure(&conf.weight_fairshare(10_000_u32))?;
    host.qos(&Qos::new(1_u32).name("normal").priority(10_u32))?;
    let user =
        |id: u32, name: &str| Association::new(id).parent(2_u32).account("a").user(name).uid(1000 + id);
    host.associations(&[
        Association::new(1_u32).account("root"),
        Association::new(2_u32).parent(1_u32).account("a"),
        user(3, "alice"),
        user(4, "bob"),
    ])?;
    host.partition(&Partition::new("p0").factor(50_u16).tres([(1, 100), (4, 10)]))?;
    host.init()?;
    prepare(&mut host, size)?;
    for _ in 0..times {
        host.advance(300)?;
        work(&mut host, size)?;
    }
    host.quit()?;
    collected(&file)
}

/// The sum of callgrind's profile.
fn collected(file: &Path) -> HostResult<u64> {
    let text = fs::read_to_string(file)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.and_then(|total| total.trim().parse().ok()).expect("callgrind writes its totals"))
}

/// What four times as much costs, as a multiple, without the start and the preparation.
fn growth(what: &str, size: u32, prepare: Work, work: Work) -> HostResult<()> {
    const ROUNDS: u32 = 4;
    let cost = |size| -> HostResult<f64> {
        let work_of = |times| instructions(prepare, work, size, times);
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let of_rounds = (work_of(1 + ROUNDS)? - work_of(1)?) as f64;
        Ok(of_rounds / f64::from(ROUNDS))
    };
    let (small, large) = (cost(size)?, cost(4 * size)?);
    eprintln!(
        "{what}: {small:.0} instructions for {size}, {large:.0} for {}: {:.2} times",
        4 * size,
        large / small
    );
    // Four, and something for sorting.
    assert!(large / small < 6.0, "{what}: {:.2} times as much for four times the size", large / small);
    Ok(())
}

fn waiting(id: u32) -> Job {
    Job::new(id)
        .association(3_u32)
        .user_id(1003_u32)
        .qos(1_u32)
        .partitions(["p0".to_owned()])
        .priority(1_u32)
        .submit_time(1_999_990_000)
        .begin_time(1_999_990_000)
        .accrue_time(1_999_990_000)
}

fn cycle(host: &mut Host, _: u32) -> HostResult<()> {
    host.cycle().map(drop)
}

fn array(host: &mut Host, tasks: u32) -> HostResult<()> {
    let jobs: Vec<Job> = (1..=tasks).map(waiting).collect();
    host.jobs(&jobs)
}

#[test]
#[ignore = "takes a minute and needs valgrind: make memcheck"]
fn a_cycle_is_linear_in_the_tasks_of_an_array() -> HostResult<()> {
    growth("cycle, tasks", 2500, array, cycle)
}

#[test]
#[ignore = "takes a minute and needs valgrind: make memcheck"]
fn a_job_in_many_partitions_costs_as_much_as_these_in_cycle_submission_and_list() -> HostResult<()> {
    fn partitions(host: &mut Host, count: u32) -> HostResult<()> {
        let names: Vec<String> = (1..=count).map(|n| format!("p{n}")).collect();
        for (name, tier) in names.iter().zip(0_u16..) {
            let tier = tier * 7 % 101;
            host.partition(&Partition::new(name.as_str()).factor(tier).tier(tier).tres([(1, 100), (4, 10)]))?;
        }
        host.jobs(&[waiting(1).partitions(names.clone()), waiting(2).partitions(names)])
    }
    fn work(host: &mut Host, _: u32) -> HostResult<()> {
        host.set_priority(1)?;
        host.cycle()?;
        host.factors(&FactorsFilter::new().uid(0_u32)).map(drop)
    }
    growth("submission, cycle and sprio, partitions", 250, partitions, work)
}

#[test]
#[ignore = "takes a minute and needs valgrind: make memcheck"]
fn sprio_for_named_jobs_is_linear_in_them() -> HostResult<()> {
    fn ask(host: &mut Host, jobs: u32) -> HostResult<()> {
        host.factors(&FactorsFilter::new().uid(0_u32).jobs((1..=jobs).collect::<Vec<_>>())).map(drop)
    }
    growth("sprio, jobs asked for", 1000, array, ask)
}
