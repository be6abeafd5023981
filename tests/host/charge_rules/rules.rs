//! Which jobs a rule is for, what it multiplies, and since when.

use slurm_inproc::{HostResult, Job};

use super::{begin, of, of_all_kinds, of_qos, ran, ALICE, CAROL, NORMAL, WCKEYS};
use crate::charges::{ended, running, LIMITS};
use crate::settings::write_file;
use crate::setup::NOW;

/// One line, a job that it is for and one that it is not for.
fn every_kind() -> Vec<(&'static str, Job, Job)> {
    let job = || of_all_kinds(1);
    let carol = |job: Job| job.association(CAROL);
    vec![
        ("Charge=Partition Name=batch", job(), job().partitions(["long".to_owned()])),
        ("Charge=QOS Name=NORMAL", job(), job().qos(3_u32).partitions(["long".to_owned()])),
        ("Charge=Reservation Name=maintenance", job(), job().reservations("").reservation("")),
        (
            "Charge=Reservation Name=b",
            job().reservations("b").reservation("b"),
            job().reservations("a,b").reservation("a"),
        ),
        ("Charge=WCKey Name=secret", job(), job().wckey("secrets")),
        ("Charge=Account Name=Physics", job(), carol(job())),
        ("Charge=Parent Name=physics", job(), carol(job())),
    ]
}

#[test]
fn a_line_of_each_kind_and_scope_charges_its_jobs_by_its_factor_and_no_others() -> HostResult<()> {
    for (line, its, other) in every_kind() {
        for (factor, scope, limits) in
            [(0.5, "", 1.0), (2.0, " Scope=limits", 2.0), (0.0, " Scope=priority", 1.0)]
        {
            let line = format!("{line} Factor={factor}{scope}\n");
            for (job, raw, limits) in [(&its, factor, limits), (&other, 1.0, 1.0)] {
                let mut host = begin(&line, LIMITS | WCKEYS)?;
                host.jobs(std::slice::from_ref(job))?;
                host.init()?;
                host.advance(300)?;
                host.cycle()?;
                let owner = if of(&mut host, CAROL)?.wall > 0.0 { CAROL } else { ALICE };
                let account = if owner == CAROL { 3 } else { 2 };
                for id in [owner, account, 1] {
                    assert_eq!(
                        of(&mut host, id)?,
                        ran(300.0, raw, limits),
                        "{line} association {id} of {job:?}"
                    );
                }
                let qos = if of_qos(&mut host, NORMAL)?.wall > 0.0 { NORMAL } else { 3 };
                assert_eq!(of_qos(&mut host, qos)?, ran(300.0, limits, limits), "{line} {job:?}");
                let log = host.quit()?;
                assert!(!log.contains("priority/multifactor2: MULTIFACTOR2_"), "{log}");
            }
        }
    }
    Ok(())
}

#[test]
fn lines_that_fit_multiply_also_several_of_one_kind() -> HostResult<()> {
    let mut host = begin(
        "Charge=Partition Name=batch Factor=0.5\nCharge=Partition Name=batch,fast Factor=8 Scope=limits\n\
         Charge=Account Name=physics Factor=0.25\nCharge=Parent Name=physics Factor=3 Scope=limits\n\
         Charge=Parent Name=root Factor=100\nCharge=Parent Name=chemistry Factor=100\n",
        LIMITS,
    )?;
    host.jobs(&[running(1)])?;
    host.init()?;
    host.advance(100)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?, ran(100.0, 3.0, 24.0));
    assert_eq!(of_qos(&mut host, NORMAL)?, ran(100.0, 24.0, 24.0));
    host.quit().map(drop)
}

