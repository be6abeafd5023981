//! What it costs that the offsets of Slurm's fields are data: the reads and the write of one job in a cycle, with
//! offsets from the table chosen at run time and with offsets that the compiler knows.
#![allow(clippy::cast_ptr_alignment)] // Slurm aligns every field
#![allow(missing_docs)] // criterion_group makes a public function without documentation

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use priority_multifactor2::host::layout::{self, JobLayout};

const JOBS: usize = 100_000;

/// The fields of a job that every cycle touches, with the offsets of 22.05.
const STATE: usize = 408;
const PRIORITY: usize = 656;
const DIRECT: usize = 216;
const ASSOCIATION: usize = 72;
const SITE: usize = 792;

fn measure(criterion: &mut Criterion) {
    // SAFETY: of the layout of 22.05, and used with records of that size.
    let layouts = unsafe { layout::all() };
    let layout =
        layouts.iter().find(|layout| layout.group.first == 0x16_05_00).expect("22.05 is in the table");
    let size = layout.job.size;
    let mut records = vec![0_u64; JOBS * size / 8];
    let first: *mut u8 = records.as_mut_ptr().cast();
    let table: &JobLayout = black_box(&layout.job);

    let mut group = criterion.benchmark_group("one job of a cycle");
    group.throughput(Throughput::Elements(JOBS as u64));
    group.bench_function("offsets from the table", |bencher| {
        bencher.iter(|| {
            for at in 0..JOBS {
                // SAFETY: record `at` of the array, each as large as the layout says.
                unsafe {
                    let job = first.add(at * size);
                    let sum = table.job_state.get(job)
                        ^ u32::from(table.direct_set_prio.get(job))
                        ^ table.site_factor.get(job)
                        ^ u32::from(table.assoc_ptr.get(job).is_null());
                    table.priority.set(job, black_box(sum));
                }
            }
        });
    });
    group.bench_function("offsets known to the compiler", |bencher| {
        bencher.iter(|| {
            for at in 0..JOBS {
                // SAFETY: as above.
                unsafe {
                    let job = first.add(at * size);
                    let sum = job.add(STATE).cast::<u32>().read()
                        ^ u32::from(job.add(DIRECT).cast::<u16>().read())
                        ^ job.add(SITE).cast::<u32>().read()
                        ^ u32::from(job.add(ASSOCIATION).cast::<*mut u8>().read().is_null());
                    job.add(PRIORITY).cast::<u32>().write(black_box(sum));
                }
            }
        });
    });
    group.finish();
}

criterion_group!(benches, measure);
criterion_main!(benches);
