//! Single cases with numbers worked out by hand. Each of them tells a mistake that was planted, and that the random cases let pass.

use multifactor2_core::policy::pools::{
    comment_tickets, Bearer, Extra, JobNames, JobTickets, Names, Pools, QueuedJob, Role, WaitingJob, Who,
};
use multifactor2_core::settings::value::Date;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};
use multifactor2_fixtures::assert_near;

use super::settings;

const NOON: Date = Date { year: 2027, month: 1, day: 31, hour: 12, minute: 0, second: 0 };

/// One account with two users of equal shares, ann and bob, who have used nothing.
struct Site {
    tree: ShareTree,
    fair_share: FairShare,
    pools: Pools,
    ann: Node,
    bob: Node,
}

impl Site {
    fn new(lines: &str) -> Self {
        let settings = settings(lines);
        let spec = |parent, user| NodeSpec { parent, shares: 1, user };
        let tree = ShareTree::build(&[
            spec(None, false),
            spec(Some(0), false),
            spec(Some(1), true),
            spec(Some(1), true),
        ]);
        let [ann, bob] = [2, 3].map(|at| tree.position(at).unwrap());
        let mut fair_share = FairShare::new();
        fair_share.configure(&settings);
        let pools = Pools::configured(&settings).expect("lines that ask for pools");
        let mut site = Self { tree, fair_share, pools, ann, bob };
        site.begin(NOON);
        site
    }

    /// Returns which lines began or ended.
    fn begin(&mut self, now: Date) -> Vec<bool> {
        let changes = self.pools.begin(now);
        let (ann, bob) = (self.ann, self.bob);
        self.pools.learn(&self.tree, |node| Names {
            user: if node == ann {
                "ann"
            } else if node == bob {
                "bob"
            } else {
                ""
            },
            account: "a",
        });
        changes.iter().map(|change| change.begins).collect()
    }

    fn share(&mut self, active: [u32; 2]) {
        let mut all = vec![0; self.tree.len()];
        for (node, jobs) in [self.ann, self.bob].into_iter().zip(active) {
            all[node.index()] = jobs;
        }
        self.fair_share.distribute(&self.tree, &vec![0.0; self.tree.len()], &all);
    }

    /// One job of each that waits.
    fn both_wait(&mut self, extra: [Extra; 2]) -> Vec<JobTickets> {
        self.share([1, 1]);
        let job = |node, id, extra| WaitingJob { node, id, order: u64::from(id), size: 1.0, extra };
        let waiting = [job(self.ann, 1, extra[0]), job(self.bob, 2, extra[1])];
        let mut tickets = Vec::new();
        self.pools.distribute(&self.tree, &self.fair_share, &waiting, &[], &mut tickets);
        tickets
    }

    fn hand_out(&mut self, jobs: &mut [QueuedJob]) -> Vec<JobTickets> {
        let of = |node: Node| {
            let waits = |job: &&QueuedJob| job.role == Role::Waits && job.node == Some(node);
            u32::try_from(jobs.iter().filter(waits).count()).unwrap()
        };
        let active = [of(self.ann), of(self.bob)];
        self.share(active);
        self.pools.hand_out(&self.tree, &self.fair_share, jobs, &[])
    }
}

fn queued(id: u32, node: Node, role: Role, leader: Option<u32>) -> QueuedJob {
    QueuedJob { node: Some(node), leader, role, order: u64::from(id), size: 1.0, ..QueuedJob::none(id) }
}

fn names<'n>(partition: &'n str, wckey: &'n str) -> JobNames<'n> {
    JobNames { partition, wckey, ..JobNames::default() }
}