#[test]
fn a_usage_factor_and_a_rule_do_not_touch_each_other() -> HostResult<()> {
    // Half price by the QOS, and one whose factor is none.
    for (factor, price) in [(None, 0.5), (Some(-1.0), 1.0)] {
        let mut host = begin(
            "Charge=Partition Name=batch Factor=0.25\nCharge=QOS Name=half Factor=2 Scope=limits\n",
            LIMITS,
        )?;
        if let Some(factor) = factor {
            host.qos(&slurm_inproc::Qos::new(2_u32).usage_factor(factor))?;
        }
        host.jobs(&[running(1).qos(2_u32)])?;
        host.init()?;
        host.advance(100)?;
        host.cycle()?;
        assert_eq!(of(&mut host, ALICE)?, ran(100.0 * price, 0.5, 2.0));
        host.quit()?;
    }
    Ok(())
}

#[test]
fn a_change_holds_for_the_seconds_after_it_at_a_reconfigure_and_at_a_restart() -> HostResult<()> {
    for restarts in [false, true] {
        let mut host = begin("Charge=Partition Name=batch Factor=2\n", LIMITS)?;
        host.jobs(&[running(1), running(2)])?;
        host.init()?;
        host.advance(100)?;
        write_file(&host, "Charge=Partition Name=batch Factor=10 Scope=limits\n")?;
        if restarts {
            host.save()?;
            host.fini()?;
            host.init()?;
        } else {
            host.reconfigure(true)?;
        }
        host.advance(200)?;
        // One is charged at its end, one by the cycle.
        host.jobs(&[ended(2, NOW + 300)])?;
        host.job_end(2)?;
        host.cycle()?;
        let found = of(&mut host, ALICE)?;
        assert_eq!(found.raw, 2.0 * 4.0 * (100.0 * 2.0 + 200.0 * 10.0), "restart: {restarts}");
        assert!((found.wall - 2.0 * (100.0 + 200.0 * 10.0)).abs() < 1e-9, "{found:?}");
        host.advance(10)?;
        host.cycle()?;
        assert_eq!(of(&mut host, ALICE)?.raw, found.raw + 4.0 * 10.0 * 10.0);
        host.quit()?;
    }
    Ok(())
}

#[test]
fn former_rules_do_not_come_back_when_the_clock_is_set_back() -> HostResult<()> {
    let mut host = begin("Charge=Partition Name=batch Factor=2\n", LIMITS)?;
    host.jobs(&[running(1).start_time(NOW - 86_400)])?;
    host.init()?;
    host.advance(1000)?;
    host.cycle()?;
    let before = of(&mut host, ALICE)?.raw;
    host.advance(100)?;
    write_file(&host, "Charge=Partition Name=batch Factor=10\n")?;
    host.reconfigure(true)?;
    host.advance(-900)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw, before, "a cycle with the clock set back charges nothing");
    host.advance(300)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw, before + 4.0 * 300.0 * 10.0);
    write_file(&host, "Charge=Partition Name=batch Factor=1\n")?;
    host.reconfigure(true)?;
    host.advance(300)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw, before + 4.0 * 300.0 * 11.0);
    host.quit().map(drop)
}

#[test]
fn names_that_nothing_has_are_warned_of() -> HostResult<()> {
    let mut host = begin(
        "Charge=Partition Name=batch,nowhere Factor=2\nCharge=QOS Name=normal,none Factor=2\n\
         Charge=Account Name=Physics,nobody Factor=2\nCharge=Parent Name=nobodies,ROOT Factor=2\nCharge=Reservation Name=r Factor=2\n",
        LIMITS,
    )?;
    host.init()?;
    let log = host.quit()?;
    let found: Vec<&str> = log
        .lines()
        .filter_map(|line| Some(line.split_once("Charge=")?.1.split_once(": this name does not exist")?.0))
        .collect();
    let mut expected =
        ["Partition Name=nowhere", "QOS Name=none", "Account Name=nobody", "Parent Name=nobodies"].to_vec();
    expected.retain(|line| !found.contains(line));
    assert!(expected.is_empty() && found.len() == 4, "{found:?}, missing {expected:?}\n{log}");
    Ok(())
}
