use slurm_fakehost::{in_releases, locks, release};
use crate::setup::fill;

#[test]
fn show() {
    in_releases(&[release(26, 5, 5)], |slurmctld| {
        slurmctld.set("accounting_enforce", 2_u16);
        slurmctld.configure("priority_weight_fs", 1000_u32);
        slurmctld.conf_text("site_factor_plugin", "site_factor/example");
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&cluster.waiting(101));
        let running = slurmctld.add_job(&cluster.running(102, 60));
        slurmctld.load().unwrap();
        slurmctld.recover();
        slurmctld.thread_start();
        slurmctld.await_cycle();
        eprintln!("FIRST {:#?}", locks::take_trace());
        slurmctld.advance(300);
        slurmctld.cycle();
        eprintln!("CYCLE {:#?}", locks::take_trace());
        slurmctld.ask_priority(0, job);
        slurmctld.job_end(running);
        slurmctld.set_assoc_usage(cluster.alice);
        slurmctld.reconfigure(false);
        eprintln!("CALLS {:#?}", locks::take_trace());
        panic!();
    });
}
