//! Building a share tree and distributing tickets over it, per number of associations.
#![allow(missing_docs)] // criterion_group makes a public function without documentation

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use multifactor2_core::{FairShare, NodeSpec, ShareTree};

const SIZES: [u32; 3] = [1_000, 10_000, 100_000];

/// Accounts in levels of ten, the last nine tenths of the associations being users.
fn associations(count: u32) -> Vec<NodeSpec> {
    (0..count)
        .map(|index| NodeSpec {
            parent: index.checked_sub(1).map(|before| before / 10),
            shares: 1 + index % 7,
            user: index >= count / 10,
        })
        .collect()
}

/// Usage that adds up along the tree, by position.
fn usage(nodes: &[NodeSpec], tree: &ShareTree) -> Vec<f64> {
    let mut by_input: Vec<f64> = (0_u32..).zip(nodes).map(|(index, _)| f64::from(index % 1013)).collect();
    for index in (1..nodes.len()).rev() {
        by_input[(index - 1) / 10] += by_input[index];
    }
    let mut by_position = vec![0.0; tree.len()];
    for (input, usage) in by_input.into_iter().enumerate() {
        by_position[tree.position(input).expect("every association is in the tree").index()] = usage;
    }
    by_position
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    for size in SIZES {
        let nodes = associations(size);
        group.throughput(Throughput::Elements(size.into()));
        group.bench_function(BenchmarkId::from_parameter(size), |bench| {
            bench.iter(|| ShareTree::build(black_box(&nodes)));
        });
    }
    group.finish();
}

fn distribute(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("distribute");
    for size in SIZES {
        let nodes = associations(size);
        let tree = ShareTree::build(&nodes);
        let usage = usage(&nodes, &tree);
        let waiting: Vec<u32> = (0..size).map(|position| u32::from(position % 3 == 0)).collect();
        let mut fair_share = FairShare::new();
        group.throughput(Throughput::Elements(size.into()));
        group.bench_function(BenchmarkId::from_parameter(size), |bench| {
            bench.iter(|| fair_share.distribute(&tree, black_box(&usage), black_box(&waiting)));
        });
    }
    group.finish();
}

criterion_group!(benches, build, distribute);
criterion_main!(benches);
