//! Usage of jobs, half-life decay, resets and the run seconds of limits: after every step the same as stock's, to the
//! last bit of every number.

use std::fmt::Write as _;

use slurm_inproc::constants::{INFINITE, NO_VAL};
use slurm_inproc::{state, AssociationUsage, Conf, Extended, Host, HostResult, Job, QosRecord, QosUsage};

use crate::setup::{fill, in_both, waiting, Both, FAIR_TREE, NOW};

pub const HALF_LIFE: u32 = 604_800;
/// `AccountingStorageEnforce=associations`, and with `limits`.
const ASSOCIATIONS: u16 = 1;
pub const LIMITS: u16 = 3;

/// Everything that charging may write.
#[derive(Debug, Clone, PartialEq)]
pub struct Charged {
    associations: Vec<AssociationCharge>,
    qos: Vec<QosRecord>,
    /// Id, expected end, cached billing.
    jobs: Vec<(u32, i64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
struct AssociationCharge {
    id: u32,
    raw: Extended,
    tres: Vec<Extended>,
    wall: f64,
    run_seconds: Vec<u64>,
    leaf: Option<(Extended, f64, Vec<Extended>)>,
}

impl Charged {
    /// What a host holds now.
    pub fn read(host: &mut Host) -> HostResult<Self> {
        let associations = host.dump_associations()?.into_iter().map(|record| AssociationCharge {
            id: record.id,
            raw: record.usage_raw,
            tres: record.usage_tres_raw,
            wall: record.grp_used_wall,
            run_seconds: record.run_secs,
            leaf: record.leaf,
        });
        Ok(Self {
            associations: associations.collect(),
            qos: host.dump_qos()?,
            jobs: host.dump_jobs()?.iter().map(|j| (j.id, j.end_time_expected, j.billable_tres)).collect(),
        })
    }

    /// Raw usage of an association.
    fn raw(&self, id: u32) -> Extended {
        self.associations.iter().find(|a| a.id == id).expect("is there").raw
    }
}

/// Compares two runs step by step and names the first step and the fields that differ.
#[track_caller]
pub fn assert_same(name: &str, both: &Both<Vec<Charged>>) {
    assert_eq!(both.ours.len(), both.stock.len());
    for (step, (ours, stock)) in both.ours.iter().zip(&both.stock).enumerate() {
        let mut difference = String::new();
        for (a, b) in ours.associations.iter().zip(&stock.associations).filter(|(a, b)| a != b) {
            let _ = write!(difference, "\nours  {a:?}\nstock {b:?}");
        }
        for (a, b) in ours.qos.iter().zip(&stock.qos).filter(|(a, b)| a != b) {
            let _ = write!(difference, "\nours  {a:?}\nstock {b:?}");
        }
        for (a, b) in ours.jobs.iter().zip(&stock.jobs).filter(|(a, b)| a != b) {
            let _ = write!(difference, "\nours  {a:?}\nstock {b:?}");
        }
        assert!(ours == stock, "{name}, step {step}:{difference}\n{}", both.our_log);
    }
}

/// A job of alice that runs on four processors since the clock's first time, for up to ten hours.
pub fn running(id: u32) -> Job {
    waiting(id)
        .state(state::RUNNING)
        .start_time(NOW)
        .end_time_expected(NOW + 36_000)
        .time_limit(600_u32)
        .total_cpus(4_u32)
        .tres_allocated([(1, 4), (2, 8192), (3, 77), (4, 1), (5, 4)])
}

/// What changes in a job when it ends.
pub fn ended(id: u32, at: i64) -> Job {
    Job::new(id).state(state::COMPLETE | state::COMPLETING).end_time(at)
}

/// A host with usage everywhere and enough run seconds for what will run.
pub fn prepare(host: &mut Host, enforce: u16) -> HostResult<()> {
    fill(host)?;
    host.configure(&Conf::new().decay_half_life(HALF_LIFE).enforce(enforce))?;
    let run_seconds = || [(1, 10_000_000), (2, 40_000_000_000), (4, 5_000_000), (5, 10_000_000)];
    let tres = |amount: f64| vec![(1, Extended::from(amount)), (2, Extended::from(amount * 2048.0))];
    for (id, amount) in [(4_u32, 123_456.789), (5, 1e-3), (6, 9.87e17)] {
        host.usage(&[AssociationUsage::new(id)
            .raw(Extended::from(amount))
            .wall(amount / 3.0)
            .tres(tres(amount))
            .run_secs(run_seconds())])?;
    }
    // What deleted users of an account have left behind.
    host.usage(&[AssociationUsage::new(3_u32).raw(Extended::from(555.5)).wall(5.5).tres(tres(7.0))])?;
    for id in 1..=5_u32 {
        host.qos_usage(
            &QosUsage::new(id)
                .raw(Extended::from(f64::from(id) * 1000.1))
                .wall(99.9)
                .tres(tres(3.0))
                .run_secs(run_seconds()),
        )?;
    }
    Ok(())
}

/// Steps of one run.
pub struct Run<'h> {
    host: &'h mut Host,
    steps: Vec<Charged>,
}

impl Run<'_> {
    fn observe(&mut self) -> HostResult<()> {
        self.steps.push(Charged::read(self.host)?);
        Ok(())
    }

