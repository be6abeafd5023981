//! The numbers of the seeds and of the specification, through a cycle and through a submission.

use slurm_inproc::{state, Conf, HostResult, Job};

use super::{assert_all, change, job, loaded, loaded_with, use_up, ANN, EVE, HIGH, JOHN, PAUL};
use crate::setup::{FAIR_TREE, NOW};

/// The seed's example of credentials; group 0 is root's everywhere.
#[test]
fn credentials() -> HostResult<()> {
    let settings = "Component=CRED User=1 Group=1\n\
        Credential=User Name=john Priority=2000\n\
        Credential=User Name=paul Priority=-1000\n\
        Credential=Group Name=root Priority=10000\n";
    let jobs = [
        job(1, JOHN),
        job(2, PAUL),
        job(3, ANN).group_id(0_u32),
        job(4, JOHN).group_id(0_u32),
        job(5, PAUL).group_id(0_u32),
        job(6, ANN),
    ];
    let mut host = loaded(settings, &jobs)?;
    let expected = [(1, 2000), (2, -1000), (3, 10_000), (4, 12_000), (5, 9000), (6, 0)];
    assert_all(&mut host, &expected, "CRED")?;
    host.quit().map(drop)
}

/// Account alone and with those above it, QOS, partition, and `*` for those without a line or with 0.
#[test]
fn credentials_of_every_kind() -> HostResult<()> {
    let settings = "Component=CRED User=1 Account=10 Parent=100 QOS=1000 Class=10000\n\
        Credential=User Name=john Priority=0\n\
        Credential=User Name=* Priority=7\n\
        Credential=Account Name=Physics Priority=2\n\
        Credential=Parent Name=physics Priority=3\n\
        Credential=Parent Name=optics Priority=2\n\
        Credential=Parent Name=* Priority=9\n\
        Credential=QOS Name=HIGH Priority=4\n\
        Credential=Partition Name=fast Priority=5\n";
    let jobs = [
        job(1, JOHN),
        job(2, EVE),
        job(3, ANN).qos(HIGH),
        job(4, EVE).partitions(["fast".to_owned()]),
        // Of nobody: no association, no QOS.
        job(5, JOHN).association(0_u32).qos(0_u32),
    ];
    let mut host = loaded(settings, &jobs)?;
    let expected = [(1, 327), (2, 507), (3, 4907), (4, 50_507), (5, 907)];
    assert_all(&mut host, &expected, "CRED of every kind")?;
    host.quit().map(drop)
}

const FAIR_SHARE: &str = "\
Component=FS Weight=100 FSUser=10 FSGroup=20 FSAccount=30 FSQOS=40 FSClass=0
Target=User Name=john Percent=50
Target=Account Name=physics Percent=25
Target=QOS Name=high Percent=10 Type=floor
";

/// The seed's example: user 45 of 50, account 35 of 25, QOS 25 of a floor of 10. A user's usage is that of all associations.
#[test]
fn fair_share() -> HostResult<()> {
    let mut host = loaded(FAIR_SHARE, &[job(1, JOHN).qos(HIGH), job(2, PAUL), job(3, ANN)])?;
    assert_all(&mut host, &[(1, 0), (2, 0), (3, 0)], "nothing was used")?;
    let usage = [(1, 100.0), (2, 40.0), (3, 35.0), (5, 60.0), (6, 10.0), (7, 50.0), (8, 5.0), (9, 5.0)];
    use_up(&mut host, &usage, &[(HIGH, 25.0)])?;
    host.cycle()?;
    // paul has the account alone: 100 * 30 * -10; what optics has used is not physics'.
    assert_all(&mut host, &[(1, -25_000), (2, -30_000), (3, 0)], "difference")?;
    change(&mut host, &FAIR_SHARE.replace("Percent=", "Mode=ratio Percent="))?;
    assert_all(&mut host, &[(1, -1100), (2, -1200), (3, 0)], "ratio")?;
    // The account's own weight is added to the component's.
    change(&mut host, &FAIR_SHARE.replace("Percent=25", "Percent=25 Weight=20"))?;
    assert_all(&mut host, &[(1, -30_000), (2, -36_000), (3, 0)], "more weight")?;
    host.quit().map(drop)
}

