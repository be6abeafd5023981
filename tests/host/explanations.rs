//! `DebugFlags=Priority`: why a job has its priority and an association its tickets, as an administrator reads it in the log.

use slurm_inproc::{Conf, Host, HostResult, Nice};

use crate::charges::{prepare, running, LIMITS};
use crate::example;
use crate::setup::{fill, options, ours, waiting, FAIR_TREE};

const DEBUG_PRIORITY: u64 = slurm_inproc::constants::DEBUG_FLAG_PRIO;

/// Lines of the log that the flag is for, without time and prefix.
fn explanations(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.split_once("PRIO: ")).map(|(_, text)| text).collect()
}

fn assert_says(log: &str, line: &str) {
    assert!(explanations(log).contains(&line), "'{line}' is not in\n{log}");
}

/// A priority from everything there is, in one partition and in two.
fn explain_jobs(debug_flags: u64) -> HostResult<(Vec<u32>, String)> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(
        &Conf::new()
            .flags(FAIR_TREE)
            .weight_age(1000_u32)
            .weight_association(2000_u32)
            .weight_fairshare(3000_u32)
            .weight_job_size(4000_u32)
            .weight_partition(5000_u32)
            .weight_qos(6000_u32)
            .weight_tres("cpu=700,mem=800")
            .debug_flags(debug_flags),
    )?;
    let job = waiting(1).min_cpus(50_u32).min_nodes(5_u32).tres_requested([(1, 50), (2, 60_000), (4, 5)]);
    let several = job.clone().with_id(2_u32).partitions(["fast".to_owned(), "batch".to_owned()]);
    host.jobs(&[job.nice(Nice(11)).site_factor(Nice(22)), several])?;
    host.init()?;
    let priorities = host.dump_jobs()?.iter().map(|job| job.priority).collect();
    Ok((priorities, host.quit()?))
}

#[test]
fn a_job_is_explained_with_every_factor_weight_product_and_the_sum() -> HostResult<()> {
    let (priorities, log) = explain_jobs(DEBUG_PRIORITY)?;
    // Six hours of a day; the highest association; 50 of 200 CPUs and 5 of 20 nodes; 50 of 200 and 10 of 40 as priorities; 50 of
    // the partition's 150 CPUs, a tenth of its memory.
    assert_says(
        &log,
        "job 1: age 0.250000 * 1000 = 250.00; association 1.000000 * 2000 = 2000.00; \
         fair-share 1.000000 * 3000 = 3000.00; job size 0.250000 * 4000 = 1000.00; \
         partition 0.250000 * 5000 = 1250.00; QOS 0.250000 * 6000 = 1500.00; \
         TRES 313.33 (cpu 0.333333 * 700 = 233.33, mem 0.100000 * 800 = 80.00); site 22; nice 11; \
         sum 9324.33, priority 9324",
    );
    // In each of its partitions another factor of the partition and other parts of TRES.
    let several = explanations(&log).into_iter().find(|line| line.starts_with("job 2: ")).expect("a line");
    assert!(
        several.ends_with("sum 13570.00, priority 13570; by partition and QOS [13570, 9313]"),
        "{several}"
    );
    assert_eq!(priorities, [9324, 13_570]);
    Ok(())
}

/// Who does not ask gets no line, and the same priorities.
#[test]
fn without_the_flag_nothing_is_explained() -> HostResult<()> {
    let (priorities, log) = explain_jobs(0)?;
    assert_eq!(explanations(&log), Vec::<&str>::new());
    assert_eq!(priorities, [9324, 13_570]);
    Ok(())
}

#[test]
fn an_association_is_explained_with_shares_usage_factor_tickets_and_its_part_of_the_level() -> HostResult<()>
{
    let mut host = ours()?;
    example::tree().load(&mut host)?;
    host.configure(&Conf::new().debug_flags(DEBUG_PRIORITY))?;
    host.init()?;
    let log = host.quit()?;
    // The documented example: 198.02 and 801.98 of 1000 tickets.
    for line in [
        "13 associations, 2 users with waiting jobs",
        "account a1: shares 40, S 0.400000, raw usage 45000.00, U 0.450000, effective 0.450000, F 0.888889, \
         tickets 198.019802 (0.1980 of its level)",
        "user u5 in account a4: shares 1, S 0.050000, raw usage 25000.00, U 0.250000, effective 0.250000, \
         F 0.200000, tickets 198.019802 (1.0000 of its level), fair-share 0.246914",
        "user u11 in account a10: shares 1, S 0.350000, raw usage 0.00, U 0.000000, effective 0.003500, \
         F 100.000000, tickets 801.980198 (1.0000 of its level), fair-share 1.000000",
        "user u9 in account a8: shares 1, S 0.250000, raw usage 25000.00, U 0.250000, effective 0.250000, \
         F 1.000000, not active, would have tickets 5.687803 (1.0000 of its level), fair-share 0.007092",
    ] {
        assert_says(&log, line);
    }
    Ok(())
}

/// alice's are the only jobs that wait, both in the default book.
#[test]
fn tickets_of_single_jobs_are_explained_and_associations_by_book() -> HostResult<()> {
    let mut options = options()?;
    let settings = "Dilution=user\nBook=cards Partitions=fast\n";
    options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
    let mut host = Host::start(&options)?;
    fill(&mut host)?;
    let conf = Conf::new().flags(FAIR_TREE).weight_fairshare(1000_u32);
    host.configure(&conf.debug_flags(DEBUG_PRIORITY))?;
    host.jobs(&[waiting(1), waiting(2)])?;
    host.init()?;
    let log = host.quit()?;
    for (id, tickets) in [(1, "10000.00"), (2, "5000.00")] {
        let job = format!("job {id}: ");
        let line = explanations(&log).into_iter().find(|line| line.starts_with(&job)).expect("a line");
        let of =
            format!("tickets {tickets} of 10000.00: override 0.00, functional 0.00, share tree {tickets};");
        assert!(line.contains(&of), "{line}");
    }
    let alice = |book: &str| {
        let begin = format!("{book}user alice in account physics: ");
        explanations(&log).into_iter().find(|line| line.starts_with(&begin)).expect("a line")
    };
    assert!(!alice("").contains("not active"), "{}", alice(""));
    assert!(alice("book cards: ").contains("not active"), "{}", alice("book cards: "));
    Ok(())
}

#[test]
fn decay_and_charges_are_explained() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host, LIMITS)?;
    host.configure(&Conf::new().decay_half_life(3600_u32).debug_flags(DEBUG_PRIORITY))?;
    host.jobs(&[running(1)])?;
    host.init()?;
    host.advance(300)?;
    host.cycle()?;
    let log = host.quit()?;
    // 1 - 0.693 / 3600 per second, that to the 300th power in all; four CPUs for 300 seconds.
    let factor = 1.0 - 0.693 / 3600.0_f64;
    let in_all = factor.powi(300);
    let decay = format!("decay over 300 seconds: factor {factor:.15} per second, ");
    let said = explanations(&log).into_iter().find_map(|line| line.strip_prefix(&*decay)).expect("the decay");
    let number: f64 = said.strip_suffix(" in all").and_then(|text| text.parse().ok()).expect("a number");
    assert!((number - in_all).abs() < 1e-12, "{said}");
    let usage = 1200.0 * in_all;
    assert_says(
        &log,
        &format!("job 1 ran 300 seconds: usage {usage:.4} after decay (1200.0000 before), 300 seconds of run limits released"),
    );
    Ok(())
}
