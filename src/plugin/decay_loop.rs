//! The work of the decay thread: one cycle every `PriorityCalcPeriod`, until it is told to stop.
//!
//! The thread is called `decay` as in stock, so that `top -H` and our measurements find it. A panic in a cycle ends that cycle, not the
//! thread.

use std::thread;
use std::time::{Duration, Instant};

use multifactor2_accounting::rule_history::RuleHistory;
use tracing::{debug, error};

use super::charging::Charger;
use super::cycle::Schedule;
use super::Plugin;
use crate::faults;
use crate::host::lists::List;
use crate::host::locks::{spawn, Unlocked, Usage};
use crate::host::panics::guard;
use crate::host::{clock, Host};

fn run(plugin: &'static Plugin, mut unlocked: Unlocked) {
    /// Seconds between two looks at the clock where not even slurm.conf can be read.
    const PASSIVE: u64 = 60;

    let host = unlocked.host();
    let thread = &plugin.thread;
    if host.misfit().is_some() {
        while !thread.sleep(Instant::now() + Duration::from_secs(PASSIVE)) {
            guard(|| plugin.health.remind(clock::now()), || ());
        }
        return;
    }
    if !wait_until_taken(plugin, host) {
        return;
    }
    let mut deadline = Instant::now();
    let mut schedule = Schedule::read(host);
    guard(|| plugin.progress.catch_up(), || ());
    guard(|| plugin.stop_as_before(&mut unlocked), || ());
    guard(|| forget_time_before_restart(plugin, &mut unlocked, false), || ());
    loop {
        if thread.take_reconfigure() {
            schedule.reconfigure(host);
        }
        // A cycle that panicked may have been announced, and not charged.
        guard(|| plugin.progress.catch_up(), || ());
        guard(|| plugin.run_cycle(&mut unlocked, &mut schedule, clock::now()), || ());
        // The period is read anew each time, as it can be changed while we run.
        deadline += Duration::from_secs(host.conf().get(|conf| conf.priority_calc_period).into());
        // After a stall, a suspended machine or a very long cycle, there is nothing to catch up with.
        deadline = deadline.max(Instant::now());
        if thread.sleep(deadline) {
            return;
        }
    }
}

/// Waits until slurmctld can call us; `false` if it tells the thread to stop. What it does between init and then takes microseconds.
fn wait_until_taken(plugin: &Plugin, host: &Host) -> bool {
    /// Where the host keeps our functions in no data that can be seen, it has long had them by then.
    const LONGEST: Duration = Duration::from_secs(2);
    let end = Instant::now() + LONGEST;
    while !host.has_taken_functions() && Instant::now() < end {
        // Only a look for a stop: what is waited for takes less than a sleep.
        if plugin.thread.sleep(Instant::now()) {
            return false;
        }
        thread::yield_now();
    }
    true
}

/// Corrects the run seconds of associations and QOS for jobs that were running when slurmctld started or, with
/// `recounted`, reconfigured.
pub(super) fn forget_time_before_restart(plugin: &Plugin, unlocked: &mut Unlocked, recounted: bool) {
    faults::point("restart");
    if !unlocked.host().enforces_limits() || plugin.is_passive() || !plugin.records_are_sound(unlocked) {
        return;
    }
    let jobs = unlocked.jobs_read();
    // Collected first: in older releases squeue takes the list's lock while it holds the association manager's.
    let Some(list) = jobs.jobs().map(List::collect) else { return };
    let lock = jobs.associations::<Usage>();
    let last_ran = plugin.progress.times().last_ran;
    let used_until = plugin.progress.used_until(&jobs, recounted);
    if used_until != last_ran {
        debug!("a cycle came between: {} s of running jobs are taken out already", last_ran - used_until);
    }
    let no_rules = RuleHistory::default();
    let mut noted = plugin.noted.lock();
    noted.given_back.clear();
    let mut charger = Charger::new(1.0, Default::default(), no_rules.within(0, 0), noted);
    let mut batch = charger.begin(&lock);
    for job in list {
        if plugin.admits(&lock, job, true) {
            batch.forget_time_before_restart(job, used_until);
        }
    }
    batch.post();
}

impl Plugin {
    /// Starts the decay thread.
    pub(super) fn start_thread(&'static self, host: &'static Host) {
        if let Err(problem) = self.thread.start(|| spawn(host, "decay", move |unlocked| run(self, unlocked)))
        {
            error!(
                "cannot start the decay thread: {problem}. Usage is not charged and priorities do not change; \
                 raise the task limit of slurmctld's service and restart slurmctld"
            );
        }
    }
}