    fn cycle_after(&mut self, seconds: i64) -> HostResult<()> {
        self.host.advance(seconds)?;
        self.host.cycle()?;
        self.observe()
    }

    fn end(&mut self, job: u32, at: i64) -> HostResult<()> {
        self.host.jobs(&[ended(job, at)])?;
        self.host.job_end(job)?;
        self.observe()
    }
}

/// Runs one scenario with each plugin, with and without enforced limits, and compares every step.
fn compare(
    name: &str,
    jobs: &[Job],
    scenario: impl Fn(&mut Run) -> HostResult<()>,
) -> HostResult<Both<Vec<Charged>>> {
    let mut last = None;
    for enforce in [ASSOCIATIONS, LIMITS] {
        let both = in_both(|host| {
            prepare(host, enforce)?;
            host.jobs(jobs)?;
            host.init()?;
            let mut run = Run { host, steps: Vec::new() };
            run.observe()?;
            scenario(&mut run)?;
            Ok(run.steps)
        })?;
        assert_same(name, &both);
        last = Some(both);
    }
    Ok(last.expect("two runs"))
}

#[test]
fn running_jobs_are_charged_for_the_time_since_the_last_cycle() -> HostResult<()> {
    let both = compare("running", &[running(1), running(2).association(6_u32)], |run| {
        for seconds in [1, 300, 0, 299, 86_400, 7] {
            run.cycle_after(seconds)?;
        }
        Ok(())
    })?;
    assert_ne!(both.ours[0].raw(4), both.ours[1].raw(4));
    Ok(())
}

#[test]
fn a_job_that_ends_between_cycles_is_charged_exactly_once() -> HostResult<()> {
    let both = compare("end between cycles", &[running(1)], |run| {
        run.cycle_after(300)?;
        run.host.advance(100)?;
        run.end(1, NOW + 400)?;
        run.end(1, NOW + 400)?;
        run.cycle_after(200)
    })?;
    let [_, _, first, second, _] = &both.ours[..] else { panic!("five steps") };
    assert_eq!(first, second, "a second end charges nothing");
    Ok(())
}

#[test]
fn a_job_that_ends_in_the_second_of_a_cycle_is_charged_nothing_more() -> HostResult<()> {
    let both = compare("end at the cycle", &[running(1)], |run| {
        run.cycle_after(300)?;
        run.end(1, NOW + 300)?;
        run.cycle_after(300)
    })?;
    assert_eq!(both.ours[1].raw(4), both.ours[2].raw(4));
    Ok(())
}

#[test]
fn each_qos_charges_at_its_price_and_decays_or_not() -> HostResult<()> {
    let jobs: Vec<Job> =
        (1..=5_u32).map(|qos| running(qos).qos(qos)).chain([running(6).qos(0_u32)]).collect();
    compare("usage factors", &jobs, |run| {
        run.cycle_after(300)?;
        run.host.advance(60)?;
        for job in 1..=6 {
            run.end(job, NOW + 330)?;
        }
        run.cycle_after(86_400)
    })
    .map(drop)
}

