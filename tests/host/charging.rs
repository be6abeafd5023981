//! Usage of jobs, half-life decay and resets: after every step the same as stock's, to the last bit of every number.

use slurm_inproc::constants::{INFINITE, NO_VAL};
use slurm_inproc::{state, AssociationUsage, Conf, HostResult, Job};

use crate::charges::{assert_same, compare, prepare, running, Charged, LIMITS};
use crate::setup::{in_both, waiting, Both, FAIR_TREE, NOW};

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
