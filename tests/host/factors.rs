//! Every part of a priority but fair-share: for random jobs, partitions, weights and flags the same as stock's to the last
//! bit, in the job's record, in the array for several partitions and in the objects for `sprio`.

use proptest::collection::vec;
use proptest::prelude::*;
use slurm_inproc::constants::{PRIORITY_FLAGS_FAIR_TREE, PRIORITY_FLAGS_INCR_ONLY};
use slurm_inproc::{
    AssociationUsage, Conf, Factors, FactorsFilter, FactorsObject, Host, HostResult, Job, JobRecord,
    Partition, Qos,
};

use crate::random_jobs::{conf, job};
use crate::setup::{fill, in_both, waiting};

/// What one run shows: jobs after submission, after the first cycle and after a later one; lists for `sprio`.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    submitted: Vec<u32>,
    jobs: Vec<Vec<JobRecord>>,
    lists: Vec<Vec<FactorsObject>>,
}

fn filters() -> Vec<FactorsFilter> {
    let all = || FactorsFilter::new().uid(0_u32);
    vec![
        all(),
        all().jobs([1, 3, 5, 7]),
        all().users([1004, 1006]),
        all().partitions(["fast".to_owned(), "long".to_owned()]),
        all().jobs([2, 4, 6]).users([1005]).partitions(["batch".to_owned()]),
        all().partitions(["none".to_owned()]),
        FactorsFilter::new().uid(1004_u32),
    ]
}

fn show(host: &mut Host, conf: &Conf, jobs: &[Job]) -> HostResult<Shown> {
    fill(host)?;
    host.configure(conf)?;
    // Fair-share in stock and here differ; usage in the tree makes sure of it.
    host.usage(&[AssociationUsage::new(4_u32).raw(1000_u64), AssociationUsage::new(6_u32).raw(50_u64)])?;
    for (id, job) in (1_u32..).zip(jobs) {
        host.jobs(&[job.clone().with_id(id)])?;
    }
    host.init()?;
    let mut shown = Shown { submitted: Vec::new(), jobs: vec![host.dump_jobs()?], lists: Vec::new() };
    let ids = || 1..=u32::try_from(jobs.len()).expect("few jobs");
    for id in ids() {
        shown.submitted.push(host.try_priority(id, 1000)?);
    }
    shown.jobs.push(host.dump_jobs()?);
    for filter in filters() {
        shown.lists.push(host.factors(&filter)?);
    }
    host.advance(5000)?;
    host.cycle()?;
    shown.jobs.push(host.dump_jobs()?);
    shown.lists.push(host.factors(&FactorsFilter::new().uid(0_u32))?);
    // What the factors are is seen in the lists: only a submission keeps them in the record here.
    for job in shown.jobs.iter_mut().flatten() {
        job.factors = None;
    }
    Ok(shown)
}

/// The priority that factors add up to; stock rounds the same sum.
fn sum(factors: &Factors) -> f64 {
    let tres: f64 = factors.tres.iter().map(|tres| tres.to_f64()).sum();
    let shift = f64::from(factors.site) - f64::from(factors.nice);
    let weighted =
        factors.age + factors.association + factors.fairshare + factors.job_size + factors.partition;
    (weighted + factors.qos + tres + shift).clamp(1.0, f64::from(u32::MAX))
}