/// A job in several partitions has what a line gives for one of them in that one's entry only, and all else in each.
#[test]
fn an_entry_has_what_the_line_of_its_own_partition_gives_and_no_less() {
    let mut site = Site::new(
        "Override=Partition Name=fast Tickets=90 Shared=yes\nOverride=User Name=ann Tickets=40\n\
         Override=WCKey Name=urgent Tickets=7\n",
    );
    let [fast, slow] = ["fast", "slow"].map(|partition| site.pools.extra(names(partition, "urgent")));
    let of_ann = site.both_wait([fast, Extra::default()])[0];
    assert_near(of_ann.overridden, 40.0 + 7.0 + 90.0, "the only job in that partition");
    let entry = |site: &Site, tickets, partition| {
        let has = site.pools.in_entry(tickets, names(partition, ""));
        assert_near(has.share_tree, tickets.share_tree, "the other pools have nothing to do with it");
        has.overridden
    };
    assert_near(entry(&site, of_ann, "fast"), 137.0, "its own");
    assert_near(entry(&site, of_ann, "slow"), 47.0, "less what the partition gives, and nothing else");
    let of_bob = site.pools.extra(names("fast", ""));
    let of_ann = site.both_wait([slow, of_bob])[0];
    assert_near(of_ann.overridden, 47.0, "not in that partition");
    assert_near(entry(&site, of_ann, "slow"), 47.0, "its own");
    assert_near(entry(&site, of_ann, "fast"), 47.0 + 90.0 / 2.0, "as the second who shares it");
}

/// `Until=12:00:30` is the last second of the line, `From=12:00:10` the first.
#[test]
fn a_line_is_in_force_from_its_first_to_its_last_second() {
    let at = |second| Date { second, ..NOON };
    let mut site =
        Site::new("Override=User Name=ann Tickets=40 From=2027-01-31T12:00:10 Until=2027-01-31T12:00:30\n");
    let has = |site: &mut Site| site.both_wait([Extra::default(); 2])[0].overridden;
    for (second, changed, expected) in
        [(9, &[][..], 0.0), (10, &[true], 40.0), (30, &[], 40.0), (31, &[false], 0.0), (59, &[], 0.0)]
    {
        assert_eq!(site.begin(at(second)), changed, "second {second}");
        assert_near(has(&mut site), expected, &format!("second {second}"));
    }
}

/// Where nobody waited in the last cycle.
#[test]
fn the_first_who_comes_is_what_the_next_ones_are_measured_by() {
    let mut site = Site::new("Override=User Name=ann Tickets=30\nOverride=User Name=bob Tickets=60\n");
    site.share([0, 0]);
    site.pools.distribute(&site.tree, &site.fair_share, &[], &[], &mut Vec::new());
    assert_near(site.pools.max_now(), 0.0, "nobody");
    let submit = |site: &mut Site, node| {
        let who = Who { node, extra: Extra::default(), size: 1.0, count: 1 };
        let tickets = site.pools.of_next(&site.tree, &site.fair_share, who);
        site.fair_share.join(&site.tree, node);
        site.pools.join(&site.tree, &site.fair_share, who, tickets);
        tickets
    };
    let (ann, bob) = (site.ann, site.bob);
    let first = submit(&mut site, ann);
    assert!(first.total() > 0.0);
    assert_near(site.pools.max_now(), first.total(), "the first");
    assert_near(site.pools.factor_now(first), 1.0, "itself");
    let second = submit(&mut site, bob);
    assert_near(site.pools.max_now(), first.total(), "still the first");
    assert_near(
        site.pools.factor_now(JobTickets { overridden: first.total() / 2.0, ..JobTickets::default() }),
        0.5,
        "half of it",
    );
    assert!(site.pools.factor_now(second) <= 1.0, "nobody is above 1");
    site.both_wait([Extra::default(); 2]);
    assert_near(site.pools.max_now(), site.pools.max_tickets(), "after a cycle with jobs the best of them");
}

