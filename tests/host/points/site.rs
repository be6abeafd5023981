//! Points next to a job's own site factor, and at the ends of all scales.

use slurm_inproc::{Conf, HostResult, Job, Nice, Options};

use super::{
    assert_all, assert_points, change, entries, job, loaded, loaded_with, priorities, said, site, JOHN, MOST,
    PAUL,
};

/// So many points for john.
fn of_john(points: i64) -> String {
    format!("PointsCap=2147483647\nComponent=CRED User=1\nCredential=User Name=john Priority={points}\n")
}

/// What a job's record holds as its own site factor: without points that alone is shown.
fn own(host: &mut slurm_inproc::Host, settings: &str, jobs: &[(u32, i64)]) -> HostResult<()> {
    change(host, "")?;
    for (job, own) in jobs {
        assert_eq!(site(host, *job)?, *own, "job {job}: the record after {settings}");
    }
    change(host, settings)
}

#[test]
fn the_own_site_factor_is_added_and_never_written() -> HostResult<()> {
    let jobs = [
        job(1, JOHN).site_factor(Nice(-300)),
        job(2, JOHN).site_factor(Nice(50)),
        job(3, PAUL).site_factor(Nice(7)),
    ];
    let settings = of_john(1000);
    let mut host = loaded(&settings, &jobs)?;
    for _ in 0..3 {
        assert_all(&mut host, &[(1, 700), (2, 1050), (3, 7)], "added once")?;
        host.cycle()?;
    }
    own(&mut host, &settings, &[(1, -300), (2, 50), (3, 7)])?;
    // Changed by scontrol: set at once, and by the next cycle.
    host.jobs(&[Job::new(1_u32).site_factor(Nice(-10))])?;
    assert_eq!(host.set_priority(1)?, 990);
    host.jobs(&[Job::new(2_u32).site_factor(Nice(-20))])?;
    host.cycle()?;
    assert_all(&mut host, &[(1, 990), (2, 980)], "another one")?;
    host.quit().map(drop)
}

#[test]
fn jobs_set_directly_and_held_ones_have_no_points() -> HostResult<()> {
    let jobs =
        [job(1, JOHN).direct_set_priority(true).priority(77_u32), job(2, JOHN).priority(0_u32), job(3, JOHN)];
    let mut host = loaded(&of_john(1000), &jobs)?;
    for again in ["at the cycle", "after another"] {
        assert_eq!(priorities(&mut host, [1, 2, 3])?, [77, 0, 1000], "{again}");
        // As stock does, sprio shows a job that was set directly without factors; a held one not at all.
        assert_eq!(entries(&mut host, 2)?, [], "{again}");
        let direct = host.factors(&slurm_inproc::FactorsFilter::new().uid(0_u32).jobs([1]))?;
        assert_eq!(direct.len(), 1, "{again}");
        assert!((direct[0].direct_priority - 77.0).abs() < 1e-9, "{again}");
        assert_eq!(direct[0].factors.site, 0, "{again}");
        assert_eq!(host.set_priority(1)?, 77, "{again}");
        host.cycle()?;
    }
    // Released and given back to the plugin.
    host.jobs(&[Job::new(1_u32).direct_set_priority(false), Job::new(2_u32).priority(1_u32)])?;
    assert_eq!(host.set_priority(2)?, 1000);
    host.cycle()?;
    assert_all(&mut host, &[(1, 1000), (2, 1000), (3, 1000)], "given back")?;
    host.quit().map(drop)
}

