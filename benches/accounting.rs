//! How long it takes to count overtaken jobs.
#![allow(missing_docs)] // criterion_group makes a public function without documentation

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, BatchSize, Criterion};
use multifactor2_accounting::bypass::{Eligible, Overtaken, Started};

const WAITING: u32 = 100_000;

/// 100,000 jobs wait in three partitions, and 2,000 have started; a tenth of those that wait are new.
fn overtaken(criterion: &mut Criterion) {
    let mut random = fastrand::Rng::with_seed(1);
    let waiting: Vec<Eligible> = (0..WAITING)
        .map(|id| Eligible {
            id,
            submit: 10,
            array: 0,
            since: if id % 10 == 0 { 100 + random.i64(..300) } else { 10 },
            partition: random.u32(..3),
            priority: random.u32(..1 << 24),
        })
        .collect();
    let started: Vec<Started> = (0..2_000)
        .map(|id| Started {
            id: WAITING + id,
            start: 100 + random.i64(..300),
            partition: random.u32(..3),
            priority: random.u32(..1 << 24),
        })
        .collect();
    let known = Overtaken::kept(100, waiting.iter().map(|job| (job.id, job.submit, 7)));
    let mut group = criterion.benchmark_group("overtaken");
    group.bench_function("2000 starts", |bench| {
        bench.iter_batched(
            || known.clone(),
            |mut known| {
                known.note(black_box(&waiting), black_box(&started), 400);
                known
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, overtaken);
criterion_main!(benches);