/// 1 + wait/limit after 1, 2, 4, 8, 16 hours for limits of one and of four hours; without a limit the partition's holds.
#[test]
fn expansion_factors() -> HostResult<()> {
    const HOURS: [i64; 5] = [1, 2, 4, 8, 16];
    let (short, long) = ([200, 300, 500, 900, 1700], [125, 150, 200, 300, 500]);
    let (mut jobs, mut expected) = (Vec::new(), Vec::new());
    for (first, limit, factors) in [(10, 60_u32, short), (20, 240, long)] {
        for ((id, hours), factor) in (first..).zip(HOURS).zip(factors) {
            jobs.push(job(id, JOHN).time_limit(limit).accrue_time(NOW - hours * 3600));
            expected.push((id, factor));
        }
    }
    let unset = 0xffff_fffe_u32;
    let waited = |id| job(id, JOHN).accrue_time(NOW - 36_000);
    // That of the partition is ten hours; none at all is a year.
    jobs.push(waited(30).time_limit(unset).partitions(["fast".to_owned()]));
    jobs.push(waited(31).time_limit(unset).accrue_time(NOW - 365 * 86_400));
    jobs.push(waited(32).time_limit(u32::MAX).accrue_time(NOW - 365 * 86_400));
    jobs.push(waited(33).accrue_time(0));
    expected.extend([(30, 200), (31, 200), (32, 200), (33, 100)]);
    let mut host = loaded("Component=SERV XFactor=100\n", &jobs)?;
    assert_all(&mut host, &expected, "XFACTOR")?;
    // Limit 1 minute, at least 5, waited 10: the manual's 3.
    host.jobs(&[job(40, JOHN).time_limit(1_u32).accrue_time(NOW - 600)])?;
    change(&mut host, "Component=SERV XFactor=1 XFMinLimit=00:05:00\n")?;
    assert_all(&mut host, &[(40, 3)], "XFMinLimit")?;
    host.quit().map(drop)
}

/// Time goes on: the next cycle has more, and a job that is set has it at once.
#[test]
fn the_wait_is_that_of_the_cycle_or_of_the_submission() -> HostResult<()> {
    let mut host = loaded("Component=SERV QueueTime=10\n", &[job(1, JOHN), job(2, JOHN)])?;
    assert_all(&mut host, &[(1, 10), (2, 10)], "a minute")?;
    host.advance(90)?;
    assert_eq!(host.set_priority(2)?, 25);
    assert_eq!([super::site(&mut host, 1)?, super::site(&mut host, 2)?], [10, 25]);
    host.cycle()?;
    assert_all(&mut host, &[(1, 25), (2, 25)], "a cycle")?;
    host.quit().map(drop)
}

/// 25 % of the processors and 50 % of the memory of 128; 2 processors and 768 MB of 100 nodes with 4 and 1 GB each.
#[test]
fn processor_equivalents() -> HostResult<()> {
    let asks = |id, cpus, memory| job(id, JOHN).tres_requested([(1, cpus), (2, memory), (4, 1), (1001, 4)]);
    let mut host = loaded("Component=RES PE=1\n", &[asks(1, 32, 500), asks(2, 2, 768)])?;
    assert_all(&mut host, &[(1, 64), (2, 98)], "the seed's; 0.768 * 128 = 98.3; no GRES is there")?;
    host.tres_totals(&[(1, 400), (2, 102_400)])?;
    host.cycle()?;
    assert_all(&mut host, &[(1, 32), (2, 3)], "the manual's")?;
    host.tres_totals(&[(1001, 16)])?;
    host.cycle()?;
    assert_all(&mut host, &[(1, 100), (2, 100)], "a quarter of the GRES")?;
    host.quit().map(drop)
}

#[test]
fn resources() -> HostResult<()> {
    let asks = job(1, JOHN).tres_requested([(1, 6), (2, 4000), (4, 3)]).tmp_disk(70_u32).time_limit(2_u32);
    let mut host = loaded("Component=RES Node=1\n", &[asks])?;
    for (part, expected) in [
        ("Node", 3),
        ("Proc", 6),
        ("Mem", 4000),
        ("Swap", 0),
        ("Disk", 210),
        ("PS", 720),
        ("WallTime", 120),
        ("Mem=1 MemCap=100 Node", 103),
        ("Cap=50 Mem", 50),
    ] {
        change(&mut host, &format!("Component=RES {part}=1\n"))?;
        assert_all(&mut host, &[(1, expected)], part)?;
    }
    host.quit().map(drop)
}