#[test]
fn points_keep_to_their_cap_and_site_factors_to_theirs() -> HostResult<()> {
    let jobs = [
        job(1, JOHN).site_factor(Nice(500)),
        job(2, JOHN).site_factor(Nice(MOST)),
        job(3, JOHN).site_factor(Nice(-MOST)),
        job(4, PAUL).site_factor(Nice(-MOST)),
    ];
    let cap = |cap: &str, weight: &str, points: i64| {
        format!("{cap}PointsWeight={weight}\nComponent=CRED User=1\nCredential=User Name=john Priority={points}\n")
    };
    let mut host = loaded(&cap("", "1", 900_000_000), &jobs)?;
    // The cap bounds the points alone, and is a million by itself.
    assert_all(&mut host, &[(1, 1_000_500), (2, MOST), (3, 1_000_000 - MOST), (4, -MOST)], "default")?;
    for (settings, expected) in [
        (cap("PointsCap=300\n", "1", 900_000_000), 800),
        (cap("PointsCap=300\n", "-1", 900_000_000), 200),
        (cap("PointsCap=300\n", "0.5", 599), 800),
        (cap("PointsCap=301\n", "0.5", 601), 801),
        (cap("PointsCap=301\n", "0.5", -601), 199),
        // Halves away from zero.
        (cap("", "0.5", 5), 503),
        (cap("", "0.5", -5), 497),
        (cap("PointsCap=0\n", "1", 900), 500),
        (cap("", "0", 900), 500),
        (cap("PointsCap=2147483647\n", "1000000", 900_000_000), MOST),
        (cap("PointsCap=2147483647\n", "-1000000", 900_000_000), 500 - MOST),
    ] {
        change(&mut host, &settings)?;
        assert_all(&mut host, &[(1, expected)], &settings)?;
    }
    assert_points(&mut host, 2, 0, "both ends")?;
    assert_points(&mut host, 3, -MOST, "the lowest")?;
    host.quit().map(drop)
}

/// At the top and at the bottom; the first is said once a cycle.
#[test]
fn the_priority_saturates() -> HostResult<()> {
    let jobs = [
        job(1, JOHN).nice(Nice(-MOST)),
        job(2, JOHN).nice(Nice(-MOST)),
        job(3, JOHN).nice(Nice(-MOST)).site_factor(Nice(100)),
        job(4, PAUL).nice(Nice(MOST)),
    ];
    let conf = Conf::new().weight_association(4_000_000_u32);
    let mut host = loaded_with(&of_john(900_000_000), &jobs, &conf, |_| ())?;
    // john's points, and 2^31 - 1 for nice, do fit.
    let fits = u32::try_from(MOST).expect("fits") + 900_000_000;
    assert_eq!(priorities(&mut host, [1, 2, 3, 4])?, [fits, fits, fits + 100, 1]);
    assert!(said(&host, "exceeds 32 bits").is_empty());
    let thrice = of_john(900_000_000)
        .replace("User=1\n", "User=3\n")
        .replace("PointsCap", "PointsWeight=10\nPointsCap");
    host.jobs(&[Job::new(1_u32).site_factor(Nice(1)), Job::new(2_u32).site_factor(Nice(2))])?;
    change(&mut host, &thrice)?;
    let largest = 2 * u32::try_from(MOST).expect("fits");
    assert_eq!(priorities(&mut host, [1, 2, 3, 4])?, [largest, largest, largest, 1]);
    assert!(said(&host, "exceeds 32 bits").is_empty(), "2^32 - 2 fits");
    host.configure(&Conf::new().weight_partition(4_000_000_000_u32))?;
    host.partition(&slurm_inproc::Partition::new("batch").factor(100_u16))?;
    change(&mut host, &thrice)?;
    assert_eq!(priorities(&mut host, [1, 2, 3])?, [u32::MAX; 3]);
    assert_eq!(said(&host, "exceeds 32 bits").len(), 1, "{:?}", said(&host, "exceeds"));
    host.quit().map(drop)
}

