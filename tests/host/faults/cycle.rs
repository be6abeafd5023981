//! Panics in the steps of a cycle.

use slurm_inproc::{AssociationUsage, Conf, CountingSiteFactor, HostResult};

use crate::setup::{conf, waiting, Rig, CPUS, NOW, WAITING};

const DAILY: u16 = slurm_inproc::constants::PRIORITY_RESET_DAILY;
const DEBUG_PRIORITY: u64 = slurm_inproc::constants::DEBUG_FLAG_PRIO;

/// Every step of a cycle, whether the priorities are written although it fails, and how much of the failing cycle's
/// charges is lost for the user of job 11, in seconds.
const STEPS: [(&str, bool, i64); 21] = [
    ("check", false, 0),
    ("save", true, 0),
    ("commit", true, 0),
    ("announced", true, 0),
    ("decay", true, 0),
    ("site_factors", true, 0),
    ("gather", false, 0),
    ("draft:1", true, 0),
    ("charge:1", true, 300),
    ("charge:2", true, 0),
    ("charge.association:2", true, 300),
    ("charge.association:3", true, 0),
    ("interrupted.save", true, 0),
    ("distribute", false, 0),
    ("distribute.half", false, 0),
    ("publish.association", true, 0),
    ("explain", true, 0),
    ("advise", true, 0),
    ("unknown", true, 0),
    ("finish", false, 0),
    ("write:1", true, 0),
];