#[test]
fn the_qos_of_a_partition_is_charged_where_it_is_not_the_jobs() -> HostResult<()> {
    // In a partition without a QOS, with one that does not decay, with the job's own, and one with billing weights.
    let jobs: Vec<Job> = ["batch", "fast", "long", "billed"]
        .iter()
        .zip(1_u32..)
        .flat_map(|(partition, id)| {
            [1_u32, 3, 5].map(|qos| running(10 * id + qos).qos(qos).partitions([(*partition).to_owned()]))
        })
        .collect();
    compare("partition QOS", &jobs, |run| {
        run.cycle_after(300)?;
        run.host.advance(77)?;
        run.end(13, NOW + 377)?;
        run.end(45, NOW + 370)?;
        run.cycle_after(3000)
    })
    .map(drop)
}

#[test]
fn jobs_beyond_their_limit_or_without_one() -> HostResult<()> {
    let jobs = [
        running(1).time_limit(10_u32).end_time_expected(NOW + 600),
        running(2).time_limit(INFINITE).end_time_expected(NOW + 31_536_000),
        running(3).time_limit(NO_VAL),
        running(4).start_time(NOW + 450).end_time_expected(NOW + 1050).time_limit(10_u32),
        running(5).time_limit(1_u32).end_time_expected(NOW + 60),
    ];
    compare("limits of jobs", &jobs, |run| {
        for _ in 0..5 {
            run.cycle_after(300)?;
        }
        for job in 1..=5 {
            run.end(job, NOW + 1500)?;
        }
        Ok(())
    })
    .map(drop)
}

#[test]
fn jobs_in_every_state() -> HostResult<()> {
    let jobs = [
        running(1).state(state::SUSPENDED),
        running(2).state(state::RUNNING | state::CONFIGURING),
        running(12).state(state::RUNNING | state::POWER_UP_NODE),
        running(13).state(state::RUNNING | state::CONFIGURING | state::POWER_UP_NODE),
        running(3).state(state::RUNNING | state::COMPLETING),
        running(4).state(state::COMPLETE).end_time(NOW + 5),
        running(5).state(state::PENDING | state::COMPLETING).end_time(NOW + 5),
        running(6).state(state::RUNNING | state::RESIZING),
        running(7).start_time(0),
        running(8).association(0_u32),
        running(9).details(false),
        running(10).tres_allocated([]),
        waiting(11),
    ];
    compare("states", &jobs, |run| {
        run.cycle_after(300)?;
        run.host.advance(10)?;
        for job in 1..=10 {
            run.host.job_end(job)?;
            run.observe()?;
        }
        run.cycle_after(300)
    })
    .map(drop)
}

#[test]
fn a_job_that_changes_its_size_is_charged_for_both_sizes() -> HostResult<()> {
    compare("resize", &[running(1).partitions(["billed".to_owned()])], |run| {
        run.cycle_after(300)?;
        run.host.advance(50)?;
        run.host.jobs(&[Job::new(1_u32).state(state::RUNNING | state::RESIZING)])?;
        run.host.job_end(1)?;
        run.observe()?;
        let smaller = Job::new(1_u32).state(state::RUNNING).total_cpus(2_u32).tres_allocated([
            (1, 2),
            (2, 512),
            (4, 1),
        ]);
        run.host.jobs(&[smaller.resize_time(NOW + 350).end_time_expected(NOW + 36_000)])?;
        run.cycle_after(250)?;
        run.end(1, NOW + 600)
    })
    .map(drop)
}

#[test]
fn run_seconds_stop_at_zero_and_the_log_says_so() -> HostResult<()> {
    let both = in_both(|host| {
        prepare(host, LIMITS)?;
        host.usage(&[AssociationUsage::new(4_u32).run_secs([(1, 100), (2, 40_000_000_000)]).mode("only")])?;
        host.qos_usage(&QosUsage::new(1_u32).run_secs([(1, 1000)]))?;
        host.jobs(&[running(1)])?;
        host.init()?;
        host.advance(300)?;
        host.cycle()?;
        Ok(vec![Charged::read(host)?])
    })?;
    assert_same("underflow", &both);
    // Said once, for the first of them.
    let line =
        "1200 seconds of TRES cpu end, but only 1000 were counted for QOS normal; the count is set to 0";
    let said = both.our_log.lines().filter(|said| said.contains("warning: ") && said.contains(line)).count();
    assert_eq!(said, 1, "{}", both.our_log);
    Ok(())
}

