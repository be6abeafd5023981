//! Whatever users, coordinators and operators write, no check rests on it: names of accounts, users, partitions and QOS, texts and amounts
//! of jobs. In every release the plugin charges, orders and answers as if they were any others.
//!
//! docs/safety.md has what each check that leads to the passive state depends on; [`ATTACKS`] has what could touch it.

use std::cell::RefCell;

use multifactor2_fixtures::project::read;
use multifactor2_fixtures::seed;
use slurm_fakehost::memory::{self, Arena};
use slurm_fakehost::{
    all, in_releases, one_of_each_layout, Association, Job, Partition, Qos, Record, Slurmctld,
};

use crate::setup::{end, usage};

type Attack = fn(&mut Hostile<'_>);

/// For each check of docs/safety.md what people can do that comes nearest to it.
const ATTACKS: [(&str, &[Attack]); 16] = [
    ("Configuration", &[]),
    ("PluginType", &[]),
    ("RootName", &[names_of_accounts]),
    ("NoBlock", &[empty_names, no_names]),
    ("Size", &[names_of_accounts, amounts]),
    ("Magic", &[amounts, names_of_partitions]),
    ("NotById", &[ids_of_jobs]),
    (
        "NoText",
        &[names_of_accounts, names_of_partitions, names_of_qos, texts_of_jobs, long_names, empty_names],
    ),
    ("NoList", &[names_of_partitions]),
    ("NoArray", &[amounts]),
    (
        "NoneRight",
        &[
            names_of_accounts,
            case_of_accounts,
            users_renamed,
            amounts,
            names_of_partitions,
            shares_of_parents,
        ],
    ),
    ("Ids", &[ids_twice, ids_far_apart]),
    ("NoParents", &[ids_far_apart]),
    ("StrangeParent", &[ids_twice, shares_of_parents]),
    ("Answer", &[amounts, shares_of_parents, no_shares, huge_shares, shares]),
    ("Told", &[texts_of_jobs, amounts, names_of_accounts, jobs_of_a_federation]),
];

/// Texts that are no usual names.
const TEXTS: [&[u8]; 12] = [
    b"t\tb",
    b"a\nb",
    b"\x01",
    b"\x7f\x1b[2J",
    b"\xff\xfe",
    b"'\"`$(x)",
    b" ",
    b"%s%n",
    b",",
    b"=",
    b"*",
    b"-1",
];

/// A slurmctld with three accounts of a user each, and a job of each that waits and one that runs, before the plugin is loaded.
struct Hostile<'s> {
    slurmctld: &'s mut Slurmctld,
    /// An account and its user each.
    associations: Vec<[Record; 2]>,
    qos: Vec<Record>,
    partitions: Vec<Record>,
    jobs: Vec<Record>,
    random: RefCell<u64>,
}

impl<'s> Hostile<'s> {
    fn new(slurmctld: &'s mut Slurmctld, seed: u64) -> Self {
        slurmctld.configure("priority_weight_part", 1000_u32).configure("priority_weight_fs", 1000_u32);
        slurmctld.configure("priority_decay_hl", 0_u32);
        let root = slurmctld.add_association(&Association::default());
        let qos = [(1, "normal"), (2, "high")]
            .map(|(id, name)| slurmctld.add_qos(&Qos { id, name, ..Qos::default() }))
            .to_vec();
        let partitions = ["batch", "fast"]
            .map(|name| slurmctld.add_partition(&Partition { name, ..Partition::default() }))
            .to_vec();
        let (mut associations, mut jobs) = (Vec::new(), Vec::new());
        for (at, (account, user)) in (0_u32..).zip([
            ("physics", "alice"),
            ("chemistry", "bob"),
            ("biology", "carol"),
            ("history", "dora"),
        ]) {
            let of_account = slurmctld.add_association(&Association {
                id: 10 + 2 * at,
                parent: Some(root),
                account,
                ..Association::default()
            });
            let association = slurmctld.add_association(&Association {
                id: 11 + 2 * at,
                parent: Some(of_account),
                account,
                user: Some(user),
                ..Association::default()
            });
            associations.push([of_account, association]);
            let waiting = Job {
                id: 101 + at,
                user_id: 1011 + 2 * at,
                account,
                association: Some(association),
                partitions: partitions.clone(),
                qos: vec![qos[0]],
                wckey: Some("*key"),
                admin_comment: Some("nothing"),
                ..Job::default()
            };
            let running = Job {
                id: 201 + at,
                state: slurm_fakehost::RUNNING,
                times: (1_999_999_000, 2_100_000_000, 2_100_000_000),
                limit: 1_700_000,
                allocated: Some(vec![4, 8000, 0, 2, 4]),
                ..waiting.clone()
            };
            jobs.extend([waiting, running].map(|job| slurmctld.add_job(&job)));
        }
        Self { slurmctld, associations, qos, partitions, jobs, random: RefCell::new(seed | 1) }
    }

