//! What works but hardly as meant is said once after a start, and where it is as meant it is not said.

use slurm_inproc::{Association, Conf, Host, HostResult};

use crate::charges::LIMITS;
use crate::setup::{fill, options, FAIR_TREE, USE_PARENT};

/// How often a text is in the log of a start and three cycles.
fn said(settings: &str, text: &str, change: impl FnOnce(&mut Host) -> HostResult<()>) -> HostResult<usize> {
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), format!("{settings}\n"))];
    let mut host = Host::start(&options)?;
    fill(&mut host)?;
    host.configure(&Conf::new().flags(FAIR_TREE).cluster_cpus(128_u32).enforce(LIMITS))?;
    host.tres_totals(&[(1, 128), (2, 1000), (4, 4)])?;
    change(&mut host)?;
    host.init()?;
    for _ in 0..3 {
        host.advance(300)?;
        host.cycle()?;
    }
    Ok(host.quit()?.matches(text).count())
}

#[test]
fn a_tres_that_the_cluster_lacks_is_named_once() -> HostResult<()> {
    let grant = "Grant=Account Name=physics Amount=3 From=2033-05-18 Until=2033-05-20 Pace=1days Unit=";
    let target = "Target=User Name=alice Percent=50\nTargetMetric=";
    for (setting, of, is_there, is_not) in
        [(grant, "Unit=", "cpu-hours", "gres/zoo-hours"), (target, "TargetMetric=", "cpu", "gres/zoo")]
    {
        let lacks = format!("{of}{is_not}: the cluster has no such TRES");
        assert_eq!(said(&format!("{setting}{is_not}"), &lacks, |_| Ok(()))?, 1, "{lacks}");
        assert_eq!(
            said(&format!("{setting}{is_there}"), "the cluster has no such TRES", |_| Ok(()))?,
            0,
            "{of}"
        );
    }
    Ok(())
}

#[test]
fn users_who_draw_on_all_tickets_are_said_to() -> HostResult<()> {
    const TEXT: &str = "users with Fairshare=parent and no account with shares above them draw on the tickets of the whole cluster";
    let dave = |shares: u32| {
        let dave = Association::new(9_u32).parent(1_u32).account("root").user("dave").uid(1009_u32);
        move |host: &mut Host| host.associations(&[dave.shares(shares)]).map(drop)
    };
    assert_eq!(said("", TEXT, dave(USE_PARENT))?, 1);
    assert_eq!(said("", TEXT, dave(1))?, 0);
    Ok(())
}

/// Where nobody can be charged.
#[test]
fn lines_that_do_nothing_without_associations_are_said_to() -> HostResult<()> {
    for (settings, times) in [
        ("", 0),
        ("Dilution=user", 1),
        ("Book=cards Partitions=fast", 1),
        ("Grant=Account Name=physics Amount=3 From=2033-05-18 Until=2033-05-20 Pace=1days", 1),
    ] {
        let mut options = options()?;
        options.slurmdbd = false;
        options.files = vec![("multifactor2.conf".to_owned(), format!("{settings}\n"))];
        let mut host = Host::start(&options)?;
        fill(&mut host)?;
        host.configure(&Conf::new().enforce(LIMITS))?;
        host.init_without_thread()?;
        let log = host.quit()?;
        assert_eq!(log.matches("do nothing without associations").count(), times, "{settings}: {log}");
    }
    Ok(())
}