/// An empty file, and one with lines that ask for no points.
#[test]
fn without_lines_nothing_is_different() -> HostResult<()> {
    let jobs: Vec<Job> = (1..6)
        .map(|id| job(id, [JOHN, PAUL][id as usize % 2]).site_factor(Nice(i64::from(id) * 100 - 300)))
        .collect();
    let conf = Conf::new().weight_fairshare(100_000_u32).weight_age(1000_u32);
    let shown = |change: &dyn Fn(&mut Options)| -> HostResult<_> {
        let mut host = loaded_with("", &jobs, &conf, change)?;
        host.advance(600)?;
        host.cycle()?;
        let factors = host.factors(&slurm_inproc::FactorsFilter::new().uid(0_u32))?;
        let priorities: Vec<u32> = host.dump_jobs()?.iter().map(|job| job.priority).collect();
        let log = host.quit()?;
        assert!(crate::setup::our_errors(&log).is_empty(), "{log}");
        Ok((factors, priorities))
    };
    let without = shown(&|options| options.files.clear())?;
    for text in [
        "",
        "# nothing\n",
        "PointsWeight=5\nPointsCap=3\n",
        "Credential=User Name=john Priority=5\n",
        "TargetUsage=halflife\n",
    ] {
        let with = shown(&|options| options.files[0].1 = text.to_owned())?;
        assert_eq!(with, without, "{text}");
    }
    Ok(())
}

/// A cycle that runs out of places for offsets evaluates jobs when it writes them: with their points, too.
#[test]
fn jobs_that_are_evaluated_when_they_are_written_have_their_points() -> HostResult<()> {
    let many: Vec<Job> =
        (0..66_000_u32).map(|n| job(1000 + n, PAUL).nice(Nice(-i64::from(n) - 10))).collect();
    let mut host = loaded(&of_john(1000), &many)?;
    let last = [(100_001, 70_001), (100_002, 70_002)];
    host.jobs(&last.map(|(id, nice)| job(id, JOHN).nice(Nice(-nice)).site_factor(Nice(3))))?;
    for cycle in 1..=2 {
        host.advance(60)?;
        host.cycle()?;
        for (id, nice) in last {
            assert_eq!(site(&mut host, id)?, 1003, "job {id}, cycle {cycle}");
            assert_eq!(i64::from(host.dump_job(id)?.priority), 1003 + nice, "job {id}, cycle {cycle}");
        }
    }
    host.quit().map(drop)
}

/// Jobs at priority 1 because of their points are counted, once until there are none or a reconfigure.
#[test]
fn jobs_whose_order_is_lost_are_counted() -> HostResult<()> {
    const TEXT: &str = "have priority 1, because their negative points exceed the rest of their priority";
    let jobs: Vec<Job> = (1..=5).map(|id| job(id, if id <= 3 { JOHN } else { PAUL })).collect();
    let mut host = loaded(&of_john(-1000), &jobs)?;
    host.cycle()?;
    host.cycle()?;
    let lines = said(&host, TEXT);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(" 3 jobs have"), "{lines:?}");
    change(&mut host, &of_john(-1000))?;
    assert_eq!(said(&host, TEXT).len(), 2, "after a reconfigure");
    change(&mut host, &format!("{}Component=RES Node=2000\n", of_john(-1000)))?;
    assert_all(&mut host, &[(1, 1000), (4, 2000)], "an offset")?;
    assert_eq!(said(&host, TEXT).len(), 2, "an offset");
    // The first of these comes and goes; a job that its own site factor puts there is none of points.
    let points_of = |host: &mut slurm_inproc::Host, nodes: u64| {
        host.jobs(&[Job::new(1_u32).tres_requested([(1, 2), (4, nodes)])])?;
        host.cycle()
    };
    points_of(&mut host, 0)?;
    points_of(&mut host, 0)?;
    assert_eq!(said(&host, TEXT).len(), 3, "one");
    points_of(&mut host, 1)?;
    points_of(&mut host, 0)?;
    assert_eq!(said(&host, TEXT).len(), 4, "again after there were none");
    points_of(&mut host, 1)?;
    host.jobs(&[Job::new(4_u32).site_factor(Nice(-5000))])?;
    host.cycle()?;
    assert_eq!(said(&host, TEXT).len(), 4, "by its own site factor");
    host.quit().map(drop)
}