    /// A number: the next of a xorshift generator.
    fn number(&self) -> u64 {
        let mut state = self.random.borrow_mut();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    /// One of the texts, or random bytes without a zero.
    fn text(&self) -> Vec<u8> {
        let number = self.number();
        let [kind, at, length, ..] = number.to_le_bytes();
        if kind % 4 == 0 {
            return TEXTS[usize::from(at) % TEXTS.len()].to_vec();
        }
        (0..length % 64).map(|_| self.number().to_le_bytes()[1].max(1)).collect()
    }

    fn write(record: Record, field: &str, text: &[u8]) {
        if record.has(field) {
            let arena = match record.kind {
                "assoc" => Arena::Associations,
                "qos" => Arena::Qos,
                "part" => Arena::Partitions,
                _ => Arena::Jobs,
            };
            record.set(field, memory::bytes(arena, "a text of somebody's", text));
        }
    }

    /// An account gets another name, and its users and jobs have it.
    fn name_account(&self, at: usize, name: &[u8], of_jobs: &[u8]) {
        for association in self.associations[at] {
            Self::write(association, "acct", name);
        }
        for job in &self.jobs[2 * at..2 * at + 2] {
            Self::write(*job, "account", of_jobs);
        }
    }

    /// All jobs that wait are ordered and answered for, and all that run are charged.
    fn goes_on(&mut self, what: &str) {
        let raw = |of: &[Record; 2]| usage(of[1]).get_ld("usage_raw");
        self.slurmctld.begin();
        let before: Vec<f64> = self.associations.iter().map(raw).collect();
        self.slurmctld.advance(300);
        self.slurmctld.cycle();
        let log = self.slurmctld.log();
        assert!(
            !log.contains("does not match the layout") && !log.contains("internal error"),
            "{what}: {log}"
        );
        for (of, before) in self.associations.iter().zip(before) {
            assert!((raw(of) - before - 1200.0).abs() < 0.5, "{what}: charged {} after {before}", raw(of));
        }
        for job in self.jobs.iter().step_by(2) {
            assert!(job.get::<u32>("priority") > 1, "{what}");
            assert!(self.slurmctld.ask_priority(7, *job) > 7, "{what}");
        }
        let shown = self.slurmctld.factors(None, 0, |_| ()).len();
        assert_eq!(shown, self.partitions.len() * self.jobs.len() / 2, "{what}: sprio is full");
    }
}

fn names_of_accounts(hostile: &mut Hostile<'_>) {
    for at in 0..hostile.associations.len() {
        let (name, user) = (hostile.text(), hostile.text());
        hostile.name_account(at, &name, &name);
        Hostile::write(hostile.associations[at][1], "user", &user);
        Hostile::write(hostile.associations[at][1], "partition", &hostile.text());
    }
}

/// `sbatch --account` and `scontrol update` as somebody types it.
fn case_of_accounts(hostile: &mut Hostile<'_>) {
    for at in 0..hostile.associations.len() {
        let name: Vec<u8> = hostile.text();
        hostile.name_account(at, &name.to_ascii_lowercase(), &name.to_ascii_uppercase());
    }
}

fn names_of_partitions(hostile: &mut Hostile<'_>) {
    for partition in hostile.partitions.clone() {
        Hostile::write(partition, "name", &hostile.text());
        Hostile::write(partition, "qos_char", &hostile.text());
    }
}

fn names_of_qos(hostile: &mut Hostile<'_>) {
    for qos in hostile.qos.clone() {
        Hostile::write(qos, "name", &hostile.text());
    }
}

fn texts_of_jobs(hostile: &mut Hostile<'_>) {
    for job in hostile.jobs.clone() {
        for field in ["wckey", "admin_comment", "mcs_label", "resv_name"] {
            Hostile::write(job, field, &hostile.text());
        }
    }
}

fn empty_names(hostile: &mut Hostile<'_>) {
    for at in 0..hostile.associations.len() {
        hostile.name_account(at, b"", b"");
        Hostile::write(hostile.associations[at][1], "user", b"");
    }
    for (record, field) in [(hostile.qos[0], "name"), (hostile.partitions[0], "name")] {
        Hostile::write(record, field, b"");
    }
}

/// What a job need not have.
fn no_names(hostile: &mut Hostile<'_>) {
    for job in &hostile.jobs {
        for field in ["wckey", "admin_comment", "mcs_label"] {
            job.set_where_it_is(field, std::ptr::null_mut::<u8>());
        }
    }
}

fn long_names(hostile: &mut Hostile<'_>) {
    let long = vec![b'\t'; 200_000];
    for at in 0..hostile.associations.len() {
        hostile.name_account(at, &long, &long);
    }
    for partition in hostile.partitions.clone() {
        Hostile::write(partition, "name", &long);
    }
    for qos in hostile.qos.clone() {
        Hostile::write(qos, "name", &long);
    }
}

/// TRES, times, nice values and limits as large as they can be written.
fn amounts(hostile: &mut Hostile<'_>) {
    for job in &hostile.jobs {
        let requested: *mut u64 = job.get::<*mut u8>("tres_req_cnt").cast();
        for at in 0..hostile.slurmctld.tres_count() {
            let amount = hostile.number() >> (hostile.number() % 9);
            // SAFETY: the array has one for each TRES.
            unsafe { requested.add(at).write(amount) }
        }
        job.set("site_factor", 0x8000_0000 + u32::try_from(hostile.number() >> 34).expect("30 bits"));
    }
}

/// `sacctmgr modify user … set NewName=…`: jobs keep the number of the user that was.
fn users_renamed(hostile: &mut Hostile<'_>) {
    for (at, [_, association]) in (0_u32..).zip(&hostile.associations) {
        association.set_where_it_is("uid", 5000 + at);
    }
}

fn ids_of_jobs(hostile: &mut Hostile<'_>) {
    for (at, job) in (1_u32..).zip(&hostile.jobs) {
        job.set_where_it_is("array_job_id", at).set_where_it_is("array_task_id", at);
    }
}

/// `sacctmgr modify … set Fairshare=parent`: `SLURMDB_FS_USE_PARENT`.
const OF_PARENT: u32 = 0x7fff_ffff;

fn give_shares(hostile: &Hostile<'_>, shares: impl Fn() -> u32) {
    for association in hostile.associations.iter().flatten() {
        association.set("shares_raw", shares());
    }
}

fn shares_of_parents(hostile: &mut Hostile<'_>) {
    give_shares(hostile, || OF_PARENT);
}

fn no_shares(hostile: &mut Hostile<'_>) {
    give_shares(hostile, || 0);
}

fn huge_shares(hostile: &mut Hostile<'_>) {
    give_shares(hostile, || u32::MAX - 2);
}

/// Some of each.
fn shares(hostile: &mut Hostile<'_>) {
    let kinds = [OF_PARENT, 0, 1, OF_PARENT - 1, OF_PARENT + 1, u32::MAX - 2];
    give_shares(hostile, || kinds[usize::from(hostile.number().to_le_bytes()[1]) % kinds.len()]);
}

/// `JOB_REVOKED`
const REVOKED: u32 = 0x80000;

/// Their ids begin with the number of a cluster. One that another cluster runs is here, too. The fake host packs what a federation
/// knows of a job whose id is odd.
fn jobs_of_a_federation(hostile: &mut Hostile<'_>) {
    let [_, association] = hostile.associations[0];
    for (at, state) in (0..).zip([0, REVOKED]) {
        let job = Job {
            id: (3 << 26) + 2 * at + 1,
            user_id: association.get("uid"),
            association: Some(association),
            partitions: hostile.partitions.clone(),
            qos: vec![hostile.qos[0]],
            state,
            ..Job::default()
        };
        hostile.jobs.push(hostile.slurmctld.add_job(&job));
    }
}

/// slurmdbd may send one twice.
fn ids_twice(hostile: &mut Hostile<'_>) {
    let [of_account, _] = hostile.associations[0];
    for account in ["again", "and again"] {
        hostile.slurmctld.add_association(&Association {
            id: 10,
            parent: of_account
                .follow("usage", "assoc_usage")
                .and_then(|usage| usage.follow("parent_assoc_ptr", "assoc")),
            account,
            ..Association::default()
        });
    }
}

/// Ids grow with every association that ever was.
fn ids_far_apart(hostile: &mut Hostile<'_>) {
    for (at, [of_account, association]) in (0_u32..).zip(&hostile.associations) {
        of_account.set("id", 4_000_000_000 + 2 * at);
        association.set("id", 4_000_000_001 + 2 * at);
        for job in &hostile.jobs[2 * at as usize..2 * at as usize + 2] {
            job.set("assoc_id", 4_000_000_001 + 2 * at);
        }
    }
}

#[test]
fn nothing_that_people_can_do_makes_a_check_fail() {
    let page = read("docs/safety.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let checks: Vec<&str> =
        rows.filter(|(_, rest)| rest.contains("| a Slurm built")).map(|(name, _)| name).collect();
    assert_eq!(ATTACKS.map(|(name, _)| name).to_vec(), checks, "each check has its attacks");
    in_releases(&all(), |slurmctld| {
        // One after the other, and each in a start of its own.
        let mut hostile = Hostile::new(slurmctld, seed());
        for (check, attacks) in ATTACKS {
            for (number, attack) in attacks.iter().enumerate() {
                attack(&mut hostile);
                hostile.goes_on(&format!("{check}, attack {number}"));
                hostile.slurmctld.fini();
            }
        }
    });
}

/// Random bytes in every name and text, random numbers in every amount: `MULTIFACTOR2_SEED` repeats one.
#[test]
fn random_bytes_in_every_name_and_text_make_no_check_fail() {
    const ROUNDS: u64 = 40;
    let all: [Attack; 7] =
        [names_of_accounts, names_of_partitions, names_of_qos, texts_of_jobs, amounts, users_renamed, shares];
    in_releases(&one_of_each_layout(), |slurmctld| {
        let mut hostile = Hostile::new(slurmctld, seed());
        for round in 0..ROUNDS {
            for attack in all {
                attack(&mut hostile);
            }
            hostile.goes_on(&format!("seed {}, round {round}", seed()));
            hostile.slurmctld.fini();
        }
        let Hostile { slurmctld, .. } = hostile;
        slurmctld.begin();
        end(slurmctld);
    });
}
