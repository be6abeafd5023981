//! Traces: any bytes give a workload or an error, never a panic or a hang; and a workload can be simulated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multifactor2_core::settings::Settings;
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate_with, Parameters, Plan, Scheduler};
use multifactor2_replay::trace::{associations, cluster, config::Config, parse, problems::Problems};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let listed = associations::parse(&text, "fuzz", &mut Problems::default());
    let _ = associations::qos(&text, "fuzz", &mut Problems::default());
    if let Some((machine, _)) = cluster::machine(&text, Some(&text)) {
        let _ = machine.check();
    }
    let parameters = Parameters::parse(&text);
    let mut workload = match parse(bytes, "fuzz") {
        Ok(workload) => workload,
        Err(error) => {
            assert!(error.to_string().contains("fuzz"));
            return;
        }
    };
    assert!(!workload.jobs.is_empty());
    assert!(workload.jobs.windows(2).all(|pair| pair[0].submit <= pair[1].submit));
    if let Ok(listed) = listed {
        workload.set_associations(listed);
    }
    workload.config = Config::parse(&text);
    let Some(machine) = workload.machine_or_observed() else { return };
    // Long stretches of time are only long.
    let last = workload.jobs.last().map_or(0, |job| job.submit) - workload.jobs[0].submit;
    if last > 100_000 || workload.jobs.iter().any(|job| job.run > 100_000 || job.eligible - job.submit > 100_000) {
        return;
    }
    let points = "Component=SERV QueueTime=1 XFactor=1\nComponent=FS FSUser=1\nComponent=RES Proc=1 Mem=1\nTarget=User Name=* Percent=5\n";
    let settings = Settings::parse(points, "points").expect("they are right").settings;
    let points = Policy::Multifactor2(Box::new(settings));
    for (policy, scheduler) in [(Policy::FairTree, Scheduler::Easy), (points, Scheduler::Slurm(parameters))] {
        let plan = Plan { workload: &workload, machine: &machine, scheduler, policy: &policy };
        if let Ok(outcome) = simulate_with(&plan, true, |_| true) {
            assert_eq!(outcome.starts.len(), workload.jobs.len());
        }
    }
});