/// So many are charged in two parts, and sums are formed for many jobs at once; the run seconds of one association end in
/// the middle.
#[test]
fn very_many_jobs_that_differ_are_charged_as_one_by_one() -> HostResult<()> {
    let jobs = |shift: u32| -> Vec<Job> {
        let job = |id: u32| {
            let odd = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            running(id)
                .association(4 + id % 3)
                .qos(1 + id / 7 % 5)
                .start_time(NOW - i64::from(id % 11) * 100)
                .tres_allocated([(1, odd % 64), (2, odd >> 50), (3, 77), (4, odd % 3), (5, odd >> shift)])
        };
        (1..=5000).map(job).collect()
    };
    // Of the last TRES a few each, or so many that their sums are too large for their type.
    for shift in [60, 0] {
        compare("very many", &jobs(shift), |run| {
            let run_seconds = [(1, 3_000_000), (4, 500_000)];
            run.host.usage(&[AssociationUsage::new(4_u32).run_secs(run_seconds).mode("only")])?;
            for seconds in [300, 1, 36_000, 300] {
                run.cycle_after(seconds)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// slurmctld counts by the factor of a job's QOS when the job starts, and forgets the QOS when it is removed.
#[test]
fn a_qos_that_is_removed_under_a_running_job_leaves_run_seconds_wrong_as_in_stock() -> HostResult<()> {
    let both = in_both(|host| {
        prepare(host, LIMITS)?;
        // QOS 2 counts half.
        for association in [1_u32, 2, 4] {
            let counted = [(1, 600 * 60 * 4 / 2)];
            host.usage(&[AssociationUsage::new(association).run_secs(counted).mode("only")])?;
        }
        host.jobs(&[running(1).qos(2_u32)])?;
        host.init()?;
        host.advance(300)?;
        host.cycle()?;
        host.jobs(&[Job::new(1_u32).qos(0_u32)])?;
        host.advance(300)?;
        host.jobs(&[ended(1, NOW + 600)])?;
        host.job_end(1)?;
        Ok(vec![Charged::read(host)?])
    })?;
    assert_same("removed QOS", &both);
    assert!(both.our_log.contains("were counted for association 4"), "{}", both.our_log);
    assert!(both.stock_log.contains("underflow"), "{}", both.stock_log);
    Ok(())
}

/// Up to 23.02 a reconfigure counts the whole time of running jobs anew and tells the plugin a moment later.
#[test]
fn a_cycle_between_the_count_of_a_reconfigure_and_its_call_releases_no_time_twice() -> HostResult<()> {
    const COUNTED: u64 = 600 * 60 * 4;
    let left = |host: &mut Host| Ok::<_, slurm_inproc::Error>(host.dump_association(4)?.run_secs[0]);
    let both = in_both(|host| {
        prepare(host, LIMITS)?;
        host.jobs(&[running(1)])?;
        host.init()?;
        for cycles in 0..3 {
            host.advance(300)?;
            host.cycle()?;
            host.renew_partitions()?;
            for association in [1_u32, 2, 4] {
                host.usage(&[AssociationUsage::new(association).run_secs([(1, COUNTED)]).mode("only")])?;
            }
            for _ in 0..cycles {
                host.advance(300)?;
                host.cycle()?;
            }
            host.reconfigure(true)?;
        }
        let before = left(host)?;
        host.advance(10)?;
        host.jobs(&[ended(1, NOW + 1810)])?;
        host.job_end(1)?;
        Ok((before, left(host)?))
    })?;
    assert_eq!(both.ours, (COUNTED - 1800 * 4, 0));
    assert!(!both.our_log.contains("were counted"), "{}", both.our_log);
    // Stock takes what the two cycles have taken once more, and says so when the job ends.
    assert_eq!(both.stock, (COUNTED - (1800 + 600) * 4, 0));
    assert!(both.stock_log.contains("underflow"), "{}", both.stock_log);
    Ok(())
}

#[test]
fn a_restart_takes_the_time_before_it_out_of_the_run_seconds() -> HostResult<()> {
    let jobs = [
        running(1).start_time(NOW - 7200).end_time_expected(NOW + 28_800),
        running(2).start_time(NOW - 7200).qos(2_u32).partitions(["fast".to_owned()]),
        running(3).start_time(NOW - 30),
        running(4).start_time(NOW - 7200).state(state::SUSPENDED),
        running(5).start_time(NOW - 7200).end_time_expected(i64::from(NO_VAL)),
        running(6).start_time(NOW - 7200).association(0_u32),
    ];
    for enforce in [ASSOCIATIONS, LIMITS] {
        let both = in_both(|host| {
            prepare(host, enforce)?;
            host.jobs(&jobs)?;
            let times = [(NOW - 60).to_be_bytes(), (NOW - 90_000).to_be_bytes()].concat();
            std::fs::write(host.directory().join("state/priority_last_decay_ran"), times)?;
            host.init()?;
            let mut steps = vec![Charged::read(host)?];
            host.advance(60)?;
            host.cycle()?;
            steps.push(Charged::read(host)?);
            // A reconfigure of 22.05, which counts the limits anew.
            host.reconfigure(true)?;
            steps.push(Charged::read(host)?);
            Ok(steps)
        })?;
        assert_same("restart", &both);
    }
    Ok(())
}

#[test]
fn resets_come_at_the_same_time_and_clear_the_same() -> HostResult<()> {
    // None, now, daily, weekly, monthly, quarterly, yearly.
    for period in 0..=6_u16 {
        let both = in_both(|host| {
            prepare(host, LIMITS)?;
            host.configure(&Conf::new().reset_period(period))?;
            host.jobs(&[running(1).end_time_expected(NOW + 400 * 86_400).time_limit(576_000_u32)])?;
            let times = [(NOW - 60).to_be_bytes(), (NOW - 60).to_be_bytes()].concat();
            std::fs::write(host.directory().join("state/priority_last_decay_ran"), times)?;
            host.init()?;
            let (mut steps, mut saved) = (vec![Charged::read(host)?], vec![host.saved_times()?]);
            for days in [0, 1, 1, 5, 7, 30, 62, 300] {
                host.advance(days * 86_400)?;
                host.cycle()?;
                steps.push(Charged::read(host)?);
                saved.push(host.saved_times()?);
            }
            Ok((steps, saved))
        })?;
        assert_eq!(both.ours.1, both.stock.1, "times saved with reset period {period}");
        let steps =
            Both { ours: both.ours.0, stock: both.stock.0, our_log: both.our_log, stock_log: both.stock_log };
        assert_same(&format!("reset period {period}"), &steps);
    }
    Ok(())
}

#[test]
fn a_clock_that_is_set_back_and_a_half_life_that_is_changed() -> HostResult<()> {
    compare("clock and half-life", &[running(1), running(2).qos(3_u32)], |run| {
        run.cycle_after(300)?;
        run.cycle_after(-3600)?;
        run.cycle_after(1800)?;
        run.cycle_after(86_400)?;
        for half_life in [0_u32, 3600, 1, 31_536_000] {
            run.host.configure(&Conf::new().decay_half_life(half_life))?;
            run.host.reconfigure(false)?;
            run.cycle_after(300)?;
            run.cycle_after(300)?;
        }
        run.end(1, NOW + 100_000)
    })
    .map(drop)
}

/// What a job is billed in a partition with `TRESBillingWeights` is charged: the sum, or with `MAX_TRES` the largest.
#[test]
fn billing_is_the_sum_of_tres_or_the_largest() -> HostResult<()> {
    const MAX_TRES: u16 = slurm_inproc::constants::PRIORITY_FLAGS_MAX_TRES;
    for (flags, billing) in [(FAIR_TREE, 4.0 * 1.5 + 8192.0 / 1024.0 * 0.25), (FAIR_TREE | MAX_TRES, 6.0)] {
        let both = in_both(|host| {
            prepare(host, LIMITS)?;
            host.configure(&Conf::new().flags(flags).decay_half_life(0_u32))?;
            host.usage(&[AssociationUsage::new(5_u32).raw(0_u64).mode("only")])?;
            host.jobs(&[running(1).association(5_u32).partitions(["billed".to_owned()])])?;
            host.init()?;
            let mut steps = vec![Charged::read(host)?];
            host.advance(300)?;
            host.cycle()?;
            steps.push(Charged::read(host)?);
            Ok(steps)
        })?;
        assert_same("billing", &both);
        let [before, after] = &both.ours[..] else { panic!("two steps") };
        let charged = after.raw(5).to_f64() - before.raw(5).to_f64();
        assert!((charged - 300.0 * billing).abs() < 1e-6, "{charged} s, flags {flags:#x}");
    }
    Ok(())
}