/// What a job has besides its association goes with its tickets: its entries are computed from it.
#[test]
fn tickets_of_every_kind_of_job_know_what_it_has_besides() {
    let mut site = Site::new("Override=Partition Name=fast Tickets=90\n");
    let fast = site.pools.extra(names("fast", ""));
    assert_ne!(fast, Extra::default());
    assert_eq!(site.both_wait([fast, Extra::default()])[0].extra, fast);
    let who = Who { node: site.ann, extra: fast, size: 1.0, count: 1 };
    let next = site.pools.of_next(&site.tree, &site.fair_share, who);
    assert_eq!(next.extra, fast);
    assert_near(next.overridden, 90.0 / 2.0, "the second in that partition");
    assert_eq!(site.pools.of_running(&site.tree, &site.fair_share, who).extra, fast);
    assert_near(site.pools.in_entry(next, names("slow", "")).overridden, 0.0, "taken off elsewhere");
}

/// Those that share a partition or a QOS have got different parts of its tickets. Each loses its own in an entry for another.
#[test]
fn of_jobs_that_share_override_tickets_each_loses_its_own_part_in_other_entries() {
    let mut site = Site::new(
        "Override=Partition Name=fast Tickets=120\nOverride=QOS Name=high Tickets=60\n\
         Override=QOS Name=high Tickets=7 Shared=no\nOverride=User Name=bob Tickets=12\n",
    );
    let entry = |partition, qos| JobNames { partition, qos, ..JobNames::default() };
    let both = site.pools.extra(entry("fast", "HIGH"));
    let fast = site.pools.extra(entry("fast", "normal"));
    // What the partition, the QOS and the user give each, and what it has in each of four entries.
    let check = |site: &Site, has: JobTickets, [partition, qos, user]: [f64; 3], what: &str| {
        assert_near(has.overridden, partition + qos + user, what);
        for (place, expected) in [
            (("fast", "high"), partition + qos + user),
            (("fast", "normal"), partition + user),
            (("slow", "high"), qos + user),
            (("slow", "normal"), user),
        ] {
            // What it has not by itself it would get there.
            if qos > 0.0 || place.1 == "normal" {
                let found = site.pools.in_entry(has, entry(place.0, place.1)).overridden;
                assert_near(found, expected, &format!("{what} in {place:?}"));
            }
        }
    };
    site.share([2, 3]);
    let waits = |id, node, extra| QueuedJob { extra, ..queued(id, node, Role::Waits, None) };
    let idle = |id, node, extra| QueuedJob { extra, ..queued(id, node, Role::Idle, None) };
    let mut jobs = [
        waits(1, site.ann, fast),
        waits(2, site.ann, both),
        waits(3, site.bob, both),
        waits(4, site.bob, Extra::default()),
        idle(5, site.ann, both),
        QueuedJob { role: Role::Runs, ..waits(6, site.ann, both) },
    ];
    let runs = Who { node: site.ann, extra: both, size: 1.0, count: 2 };
    let has = site.pools.hand_out(&site.tree, &site.fair_share, &mut jobs, &[runs]);
    // Two run. Job 3 comes first (40 + 27 + 12), then 2 (30 + 22), then 1 (24). Job 4 has half of bob's.
    check(&site, has[2], [40.0, 27.0, 12.0], "the first");
    check(&site, has[1], [30.0, 22.0, 0.0], "the second");
    check(&site, has[0], [24.0, 0.0, 0.0], "the third");
    assert_near(has[3].overridden, 6.0, "another partition");
    check(&site, has[4], [20.0, 19.0, 0.0], "not eligible yet: as the next one");
    check(&site, has[5], [60.0, 37.0, 0.0], "it runs");
    // Two come between cycles.
    let new = Who { node: site.ann, extra: both, size: 1.0, count: 1 };
    let come = |site: &mut Site| {
        let has = site.pools.of_next(&site.tree, &site.fair_share, new);
        site.pools.join(&site.tree, &site.fair_share, new, has);
        has
    };
    let (sixth, seventh) = (come(&mut site), come(&mut site));
    check(&site, sixth, [20.0, 19.0, 0.0], "the first who came");
    check(&site, seventh, [120.0 / 7.0, 60.0 / 6.0 + 7.0, 0.0], "the second who came");
    for (has, parts, what) in
        [(has[2], [40.0, 27.0, 12.0], "still the first"), (has[4], [20.0, 19.0, 0.0], "idle")]
    {
        check(&site, has, parts, what);
    }
}

