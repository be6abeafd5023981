//! Facts to evaluations: each part by its own weight.

use multifactor2_core::evaluator::{Evaluator, FactorConfig};
use multifactor2_core::factors::{
    ClusterSize, Evaluation, NodeCount, SizeOrder, SizePolicy, Weights, NICE_OFFSET,
};
use multifactor2_core::facts::{AssociationFactors, Facts, Job, JobSize, Partition, Qos, Tres, NO_VAL};

fn config() -> FactorConfig {
    FactorConfig {
        weights: Weights {
            age: 1000,
            assoc: 2000,
            fair_share: 3000,
            job_size: 4000,
            partition: 5000,
            qos: 6000,
        },
        tres_weights: Some(vec![100.0, 0.0, 10.0]),
        max_age: 1000,
        size: SizePolicy { order: SizeOrder::Large, nodes: NodeCount::Active },
        no_normal_part: false,
        no_normal_qos: false,
        no_normal_tres: false,
    }
}

fn facts(tres: &[Vec<u64>; 2]) -> Facts<'_> {
    Facts {
        job: Job {
            id: 7,
            priority: 1,
            direct: false,
            site: NICE_OFFSET + 3,
            nice: NICE_OFFSET + 5,
            accrue_time: 9750,
        },
        size: Some(JobSize {
            total_cpus: 4,
            max_cpus: NO_VAL,
            min_cpus: 1,
            min_nodes: 1,
            time_limit: 10,
            partition_max_time: None,
        }),
        partition: Some(Partition { priority_job_factor: 4, norm_priority: 0.5 }),
        qos: Some(Qos { priority: 8, norm_priority: 0.25, usage_threshold: -1.0 }),
        tres: Tres { allocated: None, requested: Some(&tres[0]), of_partition: Some(&tres[1]) },
    }
}

fn evaluator(config: &FactorConfig) -> Evaluator<'_> {
    Evaluator { config, cluster: ClusterSize { cpus: 16, nodes: 4 }, now: 10_000 }
}

const STANDING: AssociationFactors = AssociationFactors { assoc: 0.75, fair_share: 0.125 };

#[test]
fn each_part_has_its_own_weight() {
    let (config, counts) = (config(), [vec![4, 9, 1], vec![16, 9, 2]]);
    let mut tres = [0.0; 3];
    let found = evaluator(&config).evaluate(&facts(&counts), STANDING, &mut tres);
    // 250 of 1000 s; 1 of 4 nodes and 4 of 16 CPUs; 4 of 16 and 1 of 2 TRES.
    let expected = Evaluation {
        age: 250.0,
        assoc: 1500.0,
        fair_share: 375.0,
        job_size: 1000.0,
        partition: 2500.0,
        qos: 1500.0,
        tres: 30.0,
        site: NICE_OFFSET + 3,
        nice: NICE_OFFSET + 5,
    };
    assert_eq!((found, tres), (expected, [25.0, 0.0, 5.0]));
    assert!((found.sum() - 7153.0).abs() < 1e-9);
}

#[test]
fn what_has_no_weight_or_is_not_there_adds_nothing() {
    let config = FactorConfig { weights: Weights::default(), tres_weights: None, ..config() };
    let counts = [vec![4, 9, 1], vec![16, 9, 2]];
    let found = evaluator(&config).evaluate(&facts(&counts), STANDING, &mut []);
    assert!((found.sum() + 2.0).abs() < 1e-9, "{found:?}");
    let none = Facts { size: None, partition: None, qos: None, tres: Tres::default(), ..facts(&counts) };
    let found = evaluator(&self::config()).evaluate(&none, AssociationFactors::default(), &mut [0.0; 3]);
    assert!((found.sum() - 248.0).abs() < 1e-9, "age, site and nice: {found:?}");
}

#[test]
fn in_one_of_several_partitions_and_qos() {
    let (config, counts) = (config(), [vec![4, 9, 1], vec![8, 9, 1]]);
    let evaluator = evaluator(&config);
    let facts = facts(&counts);
    let mut tres = [0.0; 3];
    let of_job = evaluator.evaluate(&facts, STANDING, &mut tres);
    let other = Partition { priority_job_factor: 1, norm_priority: 1.0 };
    let found = evaluator.in_partition(&of_job, Some(&other), Tres::default(), &mut tres);
    assert_eq!(found, Evaluation { partition: 5000.0, tres: 0.0, ..of_job });
    assert_eq!(evaluator.in_partition(&of_job, None, facts.tres, &mut tres).partition.to_bits(), 0);

    let qos = |priority| Qos { priority, norm_priority: 0.5, usage_threshold: f64::from(NO_VAL) };
    let weighted =
        |evaluator: &Evaluator<'_>, priority| evaluator.weighted_qos_of_several(&qos(priority), 7.0);
    assert!((weighted(&evaluator, 1) - 3000.0).abs() < 1e-9);
    assert!((weighted(&evaluator, 0) - 7.0).abs() < 1e-9, "without a priority it keeps the job's");
    let unweighted = FactorConfig { weights: Weights::default(), ..config.clone() };
    assert!((weighted(&self::evaluator(&unweighted), 1) - 7.0).abs() < 1e-9, "and without a weight");
}

#[test]
fn a_threshold_is_set_from_0_on() {
    let has = |usage_threshold| Qos { priority: 0, norm_priority: 0.0, usage_threshold }.has_threshold();
    assert_eq!(
        [-1.0, 0.0, 0.5, 1e9, f64::from(NO_VAL), f64::NAN].map(has),
        [false, true, true, true, false, false]
    );
}