/// Target 60 minutes, waited 0, 30, 50, 59, 60 and more; weight one million.
#[test]
fn targets_of_service() -> HostResult<()> {
    let waited: [i64; 6] = [0, 30, 50, 59, 60, 1000];
    let jobs: Vec<Job> =
        (1..).zip(waited).map(|(id, minutes)| job(id, JOHN).accrue_time(NOW - 60 * minutes)).collect();
    let settings = |line: &str| {
        format!("PointsCap=2147483647\nComponent=TARGET TargetQueueTime=1000000\nService=QOS Name=normal {line}\n")
    };
    let mut host = loaded(&settings("TargetQueueTime=01:00:00 Curve=maui"), &jobs)?;
    let all = |values: [i64; 6]| (1..).zip(values).collect::<Vec<_>>();
    // A plateau of 1e8 from the target on.
    let maui = [278, 1111, 10_000, 1_000_000, super::MOST, super::MOST];
    assert_all(&mut host, &all(maui), "maui")?;
    change(&mut host, &settings("TargetQueueTime=01:00:00"))?;
    let bounded = [269, 1041, 8264, 250_000, 1_000_000, 1_000_000];
    assert_all(&mut host, &all(bounded), "bounded")?;
    change(&mut host, &settings("TargetQueueTime=01:00:00 Curve=maui").replace("=1000000", "=1"))?;
    assert_all(&mut host, &[(4, 1), (5, 100_000_000)], "the plateau")?;
    change(
        &mut host,
        &settings("TargetXFactor=3 Curve=maui").replace("TargetQueueTime=1000000", "TargetXFactor=36"),
    )?;
    // Limit one hour: 1, 1.5, 1 + 5/6, ..., 2.
    assert_all(&mut host, &[(1, 9), (2, 16), (5, 36)], "expansion factor")?;
    host.quit().map(drop)
}

#[test]
fn weights_of_service_are_added_also_without_the_component() -> HostResult<()> {
    let line = "Service=QOS Name=high QueueTimeWeight=5000 XFactorWeight=5000\n\
        Service=Partition Name=fast QueueTimeWeight=3\n";
    let waits = |id| job(id, JOHN).accrue_time(NOW - 120).time_limit(2_u32);
    let jobs = [
        waits(1).qos(HIGH),
        waits(2),
        waits(3).partitions(["fast".to_owned()]),
        waits(4).qos(HIGH).partitions(["fast".to_owned()]),
    ];
    let mut host = loaded(line, &jobs)?;
    // Two minutes, expansion factor 2; the QOS comes before the partition.
    assert_all(&mut host, &[(1, 20_000), (2, 0), (3, 6), (4, 20_000)], "without SERV")?;
    change(&mut host, &format!("{line}Component=SERV QueueTime=1 XFactor=1\n"))?;
    assert_all(&mut host, &[(1, 20_004), (2, 4), (3, 10), (4, 20_004)], "with SERV")?;
    host.quit().map(drop)
}

/// Only under `CALCULATE_RUNNING`, and nothing for jobs that wait.
#[test]
fn usage_of_running_jobs() -> HostResult<()> {
    let flags = FAIR_TREE | slurm_inproc::constants::PRIORITY_FLAGS_CALCULATE_RUNNING;
    let runs = job(1, JOHN).state(state::RUNNING).start_time(NOW - 600).end_time_expected(NOW + 3000);
    let jobs = [runs, job(2, JOHN)];
    let settings = |part: &str| format!("Component=USAGE {part}=1\n");
    let mut host = loaded_with(&settings("Consumed"), &jobs, &Conf::new().flags(flags), |_| ())?;
    // Two processors, ten minutes of an hour.
    for (part, expected) in [("Consumed", 1200), ("Remaining", 6000), ("Percent", 17), ("ExecutionTime", 600)]
    {
        change(&mut host, &settings(part))?;
        assert_all(&mut host, &[(1, expected), (2, 0)], part)?;
    }
    // Its wait was over when it started.
    host.jobs(&[Job::new(1_u32).accrue_time(NOW - 1200)])?;
    change(&mut host, "Component=SERV QueueTime=1\n")?;
    assert_all(&mut host, &[(1, 10), (2, 1)], "its wait")?;
    host.configure(&Conf::new().flags(FAIR_TREE))?;
    change(&mut host, &settings("Consumed"))?;
    assert_eq!(host.dump_job(1)?.priority, 10, "a running job keeps its priority");
    host.quit().map(drop)
}