/// Those that wait compete. Whatever else is among them changes nothing for them.
#[test]
fn who_waits_among_other_jobs_has_what_it_has_alone() {
    let lines = "Override=User Name=ann Tickets=30\nOverride=User Name=bob Tickets=60 Shared=no\n";
    let mut site = Site::new(lines);
    let waits = queued(1, site.ann, Role::Waits, None);
    let alone = site.hand_out(&mut [waits])[0];
    assert!(alone.total() > 30.0);
    let mut site = Site::new(lines);
    let idle = queued(2, site.bob, Role::Idle, None);
    let runs = queued(3, site.bob, Role::Runs, None);
    let tickets = site.hand_out(&mut [QueuedJob::none(0), waits, idle, runs]);
    assert_eq!(tickets[0], JobTickets::default());
    assert_eq!(tickets[1], alone);
    assert_near(tickets[2].overridden, 60.0, "as if it began to wait");
    assert_near(tickets[3].overridden, 60.0, "it runs");
}

/// The components of a heterogeneous job are one job if they and their leader wait: the leader with the size of all.
#[test]
fn components_have_what_their_leader_has_if_both_wait() {
    let lines = "Dilution=user\nDilutionUnit=cpu\nDilutionQuantum=1\n";
    // The leader, a component, and the job of ann that comes behind.
    let tickets = |leader, component, of: Option<u32>| {
        let mut site = Site::new(lines);
        let mut jobs = [
            queued(1, site.ann, leader, None),
            queued(2, site.ann, component, of),
            queued(3, site.ann, Role::Waits, None),
        ];
        site.hand_out(&mut jobs).into_iter().map(JobTickets::total).collect::<Vec<f64>>()
    };
    let joined = tickets(Role::Waits, Role::Waits, Some(1));
    assert_near(joined[0], joined[1], "those of the leader");
    // q / (q + size) of what comes before: two CPUs.
    assert_near(joined[2] / joined[0], 1.0 / 3.0, "behind both");
    let apart = tickets(Role::Waits, Role::Waits, None);
    assert_near(apart[1] / apart[0], 1.0 / 2.0, "without a leader it comes behind as any other");
    assert_near(apart[2] / apart[0], 1.0 / 3.0, "the third");
    let held = tickets(Role::Waits, Role::Idle, Some(1));
    assert_near(held[2] / held[0], 1.0 / 2.0, "a component that does not wait has no size");
    let led_by_held = tickets(Role::Idle, Role::Waits, Some(1));
    assert_near(led_by_held[2] / led_by_held[1], 1.0 / 2.0, "a leader that does not wait leads nobody");
}

#[test]
fn lines_tell_whom_they_name() {
    let site = Site::new(
        "Override=Partition Name=fast Tickets=1\nOverride=User Name=ann,nobody Tickets=1\nTicketsFunctional=1\n\
         Functional=User Name=bob Shares=1\n",
    );
    let mut named: Vec<(&str, String, &str, Bearer)> =
        site.pools.named().map(|named| (named.setting, named.kind, named.name, named.of)).collect();
    named.sort_unstable_by_key(|(.., name, _)| *name);
    let expected = [
        ("Override", "User", "ann", Bearer::Association(true)),
        ("Functional", "User", "bob", Bearer::Association(true)),
        ("Override", "Partition", "fast", Bearer::Partition),
        ("Override", "User", "nobody", Bearer::Association(false)),
    ]
    .map(|(setting, kind, name, of)| (setting, kind.to_owned(), name, of));
    assert_eq!(named, expected);
}

