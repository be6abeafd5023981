//! `recover` and `cost`: numbers by hand.

use multifactor2_command::answers::cost::{self, Cost};
use multifactor2_command::answers::recover::{self, Asked, Others, Recover};
use multifactor2_command::answers::what_if;
use multifactor2_command::input::commands;
use multifactor2_command::input::texts::Texts;
use multifactor2_command::model::billing::{bill, Rule};
use multifactor2_command::model::{Model, Options};
use multifactor2_command::options::{AsJson, Printed};
use multifactor2_command::output::Terminal;
use multifactor2_command::submission::JobOptions;
use multifactor2_fixtures::assert_near;
use multifactor2_snapshot::records::{Association, Running, Tres};
use multifactor2_snapshot::Snapshot;
use proptest::prelude::*;

use crate::outputs::{answered, Sample};
use crate::site;

fn model(snapshot: &Snapshot) -> Model<'_> {
    Model::of(snapshot, Options::default())
}

fn ask(snapshot: &Snapshot, who: &str, to: f64, running_on: bool) -> Result<Recover, String> {
    recover::recover(&model(snapshot), &Asked { who: Some(who.to_owned()), to, running_on })
        .map_err(|error| error.to_string())
}

fn options(text: &str) -> JobOptions {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn cost_of(snapshot: &Snapshot, text: &str, user: &str) -> Result<Cost, String> {
    cost::of_options(&model(snapshot), None, &options(text), user).map_err(|error| error.to_string())
}

/// Two users with the same shares, under stock with classic fair-share: ada has used as much as ben three times.
fn two(half_life: &str) -> Snapshot {
    let mut snapshot = site::empty();
    "priority/multifactor".clone_into(&mut snapshot.about.priority_type);
    snapshot.settings = None;
    for (name, value) in [("PriorityFlags", "NO_FAIR_TREE"), ("PriorityDecayHalfLife", half_life)] {
        snapshot.parameters.insert(name.to_owned(), value.to_owned());
    }
    for (id, parent, account, user, usage) in [
        (1, 0, "root", "", 4e6),
        (2, 1, "chem", "", 3e6),
        (3, 2, "chem", "ada", 3e6),
        (4, 1, "bio", "", 1e6),
        (5, 4, "bio", "ben", 1e6),
        (6, 4, "bio", "ada", 0.0),
    ] {
        snapshot.associations.push(Association {
            id,
            parent,
            account: account.to_owned(),
            user: user.to_owned(),
            shares: 1,
            usage,
            ..Association::default()
        });
    }
    snapshot
}

#[test]
fn a_factor_recovers_as_usage_decays() {
    // chem has a half of the shares and 3/4 of the usage: 2^-1.5. It is 2^-1 when the usage of chem is that of bio, a third of now.
    let snapshot = two("7-00:00:00");
    let answer = ask(&snapshot, "ada@chem", 0.5, false).unwrap();
    let [account] = &answer.accounts[..] else { panic!("{answer:?}") };
    assert_near(account.factor, (-1.5_f64).exp2(), "now");
    let [stops, keeps] = &account.courses[..] else { panic!("{account:?}") };
    assert_eq!((stops.others, stops.reached), (Others::Stop, None));
    assert!(stops.sentence.contains("stays at 0.353553"), "{}", stops.sentence);
    assert_eq!(keeps.others, Others::KeepUsage);
    // ln 3 / -ln(1 - 0.693 / half-life), found to half a minute.
    let exact = 3_f64.ln() / -(1.0 - 0.693 / 604_800.0_f64).ln();
    let reached = keeps.reached.unwrap();
    assert!((f64::from(u32::try_from(reached).unwrap()) - exact).abs() < 31.0, "{reached} {exact}");
    assert!(keeps
        .points
        .windows(2)
        .all(|pair| pair[0].after < pair[1].after && pair[0].factor <= pair[1].factor));
}

#[test]
fn what_has_been_reached_and_what_never_will_be_are_said() {
    let snapshot = two("7-00:00:00");
    let answer = ask(&snapshot, "ada", 0.2, false).unwrap();
    assert_eq!(answer.accounts.len(), 2);
    assert!(answer.accounts[0].courses.iter().all(|course| course.reached == Some(0)));
    // No more than its share: 2^0 is for who has used nothing.
    let never = ask(&snapshot, "ada@chem", 1.0, false).unwrap();
    assert_eq!(never.accounts[0].courses[1].reached, None);
    assert!(never.accounts[0].courses[1].sentence.contains("does not reach 1"), "{never:?}");
    assert!(ask(&snapshot, "eve", 0.5, false).unwrap_err().contains("there is no user eve"));
    assert!(ask(&snapshot, "ada@law", 0.5, false).unwrap_err().contains("law"));
    assert!(ask(&snapshot, "ada", 1.5, false).unwrap_err().contains("0 to 1"));
}

#[test]
fn jobs_that_run_go_on() {
    let mut snapshot = two("7-00:00:00");
    for (association, billing) in [(3, 2.0), (5, 2.0)] {
        snapshot.running.push(Running {
            association,
            qos: "normal".to_owned(),
            count: 1,
            billing,
            ..Running::default()
        });
    }
    let stops = ask(&snapshot, "ada@chem", 0.5, false).unwrap();
    let runs = ask(&snapshot, "ada@chem", 0.4, true).unwrap();
    let of = |answer: &Recover| {
        answer.accounts[0].courses.iter().find(|course| course.others == Others::RunOn).unwrap().clone()
    };
    // Both run as much, so ada comes near a half from below, later than if she stops.
    let (stops, runs) = (of(&stops), of(&runs));
    assert!(stops.reached.is_some() && runs.reached.is_some(), "{stops:?} {runs:?}");
    let both = ask(&snapshot, "ada@chem", 0.4, false).unwrap();
    assert!(of(&both).reached < runs.reached);
    let never = of(&ask(&snapshot, "ada@chem", 0.51, true).unwrap());
    assert_eq!(never.reached, None);
}

#[test]
fn without_decay_the_reset_is_what_counts() {
    let mut snapshot = two("00:00:00");
    let answer = ask(&snapshot, "ada@chem", 0.5, false).unwrap();
    assert!(answer.remarks[0].contains("PriorityDecayHalfLife is 0"), "{:?}", answer.remarks);
    assert!(answer.remarks[0].contains("RawUsage=0"), "{:?}", answer.remarks);
    assert_eq!(answer.accounts[0].courses.len(), 1);
    assert_eq!(answer.accounts[0].courses[0].reached, None);
    snapshot.parameters.insert("PriorityUsageResetPeriod".to_owned(), "MONTHLY".to_owned());
    let answer = ask(&snapshot, "ada@chem", 0.5, false).unwrap();
    let course = &answer.accounts[0].courses[0];
    assert_eq!(course.reached, Some(answer.reset.unwrap().at - site::TIME));
    assert!(course.by_reset && answer.remarks[0].contains("each month"), "{answer:?}");
}

/// With GPUs that are accounted, and weights in partition gpu.
fn billed(flags: &str) -> Snapshot {
    let mut snapshot = two("7-00:00:00");
    snapshot.parameters.insert("PriorityFlags".to_owned(), format!("NO_FAIR_TREE,{flags}"));
    for name in ["gres/gpu", "gres/gpu:a100", "license/cad"] {
        snapshot.tres.push(Tres { name: name.to_owned(), count: 8, weight: None });
    }
    "CPU=1.0,Mem=0.25G,GRES/gpu=20,license/cad=3,node=2K"
        .clone_into(&mut snapshot.partitions[1].billing_weights);
    snapshot
}

#[test]
fn tres_are_weighted_as_slurmctld_does() {
    let tres = [8, 65_536, 0, 2, 0, 4, 4, 1];
    // 8 CPUs, 64 GB by a quarter, 2 nodes by 2/1024, 4 GPUs by 20, a licence.
    let nodes = 2.0 * 2.0 / 1024.0;
    for (flags, rule, billing) in [
        ("", Rule::Sum, 8.0 + 16.0 + nodes + 80.0 + 3.0),
        ("MAX_TRES", Rule::Max, 80.0 + 3.0),
        ("MAX_TRES_GRES", Rule::MaxAndGres, 16.0 + 80.0 + 3.0),
    ] {
        let snapshot = billed(flags);
        let found = bill(&snapshot, Some(&snapshot.partitions[1]), &tres);
        assert_eq!((found.rule, found.unread.len()), (rule, 0), "{flags}");
        assert_near(found.billing, billing, flags);
        // Without weights each CPU counts one.
        let plain = bill(&snapshot, Some(&snapshot.partitions[0]), &tres);
        assert_eq!(plain.rule, Rule::Cpus);
        assert_near(plain.billing, 8.0, "CPUs");
    }
    let mut snapshot = billed("");
    "CPU=x,tape=3,Mem=1Q,GRES/gpu".clone_into(&mut snapshot.partitions[1].billing_weights);
    assert_eq!(bill(&snapshot, Some(&snapshot.partitions[1]), &tres).unread.len(), 4);
}

#[test]
fn a_job_costs_what_it_is_billed_until_its_limit() {
    let mut snapshot = billed("");
    snapshot.qos[1].usage_factor = 0.5;
    let text = "-A chem -p gpu -q high -N 2 -n 8 --mem=32G --gres=gpu:a100:2 -t 1-0";
    let answer = cost_of(&snapshot, text, "ada").unwrap();
    let billing = 8.0 + 16.0 + 2.0 * 2.0 / 1024.0 + 80.0;
    assert_near(answer.billing, billing, "billing");
    assert_eq!(answer.seconds, Some(86_400));
    let usage = 86_400.0 * billing * 0.5;
    assert_near(answer.usage.unwrap(), usage, "usage");
    let chem = answer.accounts.iter().find(|account| account.account == "chem").unwrap();
    assert_near(chem.factor_before.unwrap(), (-1.5_f64).exp2(), "before");
    let part = (3e6 + usage) / (4e6 + usage);
    assert_near(chem.factor_after.unwrap(), (-2.0 * part).exp2(), "after");
    assert_near(chem.priority_lost.unwrap(), 10_000.0 * ((-1.5_f64).exp2() - (-2.0 * part).exp2()), "lost");
    assert!(chem.asked && answer.accounts.len() == 2);
    let priorities: Vec<u32> = answer.accounts.iter().map(|account| account.priority.unwrap()).collect();
    assert!(priorities[0] > priorities[1] && answer.accounts[0].account == "bio", "{priorities:?}");
}

/// Who has used too much loses next to nothing by one job more: that account was recommended, where the job is behind all.
#[test]
fn the_account_of_the_highest_priority_is_named_not_that_which_loses_least() {
    let mut snapshot = two("7-00:00:00");
    for (id, usage) in [(1, 1.01e8), (2, 1e8), (3, 1e8)] {
        snapshot.associations[id - 1].usage = usage;
    }
    let ben = snapshot.associations[4].clone();
    snapshot.jobs = (1..4).map(|id| site::job(id, &ben)).collect();
    site::show(&mut snapshot);
    let answer = cost_of(&snapshot, "-A chem -p main -c 4 -t 60", "ada").unwrap();
    let [best, other] = &answer.accounts[..] else { panic!("{answer:?}") };
    assert_eq!((best.account.as_str(), other.account.as_str(), other.asked), ("bio", "chem", true));
    assert!(best.priority_lost > other.priority_lost, "{answer:?}");
    // What it says is what the submission would do.
    for account in &answer.accounts {
        let submissions = vec![options(&format!("-A {} -p main -c 4 -t 60", account.account))];
        let changes =
            what_if::Changes { submissions, submitter: Some("ada".to_owned()), ..Default::default() };
        let after = what_if::of_model(&model(&snapshot), &changes).unwrap();
        let row = after.rows.iter().find(|row| row.submitted).unwrap();
        assert_eq!(account.priority, row.priority_after);
        assert_eq!((account.rank, account.of), (row.position_after, Some(4)));
    }
    assert_eq!((best.rank, other.rank), (Some(1), Some(4)));
    let said = multifactor2_command::output::show::printout(
        &model(&snapshot),
        answer.clone(),
        AsJson::default(),
        &Printed::default(),
        Terminal::PLAIN,
    );
    let says = format!("highest in account bio: {}, 1st of 4 in partition main.", best.priority.unwrap());
    assert!(said.unwrap().out.contains(&says), "{says}");
    // A user who sees a part of the queue is told no place.
    snapshot.about.lack_queue("hidden", "PrivateData=jobs hides the jobs of others.");
    let part = cost_of(&snapshot, "-A chem -p main -c 4 -t 60", "ada").unwrap();
    assert!(part.accounts.iter().all(|account| account.rank.is_none() && account.of.is_none()));
}

#[test]
fn charge_lines_count_in_the_cost() {
    let mut snapshot = site::example();
    for line in [
        "Charge=Partition Name=main Factor=0.5",
        "Charge=Account Name=c Factor=3",
        "Charge=Parent Name=a Factor=0.2",
    ] {
        site::set(&mut snapshot, line);
    }
    let answer = cost_of(&snapshot, "-p main -c 10 -t 60", "user2").unwrap();
    assert_near(answer.charge_factor, 0.5 * 3.0 * 0.2, "factor");
    assert_near(answer.usage.unwrap(), 36_000.0 * 0.3, "usage");
    let other = cost_of(&snapshot, "-p gpu -c 10 -t 60", "user4").unwrap();
    assert_near(other.usage.unwrap(), 36_000.0, "no line fits");
}

#[test]
fn a_job_that_waits_costs_what_it_asks_for() {
    let snapshot = site::example();
    let answer = cost::of_job(&model(&snapshot), None, "1001").unwrap();
    assert_eq!((answer.user.as_str(), answer.account.as_str(), answer.job.as_str()), ("user2", "c", "1001"));
    // One CPU for an hour.
    assert_near(answer.usage.unwrap(), 3600.0, "usage");
    assert!(cost::of_job(&model(&snapshot), None, "7").unwrap_err().to_string().contains("squeue -j 7"));
}

/// A QOS stands before an association, the association of the user before those of accounts; what is not told is not known.
#[test]
fn limits_that_would_hold_a_job_are_named() {
    let mut snapshot = two("7-00:00:00");
    snapshot.tres.push(Tres { name: "cpu".to_owned(), ..Tres::default() });
    snapshot.parameters.insert("AccountingStorageEnforce".to_owned(), "associations,limits".to_owned());
    snapshot.qos.retain(|qos| qos.name == "normal");
    let line = |id: u32, limits: &str| {
        format!("ClusterName=c Account=x UserName= Partition= Priority=0 ID={id} SharesRaw/Norm=1 {limits} MinPrioThresh=\n")
    };
    let qos = "QOS=normal(1) UsageRaw=0 GrpJobs=9(4) GrpTRES=cpu=N(4) MinPrioThresh= Account Limits= chem={MaxJobsPA=N(1)} User Limits= 7={MaxJobsPU=N(1)}\n";
    let rows = [
        line(1, "GrpJobs=4(4)"),
        line(2, "GrpJobs=N(3) GrpTRES=cpu=10(7) MaxJobs=0(0)"),
        line(3, "GrpJobs=N(1) MaxJobs=1(1)"),
        line(4, "GrpJobs=N(1)"),
        line(6, "GrpJobs=N(0) MaxJobs=1(0)"),
    ];
    let mut texts = Texts::default();
    let mut of = |associations: Option<String>, qos: Option<&str>, snapshot: &Snapshot| {
        texts.texts.clear();
        texts.texts.extend(associations.map(|text| (commands::ASSOCIATIONS.to_owned(), text)));
        texts.texts.extend(qos.map(|text| (commands::QOS.to_owned(), text.to_owned())));
        let options = options("-A chem -p main -q normal -c 4 -t 60");
        cost::of_options(&model(snapshot), Some(&texts), &options, "ada").unwrap()
    };
    let declared = "ID|Priority|UsageFactor|UsageThres|Flags|Name\n1|0|1|||normal\n";
    let found = |answer: &Cost, account: &str| {
        let account = answer.accounts.iter().find(|of| of.account == account).unwrap();
        let name = |limit: &cost::Reached| format!("{} {}", limit.name, limit.of);
        account.limits.as_ref().map(|limits| limits.iter().map(name).collect::<Vec<_>>())
    };
    // GrpJobs of the root is reached, but the QOS sets another.
    let all = of(Some(rows.concat() + qos), Some(declared), &snapshot);
    assert_eq!(found(&all, "chem").unwrap(), ["MaxJobs user ada in chem", "GrpTRES=cpu account chem"]);
    assert_eq!(found(&all, "bio").unwrap(), Vec::<String>::new());
    assert!(!all.remarks.join(" ").contains("imits"), "{:?}", all.remarks);
    // Nobody has used the QOS yet, so whether it has a limit on jobs of each user is not told.
    let unused = qos.split(" Account").next().unwrap();
    let unused = of(Some(rows.concat() + unused + "\n"), Some(declared), &snapshot);
    assert_eq!(found(&unused, "chem").unwrap(), ["GrpTRES=cpu account chem"]);
    // What is hidden, what was not asked, and what slurmctld does not enforce.
    let part = of(Some(rows[2..].concat() + qos), Some(declared), &snapshot);
    assert_eq!(found(&part, "bio"), None);
    assert!(part.remarks.join(" ").contains("Some limits for chem, bio are hidden"), "{:?}", part.remarks);
    for (associations, qos) in [(None, Some(declared)), (Some(rows.concat() + qos), None)] {
        let not = of(associations, qos, &snapshot);
        assert!(
            found(&not, "chem").is_none()
                && not.remarks.join(" ").contains("Limits of accounts, users and QOS are not known")
        );
    }
    snapshot.parameters.insert("AccountingStorageEnforce".to_owned(), "associations".to_owned());
    assert_eq!(found(&of(None, None, &snapshot), "chem"), Some(Vec::new()));
}

#[test]
fn what_is_not_known_is_said() {
    let mut snapshot = billed("");
    let no_limit = cost_of(&snapshot, "-A chem -p gpu", "ada").unwrap();
    assert_eq!((no_limit.usage, no_limit.seconds), (None, None));
    let all = no_limit.remarks.join(" ");
    for part in ["No time limit", "No memory", "No QOS"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    // Which account is the default is not known: all of them are answered for, and none is said to be asked for.
    let any = cost_of(&snapshot, "-p gpu -t 60", "ada").unwrap();
    assert!(
        any.accounts.len() == 2 && any.accounts.iter().all(|account| !account.asked),
        "{:?}",
        any.accounts
    );
    assert!(any.remarks.join(" ").contains("default account of ada"), "{:?}", any.remarks);
    let chem =
        snapshot.associations.iter().position(|one| one.user == "ada" && one.account == "chem").unwrap();
    snapshot.associations[chem].is_default = true;
    snapshot.partitions[1].is_default = true;
    snapshot.partitions[1].default_time = Some(30);
    let of_defaults = cost_of(&snapshot, "", "ada").unwrap();
    assert_eq!((of_defaults.account.as_str(), of_defaults.partition.as_str()), ("chem", "gpu"));
    assert_eq!(of_defaults.seconds, Some(1800));
    assert!(cost_of(&snapshot, "-p gpu -A chem --gres=fpga:1 -t 1", "ada")
        .unwrap()
        .remarks
        .join(" ")
        .contains("gres/fpga"));
    snapshot.parameters.insert("DefMemPerCPU".to_owned(), "1024".to_owned());
    let of_cpus = cost_of(&snapshot, "-A chem -p gpu -c 4 -t 60", "ada").unwrap();
    assert_near(of_cpus.billing, 4.0 + 1.0 + 2.0 / 1024.0, "DefMemPerCPU");
    // Under multifactor2 with settings that nobody knows the bill is known, the factor is not.
    "priority/multifactor2".clone_into(&mut snapshot.about.priority_type);
    let unknown = cost_of(&snapshot, "-A chem -p gpu -t 60", "ada").unwrap();
    assert!(unknown.usage.is_some() && unknown.accounts.iter().all(|one| one.factor_after.is_none()));
    assert!(unknown.remarks.join(" ").contains("--conf"));
    assert!(ask(&snapshot, "ada", 0.5, false).unwrap_err().contains("--conf"));
}

/// ben comes first, until two thirds of all usage are what ada has used in chem: 2^(-(2/3) / 0.5) is 2^(-(1/3) / 0.25) then.
#[test]
fn two_users_are_compared_without_a_job() {
    let sample = Sample::new(&two("7-00:00:00"));
    let text = sample.ask(&["why", "--user", "ada@chem", "ben"]);
    assert!(answered(&text), "{}", text.err);
    let flat = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "The next job of ben in bio has the higher fair-share factor: 0.5 against 0.353553 of ada in chem.",
        "The first level at which they differ, below root",
        "How long this has been so is not known",
        "if ada in chem runs nothing from now on and all others keep their usage",
    ] {
        assert!(flat.contains(part), "{part}: {}", text.out);
    }
    let json = sample.ask(&["why", "--user", "ben", "ada@chem", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let answer = &answer["answer"];
    assert_eq!((&answer["first"], &answer["second"]), (&"ben in bio".into(), &"ada in chem".into()));
    let exact = 1.5_f64.ln() / -(1.0 - 0.693 / 604_800.0_f64).ln();
    let turns = answer["turns"].as_f64().unwrap();
    assert!((turns - exact).abs() < 31.0, "{turns} {exact}");
    assert_eq!(answer["parts"][1]["account"], "chem");
    // Without decay it never does.
    let never = Sample::new(&two("00:00:00")).ask(&["why", "--user", "ben", "ada@chem"]);
    assert!(never.out.contains("usage does not decay"), "{}", never.out);
    // A reset comes before it, and is said. Without one before it the answer is as it was.
    let mut reset = two("7-00:00:00");
    reset.parameters.insert("PriorityUsageResetPeriod".to_owned(), "DAILY".to_owned());
    let reset = Sample::new(&reset).ask(&["why", "--user", "ben", "ada@chem"]);
    let flat = reset.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "PriorityUsageResetPeriod sets the usage of everybody to 0 each day, next on ",
        "This does not change before that, even if ada",
    ] {
        assert!(flat.contains(part) && !flat.contains("This changes in"), "{part}: {}", reset.out);
    }
    for (words, part) in [
        (["ada", "ben"], "ada is in several accounts: give one of ada@chem, ada@bio"),
        (["ben", "ben"], "both are the same user"),
        (["ben", "zoe"], "there is no user zoe"),
        (["ben", "ada@law"], "no association with account law"),
    ] {
        let refused = sample.ask(&["why", "--user", words[0], words[1]]);
        assert!(refused.status == 1 && refused.err.contains(part), "{part}: {}", refused.err);
    }
}

#[test]
fn both_are_printed() {
    let sample = Sample::new(&site::example());
    let recover = sample.ask(&["recover", "user2"]);
    assert!(answered(&recover) && recover.out.contains("('|' marks 0.5)"), "{}", recover.out);
    assert!(
        recover.out.lines().any(|line| line.trim_start().starts_with("now  0.247  ############ ")),
        "{}",
        recover.out
    );
    let cost = sample.ask(&["cost", "--as", "user2", "-p", "main", "-c", "8", "-t", "2-0"]);
    assert!(answered(&cost), "{}", cost.err);
    assert!(cost.out.starts_with("This job adds up to 384 h of usage to user2 in c"), "{}", cost.out);
    assert_eq!(sample.ask(&["cost", "1001", "-c", "8"]).status, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn nothing_panics(
        seed: u64,
        to in 0.0..=1.0,
        running_on: bool,
        half_life in prop::sample::select(vec!["00:00:00", "00:00:01", "7-00:00:00", "UNLIMITED", "x"]),
        period in prop::sample::select(vec!["NONE", "DAILY", "YEARLY"]),
        at in prop::sample::select(vec![i64::MIN, 0, site::TIME, i64::MAX]),
        weights in ".{0,20}",
        limit in any::<Option<u32>>(),
    ) {
        let mut snapshot = site::random(site::Size { associations: 30, jobs: 20 }, seed);
        snapshot.parameters.insert("PriorityDecayHalfLife".to_owned(), half_life.to_owned());
        snapshot.parameters.insert("PriorityUsageResetPeriod".to_owned(), period.to_owned());
        snapshot.partitions[0].billing_weights = weights;
        for job in &mut snapshot.jobs {
            (job.limit, job.tres) = (limit, vec![u64::MAX - 1; 12]);
        }
        for running in &mut snapshot.running {
            running.billing = 1e300;
        }
        let model = Model::of(&snapshot, Options { at: Some(at), ..Options::default() });
        for association in &snapshot.associations {
            let _ = recover::recover(&model, &Asked { who: Some(association.user.clone()), to, running_on });
        }
        for job in &snapshot.jobs {
            let _ = cost::of_job(&model, None, &job.id.to_string());
        }
    }
}