fn without_fairshare(factors: &Factors) -> Factors {
    Factors { fairshare: 0.0, ..factors.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn without_a_fair_share_weight_everything_is_equal_to_stock(conf in conf(), jobs in vec(job(), 1..20)) {
        let both = in_both(|host| show(host, &conf, &jobs)).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(&both.ours.submitted, &both.stock.submitted);
        for (ours, stock) in both.ours.jobs.iter().flatten().zip(both.stock.jobs.iter().flatten()) {
            prop_assert_eq!(ours, stock);
        }
        for (ours, stock) in both.ours.lists.iter().flatten().zip(both.stock.lists.iter().flatten()) {
            prop_assert_eq!(ours, stock);
        }
        prop_assert!(both.ours == both.stock);
    }

    #[test]
    fn with_one_only_the_fair_share_column_differs(
        conf in conf(),
        weight in 1..50_000_000_u32,
        jobs in vec(job(), 1..20),
    ) {
        // INCR_ONLY makes a priority depend on the one before, and so on fair-share.
        let conf = conf.flags(PRIORITY_FLAGS_FAIR_TREE).weight_fairshare(weight);
        let both = in_both(|host| show(host, &conf, &jobs)).unwrap_or_else(|error| panic!("{error}"));
        // The last list is of the last cycle, whose priorities are in the last records.
        let (jobs, list) = (both.ours.jobs.last().expect("three"), both.ours.lists.last().expect("some"));
        for line in list.iter().filter(|line| line.direct_priority < 1.0) {
            let job = jobs.iter().find(|job| job.id == line.job_id).expect("a job");
            if job.priority_array.is_empty() && !job.direct_set_priority {
                prop_assert!((sum(&line.factors) - f64::from(job.priority)).abs() <= 1.0, "{:?} {:?}", job, line);
            }
        }
        for (ours, stock) in both.ours.lists.iter().zip(&both.stock.lists) {
            let plain = |objects: &[FactorsObject]| -> Vec<FactorsObject> {
                objects
                    .iter()
                    .map(|object| FactorsObject {
                        factors: without_fairshare(&object.factors),
                        direct_priority: 0.0,
                        ..object.clone()
                    })
                    .collect()
            };
            prop_assert_eq!(ours.len(), stock.len());
            for (ours, stock) in plain(ours).iter().zip(&plain(stock)) {
                prop_assert_eq!(ours, stock);
            }
        }
    }
}

#[test]
fn a_million_random_jobs_have_the_priorities_of_stock_to_the_unit() -> HostResult<()> {
    random_jobs_have_the_priorities_of_stock(10)
}

#[test]
#[ignore = "minutes: make test-heavy"]
fn ten_million_random_jobs_have_the_priorities_of_stock_to_the_unit() -> HostResult<()> {
    random_jobs_have_the_priorities_of_stock(100)
}

/// A hundred thousand jobs, many times over, with factors of tenths and weights of tens: sums are whole numbers but for
/// the last bit, so every weighted factor must be added where stock adds it.
fn random_jobs_have_the_priorities_of_stock(rounds: u64) -> HostResult<()> {
    const JOBS: u64 = 100_000;
    const STEP: u32 = 3600;
    let both = in_both(|host| {
        fill(host)?;
        host.configure(&Conf::new().cluster_cpus(10_u32).nodes(10_u32).max_age(10 * STEP))?;
        for (name, factor) in [("batch", 10_u16), ("fast", 100), ("long", 30), ("billed", 70)] {
            let tens = (1..=5).map(|tres| (tres, 10)).collect::<Vec<_>>();
            host.partition(&Partition::new(name).factor(factor).tres(tens))?;
        }
        for (qos, priority) in [(1_u32, 10_u32), (2, 100), (3, 30), (4, 70), (5, 90)] {
            host.qos(&Qos::new(qos).priority(priority))?;
        }
        host.bulk_jobs(1, JOBS, 7, false)?;
        host.init()?;
        (0..rounds)
            .map(|round| {
                let weight = |prime: u64| u32::try_from(10 * (1 + round * prime % 997)).expect("small");
                let [cpu, mem, node] = [29, 53, 83].map(weight);
                host.configure(
                    &Conf::new()
                        .weight_age(weight(7919))
                        .weight_association(weight(104_729))
                        .weight_job_size(weight(1_299_709))
                        .weight_partition(weight(15_485_863))
                        .weight_qos(weight(31))
                        .weight_tres(format!("cpu={cpu},mem={mem},node={node}")),
                )?;
                host.reconfigure(false)?;
                host.vary_jobs(round, STEP, 100)?;
                host.advance(60)?;
                host.cycle()?;
                host.digest_jobs()
            })
            .collect::<HostResult<Vec<_>>>()
    })?;
    assert!(both.stock.iter().all(|(jobs, _, sum)| *jobs == JOBS && *sum > JOBS), "{:?}", both.stock);
    assert_eq!(both.stock, both.ours);
    Ok(())
}

/// `INCR_ONLY` holds for the priority in each partition by itself, whichever of them the job's own is.
#[test]
fn with_incr_only_the_priority_in_each_partition_only_grows() -> HostResult<()> {
    let both = in_both(|host| {
        fill(host)?;
        host.configure(
            &Conf::new()
                .flags(PRIORITY_FLAGS_FAIR_TREE | PRIORITY_FLAGS_INCR_ONLY)
                .weight_partition(100_000_u32),
        )?;
        host.partition(&Partition::new("up").factor(10_u16))?;
        host.partition(&Partition::new("down").factor(100_u16))?;
        host.jobs(&[waiting(1).partitions(["up".to_owned(), "down".to_owned()])])?;
        host.set_priority(1)?;
        host.init()?;
        let mut seen = Vec::new();
        let mut show = |host: &mut Host| -> HostResult<()> {
            let job = host.dump_job(1)?;
            seen.push((job.priority, job.priority_array));
            Ok(())
        };
        show(host)?;
        // What one gains the other loses, because the highest counts as 1.
        host.partition(&Partition::new("up").factor(400_u16))?;
        host.advance(60)?;
        host.cycle()?;
        show(host)?;
        host.partition(&Partition::new("up").factor(1_u16))?;
        host.partition(&Partition::new("down").factor(2_u16))?;
        host.advance(60)?;
        host.cycle()?;
        show(host)?;
        Ok(seen)
    })?;
    assert_eq!(both.ours, both.stock);
    let arrays: Vec<&Vec<u32>> = both.ours.iter().map(|(_, array)| array).collect();
    let [first, second, third] = arrays[..] else { panic!("three") };
    let (mut grown, mut kept) = (0, 0);
    for at in 0..2 {
        assert!(first[at] <= second[at] && second[at] <= third[at], "{arrays:?}");
        grown += u32::from(first[at] < second[at]);
        kept += u32::from(second[at] == third[at]);
    }
    assert!(grown == 1 && kept == 2, "{arrays:?}");
    Ok(())
}