/// `Name=123` is that job or all tasks of that array, `200_4` one task.
#[test]
fn lines_for_jobs_name_a_job_an_array_or_one_task() {
    let mut site = Site::new("Override=Job Name=123 Tickets=1\nOverride=Job Name=200_4 Tickets=10\n");
    for (id, array, expected) in [
        (123, None, 1.0),
        (124, None, 0.0),
        (123, Some((123, None)), 1.0),
        (124, Some((123, Some(7))), 1.0),
        (200, None, 0.0),
        (200, Some((200, None)), 0.0),
        (200, Some((200, Some(4))), 10.0),
        (201, Some((200, Some(4))), 10.0),
        (201, Some((200, Some(5))), 0.0),
        (200, Some((199, Some(4))), 0.0),
    ] {
        let extra = site.pools.extra(JobNames { id, array, ..JobNames::default() });
        let has = site.both_wait([extra, Extra::default()])[0].overridden;
        assert_near(has, expected, &format!("job {id}, array and task {array:?}"));
    }
}

#[test]
fn a_comment_says_tickets_in_a_word_of_its_own() {
    for (comment, expected) in [
        ("", Ok(None)),
        ("seven tickets", Ok(None)),
        ("extratickets=7", Ok(None)),
        ("tickets=7", Ok(Some(7))),
        ("urgent tickets=7\tagreed", Ok(Some(7))),
        ("urgent,tickets=7,agreed", Ok(Some(7))),
        ("urgent;tickets=7;agreed", Ok(Some(7))),
        ("tickets=1000000", Ok(Some(1_000_000))),
        ("a tickets=1000001", Err("tickets=1000001")),
        ("tickets=", Err("tickets=")),
        ("tickets=+7", Err("tickets=+7")),
        ("tickets=7;tickets=8", Err("tickets=8")),
    ] {
        assert_eq!(comment_tickets(comment), expected, "{comment:?}");
    }
}

/// Of two jobs of an account with the same claim the one with the smaller id comes first, also behind a job with a larger one: ann's jobs
/// come as 10 and 1, bob's as 5 and 6, so the first two claim as much as each other, and so do the others.
#[test]
fn a_tie_goes_by_the_ids_of_those_that_tie() {
    let settings = settings("Dilution=tree\n");
    let spec = |parent, user| NodeSpec { parent, shares: 1, user };
    let tree = ShareTree::build(&[
        spec(None, false),
        spec(Some(0), false),
        spec(Some(0), false),
        spec(Some(1), true),
        spec(Some(1), true),
        spec(Some(2), true),
    ]);
    let [ann, bob, cid] = [3, 4, 5].map(|at| tree.position(at).unwrap());
    let mut active = vec![0; tree.len()];
    for (node, jobs) in [(ann, 2), (bob, 2), (cid, 1)] {
        active[node.index()] = jobs;
    }
    let mut fair_share = FairShare::new();
    fair_share.configure(&settings);
    fair_share.distribute(&tree, &vec![0.0; tree.len()], &active);
    let mut pools = Pools::configured(&settings).unwrap();
    pools.begin(NOON);
    pools.learn(&tree, |_| Names::default());
    let jobs = [(ann, 10, 0), (ann, 1, 1), (bob, 5, 2), (bob, 6, 3), (cid, 20, 4)];
    let extra = Extra::default();
    let waiting = jobs.map(|(node, id, order)| WaitingJob { node, id, order, size: 1.0, extra });
    let mut tickets = Vec::new();
    pools.distribute(&tree, &fair_share, &waiting, &[], &mut tickets);
    // The two accounts have as much as each other, and cid the first part of his.
    let parts = tickets.iter().map(|has| has.total() / tickets[4].total());
    for ((part, expected), (_, id, _)) in parts.zip([1.0 / 2.0, 1.0 / 3.0, 1.0, 1.0 / 4.0, 1.0]).zip(jobs) {
        assert_near(part, expected, &format!("job {id}"));
    }
}
