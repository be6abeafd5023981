//! Lines by wckey where slurmctld does not look who names which key.

use slurm_inproc::{Conf, HostResult};

use super::{begin, of, of_all_kinds, ALICE, WCKEYS};
use crate::charges::LIMITS;
use crate::settings::write_file;
use crate::setup::waiting;

const LINES: &str = "Charge=WCKey Name=secret Factor=0\nOverride=WCKey Name=secret Tickets=100000\n";
const SAID: &str =
    "Charge=WCKey, Override=WCKey and Grant=WCKey do nothing, because without wckeys in AccountingStorageEnforce";

#[test]
fn a_key_that_anybody_may_name_is_free_for_nobody() -> HostResult<()> {
    for (enforce, raw) in [(LIMITS, 400.0), (LIMITS | WCKEYS, 0.0)] {
        let mut host = begin(LINES, enforce)?;
        host.jobs(&[of_all_kinds(1)])?;
        host.init()?;
        host.advance(100)?;
        host.cycle()?;
        assert_eq!(of(&mut host, ALICE)?.raw, raw, "{enforce}");
        // Once at the start, and once at each reconfigure.
        host.reconfigure(true)?;
        host.cycle()?;
        let log = host.quit()?;
        assert_eq!(log.matches(SAID).count(), if enforce == LIMITS { 2 } else { 0 }, "{log}");
    }
    Ok(())
}

#[test]
fn override_tickets_of_a_key_that_anybody_may_name_go_to_nobody() -> HostResult<()> {
    let mut found = Vec::new();
    for enforce in [LIMITS, LIMITS | WCKEYS] {
        let mut host = begin(LINES, enforce)?;
        host.configure(&Conf::new().weight_fairshare(100_000_u32))?;
        host.jobs(&[waiting(1), waiting(2).wckey("secret")])?;
        host.init()?;
        host.cycle()?;
        let jobs = host.dump_jobs()?;
        found.push([jobs[0].priority, jobs[1].priority]);
        host.quit()?;
    }
    assert_eq!(found[0][0], found[0][1], "nobody gains without enforcement");
    assert!(found[1][0] < found[1][1], "{found:?}");
    Ok(())
}

#[test]
fn a_line_that_comes_with_a_reconfigure_is_told_then() -> HostResult<()> {
    let mut host = begin("", LIMITS)?;
    host.init()?;
    write_file(&host, LINES)?;
    host.reconfigure(true)?;
    let log = host.quit()?;
    assert_eq!(log.matches(SAID).count(), 1, "{log}");
    Ok(())
}