#[test]
fn each_step_fails_once_and_the_next_cycle_works() -> HostResult<()> {
    let expected = {
        let mut rig = Rig::start(&conf())?;
        rig.host.init()?;
        rig.cycle_after(300)?;
        rig.cycle_after(300)?;
        rig.priorities()?
    };
    for (step, writes, lost) in STEPS {
        let conf = conf().debug_flags(if step == "explain" { DEBUG_PRIORITY } else { 0 });
        // Only a site factor plugin is asked.
        let site_factor = (step == "site_factors").then(CountingSiteFactor::build).transpose()?;
        let mut rig = Rig::start_with(&conf, |options| {
            if let Some(site_factor) = &site_factor {
                site_factor.add_to(options);
            }
        })?;
        rig.host.init()?;
        // The advice is given once after each reconfigure.
        rig.host.reconfigure(false)?;
        let before = rig.priorities()?;
        rig.arm(step)?;
        rig.cycle_after(300)?;
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        let after = rig.priorities()?;
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        if writes {
            let failed = usize::from(step == "draft:1" || step == "write:1");
            assert_eq!(changed, WAITING as usize - failed, "{step}: {before:?} {after:?}");
        } else {
            assert_eq!(changed, 0, "{step}: {before:?} {after:?}");
        }
        // Jobs can be submitted, ended and shown after the fault as before.
        rig.disarm()?;
        rig.host.jobs(&[waiting(20, 4)])?;
        assert!(rig.host.set_priority(20)? > 0, "{step}");
        rig.host.delete_job(20)?;

        rig.cycle_after(300)?;
        #[expect(clippy::cast_precision_loss, reason = "seconds")]
        let seconds = (600 - lost) as f64 * f64::from(CPUS);
        assert_eq!(rig.usage(3)?, seconds, "{step}: usage of the first job's user");
        if lost == 0 && !step.starts_with("charge") {
            let once = if site_factor.is_some() { 1000 } else { 0 };
            let expected: Vec<u32> = expected.iter().map(|priority| priority + once).collect();
            assert_eq!(rig.priorities()?, expected, "{step}");
            assert_eq!(rig.usage(1)?, 2.0 * seconds, "{step}: usage of the root");
        }
        assert!(rig.usage(1)? <= 1200.0 * f64::from(CPUS), "{step}: more than was used");
        assert_eq!(rig.host.saved_times()?, (NOW + 600, NOW), "{step}");
        assert_eq!(rig.reports().len(), 1, "{step}");
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn a_fault_that_stays_costs_nothing_but_its_step() -> HostResult<()> {
    let mut rig = Rig::start(&conf())?;
    rig.host.init()?;
    for step in ["gather", "distribute", "draft", "write", "finish"] {
        let before = rig.reports().len();
        rig.arm(step)?;
        for _ in 0..6 {
            rig.cycle_after(300)?;
        }
        // Where each of the jobs fails in each cycle, the first time and the tenth are reported.
        let per_job = matches!(step, "draft" | "write");
        assert_eq!(rig.reports().len() - before, 1 + usize::from(per_job), "{step}: {:?}", rig.reports());
    }
    rig.disarm()?;
    rig.cycle_after(300)?;
    assert_eq!(rig.usage(3)?, 31.0 * 300.0 * f64::from(CPUS));
    rig.host.quit().map(drop)
}

/// Jobs keep their priorities, and what they have of pools, until the next cycle. Each of the steps of a cycle with pools.
#[test]
fn with_ticket_pools_a_step_that_fails_costs_one_cycle() -> HostResult<()> {
    let diluted = || conf().parameters("Dilution=user");
    let expected = {
        let mut rig = Rig::start(&diluted())?;
        rig.host.init()?;
        rig.cycle_after(300)?;
        rig.cycle_after(300)?;
        rig.priorities()?
    };
    for step in ["gather", "draft:1", "distribute", "distribute.half", "hand_out", "finish", "write:1"] {
        let mut rig = Rig::start(&diluted())?;
        rig.host.init()?;
        let before = rig.priorities()?;
        rig.arm(step)?;
        rig.cycle_after(300)?;
        if !step.ends_with(":1") {
            assert_eq!(rig.priorities()?, before, "{step}");
        }
        rig.disarm()?;
        rig.host.jobs(&[waiting(20, 4)])?;
        assert!(rig.host.set_priority(20)? > 0, "{step}");
        rig.host.delete_job(20)?;
        rig.cycle_after(300)?;
        assert_eq!(rig.priorities()?, expected, "{step}");
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        rig.host.quit()?;
    }
    Ok(())
}

/// The same with points: no job is without its points for a moment.
#[test]
fn with_points_a_step_that_fails_costs_one_cycle() -> HostResult<()> {
    const SETTINGS: &str = "Component=SERV QueueTime=100\nComponent=FS FSUser=10\nComponent=CRED User=1\n\
        Target=User Name=* Percent=50\nCredential=User Name=alice Priority=5000\n";
    let start = || -> HostResult<Rig> {
        let settings = vec![("multifactor2.conf".to_owned(), SETTINGS.to_owned())];
        let mut rig = Rig::start_with(&conf(), |options| options.files = settings)?;
        rig.host.init()?;
        Ok(rig)
    };
    let (first, expected) = {
        let mut rig = start()?;
        let first = rig.priorities()?;
        rig.cycle_after(300)?;
        rig.cycle_after(300)?;
        (first, rig.priorities()?)
    };
    for step in ["gather", "draft:1", "distribute", "distribute.half", "value", "finish", "write:1"] {
        let mut rig = start()?;
        assert_eq!(rig.priorities()?, first, "{step}");
        rig.arm(step)?;
        rig.cycle_after(300)?;
        if !step.ends_with(":1") {
            assert_eq!(rig.priorities()?, first, "{step}");
        }
        rig.disarm()?;
        // bob's points are not alice's; an hour and five minutes have passed.
        rig.host.jobs(&[waiting(20, 4), waiting(21, 3)])?;
        let [bob, alice] = [rig.host.set_priority(20)?, rig.host.set_priority(21)?];
        assert!(bob > 6500 && alice > 11_500, "{step}: {bob}, {alice}");
        rig.host.delete_job(20)?;
        rig.host.delete_job(21)?;
        rig.cycle_after(300)?;
        assert_eq!(rig.priorities()?, expected, "{step}");
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn priorities_that_are_given_up_are_counted_as_such() -> HostResult<()> {
    let mut rig = Rig::start(&conf().debug_flags(DEBUG_PRIORITY))?;
    rig.host.init()?;
    rig.arm("write")?;
    rig.cycle_after(300)?;
    let counts = format!(
        "{WAITING} priorities computed: 0 written, 0 unchanged, {WAITING} given up after an internal error"
    );
    assert!(rig.host.log().contains(&counts), "{}", rig.host.log());
    rig.host.quit().map(drop)
}

#[test]
fn a_charge_that_fails_at_an_association_is_lost_there_and_nowhere_else() -> HostResult<()> {
    // From the users up: their charges are posted in the reverse of the order in which the jobs came.
    for (nth, loser) in [(1, 4), (2, 3), (3, 2), (4, 1)] {
        let mut rig = Rig::start(&conf())?;
        rig.host.init()?;
        rig.cycle_after(300)?;
        let once = [1, 2, 3, 4].map(|id| rig.usage(id));
        rig.arm(&format!("charge.association:{nth}"))?;
        rig.cycle_after(300)?;
        assert_eq!(rig.reports().len(), 1, "{nth}: {:?}", rig.reports());
        for (id, once) in (1..).zip(once) {
            let times = if id == loser { 1.0 } else { 2.0 };
            assert_eq!(rig.usage(id)?, times * once?, "{nth}: association {id}");
        }
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn decay_that_fails_half_way_is_not_done_twice() -> HostResult<()> {
    const HALF_LIFE: u32 = 3600;
    let decay = |seconds: f64| (1.0 - 0.693 / f64::from(HALF_LIFE)).powf(seconds);
    for step in ["decay", "decay.association:1", "decay.association:3", "gather", "distribute"] {
        let mut rig = Rig::start(&conf().decay_half_life(HALF_LIFE))?;
        rig.host.delete_job(11)?;
        rig.host.delete_job(12)?;
        rig.host.usage(&[AssociationUsage::new(3_u32).raw(1e9), AssociationUsage::new(4_u32).raw(1e9)])?;
        rig.host.init()?;
        rig.arm(step)?;
        rig.cycle_after(600)?;
        rig.disarm()?;
        rig.cycle_after(600)?;
        for (id, usage) in [(1, 2e9), (2, 2e9), (3, 1e9), (4, 1e9)] {
            let left = rig.usage(id)? / usage;
            assert!(
                (decay(1200.0) * 0.999_999..=decay(600.0) * 1.000_001).contains(&left),
                "{step}: association {id} has {left} of its usage left"
            );
            if !step.starts_with("decay") {
                assert!((left - decay(1200.0)).abs() < 1e-6, "{step}: association {id} has {left}");
            }
        }
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn a_reset_that_fails_is_done_by_the_next_cycle_and_once() -> HostResult<()> {
    for step in ["reset", "reset.association:2", "save", "gather", "distribute"] {
        let mut rig = Rig::start(&conf().reset_period(DAILY))?;
        rig.host.delete_job(11)?;
        rig.host.delete_job(12)?;
        rig.host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
        rig.host.init()?;
        let midnight = NOW + 43_200;
        rig.host.set_clock(midnight + 10)?;
        rig.arm(step)?;
        rig.host.cycle()?;
        rig.disarm()?;
        rig.cycle_after(10)?;
        assert_eq!((rig.usage(1)?, rig.usage(3)?), (0.0, 0.0), "{step}");
        assert_eq!(rig.host.saved_times()?, (midnight + 20, midnight), "{step}");
        // What is used from now on stays, also after a restart.
        rig.host.usage(&[AssociationUsage::new(3_u32).raw(500.0)])?;
        rig.cycle_after(10)?;
        rig.host.save()?;
        rig.host.fini()?;
        rig.host.init()?;
        rig.cycle_after(10)?;
        assert_eq!(rig.usage(3)?, 500.0, "{step}");
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn a_cycle_that_failed_before_charging_is_made_up_for_after_a_restart() -> HostResult<()> {
    for step in ["gather", "distribute"] {
        let mut rig = Rig::start(&conf())?;
        rig.host.init()?;
        rig.arm(step)?;
        rig.cycle_after(300)?;
        rig.disarm()?;
        // slurmctld keeps the usage over a clean restart; the plugin learns from its file what is in it.
        rig.host.save()?;
        rig.host.fini()?;
        rig.host.advance(300)?;
        rig.host.init()?;
        assert_eq!(rig.usage(3)?, 600.0 * f64::from(CPUS), "{step}");
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn settings_survive_a_fault_between_them() -> HostResult<()> {
    let mut rig = Rig::start(&conf())?;
    rig.host.init()?;
    rig.arm("reconfig")?;
    rig.host.configure(&Conf::new().weight_age(1_u32))?;
    rig.host.reconfigure(false)?;
    rig.disarm()?;
    rig.cycle_after(300)?;
    let old = rig.priorities()?;
    assert!(old.iter().all(|priority| *priority > 4000), "{old:?}");
    rig.host.reconfigure(false)?;
    rig.cycle_after(300)?;
    assert_ne!(rig.priorities()?, old);
    rig.host.quit().map(drop)
}

/// The thread corrects the run seconds of running jobs before its first cycle.
#[test]
fn a_thread_that_fails_before_its_first_cycle_runs_cycles() -> HostResult<()> {
    let mut rig = Rig::start(&conf())?;
    rig.arm("restart")?;
    rig.host.init()?;
    assert_eq!(rig.reports().len(), 1, "{:?}", rig.reports());
    rig.cycle_after(300)?;
    assert_eq!(rig.usage(3)?, 300.0 * f64::from(CPUS));
    rig.host.quit().map(drop)
}
