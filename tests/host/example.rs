//! The documented example, from raw shares and usage to what Slurm's records and jobs hold.

use slurm_inproc::HostResult;

use crate::model::Association;
use crate::setup::ours;
use crate::tree::{account, assert_near, id, job_factor, root, user, Tree};

/// Names of the example's associations, in the order of [`tree`].
pub const NAMES: [&str; 13] =
    ["root", "A", "B", "user1", "C", "user2", "user3", "D", "E", "user4", "F", "user5", "rest"];

/// Number of an association of the example.
pub fn number(name: &str) -> usize {
    NAMES.iter().position(|known| *known == name).expect("a name of the example")
}

/// The example's tree; the usage that nobody's shares stand for is under the account `rest`.
pub fn tree() -> Tree {
    let nodes: [Association; 13] = [
        root(100_000.0),
        account(0, 40, 45_000.0),
        account(1, 30, 20_000.0),
        user(2, 1, 20_000.0, false),
        account(1, 10, 25_000.0),
        user(4, 1, 25_000.0, true),
        user(4, 1, 0.0, false),
        account(0, 60, 25_000.0),
        account(7, 25, 25_000.0),
        user(8, 1, 25_000.0, false),
        account(7, 35, 0.0),
        user(10, 1, 0.0, true),
        account(0, 0, 30_000.0),
    ];
    Tree(nodes.to_vec())
}

#[test]
fn all_eleven_nodes_and_both_jobs_have_the_documented_numbers() -> HostResult<()> {
    let mut host = ours()?;
    tree().load(&mut host)?;
    host.init()?;
    for (name, s, u, u_eff, f) in [
        ("A", 0.4, 0.45, 0.45, 0.4 / 0.45),
        ("B", 0.3, 0.2, 0.2, 1.5),
        ("user1", 0.3, 0.2, 0.2, 1.5),
        ("C", 0.1, 0.25, 0.25, 0.4),
        ("user2", 0.05, 0.25, 0.25, 0.2),
        ("user3", 0.05, 0.0, 0.0005, 100.0),
        ("D", 0.6, 0.25, 0.25, 2.4),
        ("E", 0.25, 0.25, 0.25, 1.0),
        ("user4", 0.25, 0.25, 0.25, 1.0),
        ("F", 0.35, 0.0, 0.0035, 100.0),
        ("user5", 0.35, 0.0, 0.0035, 100.0),
    ] {
        let record = host.dump_association(id(number(name)))?;
        assert_near(record.shares_norm, s, &format!("S of {name}"));
        assert_near(record.usage_norm.to_f64(), u, &format!("U of {name}"));
        assert_near(record.usage_efctv.to_f64(), u_eff, &format!("U_eff of {name}"));
        assert_near(record.level_fs.to_f64(), f, &format!("F of {name}"));
    }
    // user1 and user4 have no jobs: the value is what a job would get if it were submitted now.
    for (name, factor) in [
        ("user2", 20.0 / 81.0),
        ("user5", 1.0),
        ("user1", 20.0 / 81.0 * 0.45 / 0.49),
        ("user3", 20.0 / 81.0 * 5.0 / 5.01),
        ("user4", 0.25 / 35.25),
    ] {
        assert_near(
            host.dump_association(id(number(name)))?.fs_factor,
            factor,
            &format!("fs_factor of {name}"),
        );
    }
    assert_near(job_factor(&mut host, id(number("user2")))?, 20.0 / 81.0, "the job of user2");
    let best = host.dump_job(id(number("user5")))?;
    assert_eq!(best.priority, 1_000_000, "the best user's factor is 1 to the last bit");
    tree().assert_written(&mut host)?;
    host.quit().map(drop)
}
