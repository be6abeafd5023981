//! The documented example, from raw shares and usage to what Slurm's records and jobs hold.

use multifactor2_fixtures::assert_near;
pub use multifactor2_fixtures::example::number;
use multifactor2_fixtures::example::{waiting, FACTORS, NUMBERS};
use multifactor2_fixtures::model;
use slurm_inproc::HostResult;

use crate::setup::ours;
use crate::tree::{id, job_factor, Tree};

/// The example's tree; the usage that nobody's shares stand for is under the account `rest`.
pub fn tree() -> Tree {
    Tree(model::of_the_example(1000.0))
}

#[test]
fn all_eleven_nodes_and_both_jobs_have_the_documented_numbers() -> HostResult<()> {
    let mut host = ours()?;
    tree().load(&mut host)?;
    host.init()?;
    for (name, s, u, u_eff, f) in NUMBERS {
        let record = host.dump_association(id(number(name)))?;
        assert_near(record.shares_norm, s, &format!("S of {name}"));
        assert_near(record.usage_norm.to_f64(), u, &format!("U of {name}"));
        assert_near(record.usage_efctv.to_f64(), u_eff, &format!("U_eff of {name}"));
        assert_near(record.level_fs.to_f64(), f, &format!("F of {name}"));
    }
    for (name, factor) in FACTORS {
        assert_near(
            host.dump_association(id(number(name)))?.fs_factor,
            factor,
            &format!("fs_factor of {name}"),
        );
    }
    for (user, factor) in waiting() {
        assert_near(job_factor(&mut host, id(number(user.name)))?, factor, user.name);
    }
    let best = host.dump_job(id(number("user5")))?;
    assert_eq!(best.priority, 1_000_000, "the best user's factor is 1 to the last bit");
    tree().assert_written(&mut host)?;
    host.quit().map(drop)
}
