//! What the engine takes from the heap. Apart from the other tests, because it brings a counting allocator.

use allocation_counter::measure;
use multifactor2_core::factors::{tres_factors, weigh_tres, Evaluation, Priority, Weights};
use multifactor2_core::{FairShare, NodeSpec, ShareTree};

const ASSOCIATIONS: u32 = 100_000;

fn associations() -> Vec<NodeSpec> {
    (0..ASSOCIATIONS)
        .map(|index| NodeSpec {
            parent: index.checked_sub(1).map(|before| before / 10),
            shares: 1 + index % 7,
            user: index >= ASSOCIATIONS / 10,
        })
        .collect()
}

#[test]
fn a_cycle_allocates_nothing_once_the_buffers_exist() {
    let tree = ShareTree::build(&associations());
    let (usage, waiting) = (vec![1.0; tree.len()], vec![1; tree.len()]);
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &usage, &waiting);

    let (mut counts, mut sum) = ([0.0; 10], 0_u64);
    let weights = Weights { fair_share: 1000, ..Weights::default() };
    let cycle = measure(|| {
        fair_share.distribute(&tree, &usage, &waiting);
        for node in tree.nodes() {
            tres_factors(&mut counts, None, Some(&[5; 10]), Some(&[20; 10]), false);
            let factors = Evaluation {
                fair_share: fair_share.priority(node),
                tres: weigh_tres(&mut counts, &[100.0; 10]),
                ..Evaluation::default()
            };
            sum += u64::from(Priority::from_sum(factors.weigh(&weights).sum()).value);
        }
    });
    assert!(sum > 0);
    assert_eq!(cycle.count_total, 0, "allocations in a cycle");
}

#[test]
fn at_most_80_bytes_per_association_are_kept() {
    let specs = associations();
    let mut kept = None;
    let memory = measure(|| {
        let tree = ShareTree::build(&specs);
        let mut fair_share = FairShare::new();
        fair_share.distribute(&tree, &[], &[]);
        kept = Some((tree, fair_share));
    });
    let bytes = memory.bytes_current / i64::from(ASSOCIATIONS);
    println!(
        "{bytes} bytes per association, at most {} while building",
        memory.bytes_max / u64::from(ASSOCIATIONS)
    );
    assert!((1..=80).contains(&bytes), "{bytes} bytes per association");
    drop(kept);
}
