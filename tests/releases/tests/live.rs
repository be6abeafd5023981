//! In every release: the plugin loads, says which layout it uses, and Slurm's own tools show the documented
//! numbers; a job runs and is charged.

use slurm_releases::{cluster, Suite, BOOKWORM, BULLSEYE, FORKY, TRIXIE};
use slurm_testcluster::{Account, Accounts, Job, Result};

fn example(suite: Suite) -> Result<()> {
    let Some(release) = suite.release()? else { return Ok(()) };
    let tree = Accounts::new()
        .account(
            Account::new("a", 40)
                .account(Account::new("b", 30).user("user1", 1))
                .account(Account::new("c", 10).user("user2", 1).user("user3", 1)),
        )
        .account(
            Account::new("d", 60)
                .account(Account::new("e", 25).user("user4", 1))
                .account(Account::new("f", 35).user("user5", 1)),
        )
        .account(Account::new("rest", 0).user("others", 1));
    let cluster = cluster(release)?
        .accounts(&tree)
        .usage(&[("b", "user1", 2e5), ("c", "user2", 2.5e5), ("e", "user4", 2.5e5), ("rest", "others", 3e5)])
        .start()?;
    cluster.submit(&Job::new("user2").account("c"))?;
    cluster.submit(&Job::new("user5").account("f"))?;
    cluster.wait_cycle().unwrap();
    println!("{}", cluster.log());
    println!("{}", cluster.sshare(&["-alP"])?);
    println!("{}", cluster.sprio(&["-l"])?);
    Ok(())
}

#[test]
fn bullseye() -> Result<()> { example(BULLSEYE) }
#[test]
fn bookworm() -> Result<()> { example(BOOKWORM) }
#[test]
fn trixie() -> Result<()> { example(TRIXIE) }
#[test]
fn forky() -> Result<()> { example(FORKY) }
