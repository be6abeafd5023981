//! `multifactor2 grants --reconcile` with commands that answer as Slurm's do: sums of runs over borders of periods, moved accounts, suspended jobs and
//! runaways, against seconds counted one by one; and all that it refuses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use multifactor2_core::rules::grants::correction::Correction;
use multifactor2_core::rules::grants::ledger::{Ledger, Mark};
use multifactor2_core::rules::grants::Sequences;
use multifactor2_core::settings::Settings;

/// Midnight of 2026-01-01 in UTC.
const FIRST: i64 = 1_767_225_600;
const DAY: i64 = 86_400;
/// When the plugin has counted last: in the fourth day.
const UNTIL: i64 = FIRST + 3 * DAY + 4321;
/// When account b was moved from below a to below c.
const MOVED: i64 = FIRST + 2 * DAY + 1234;

const LINES: &str = "\
Book=gpus Partitions=gpu
Grant=Account Name=a Amount=1 From=2026-01-01 Until=2026-01-10 Pace=1days TimeZone=UTC
Grant=Account Name=c Amount=1 From=2026-01-01 Until=2026-01-10 Pace=2days Unit=gres/gpu-hours TimeZone=UTC
Grant=Account Name=b Amount=1 From=2026-01-01 Until=2026-01-10 Pace=1days TimeZone=UTC Partition=gpu
Grant=User Name=ada Amount=1 From=2026-01-02 Until=2026-01-10 Pace=3days Unit=node-hours TimeZone=UTC
Grant=QOS Name=high Amount=1 From=2026-01-01 Until=2026-01-10 Pace=1days Unit=billing-hours TimeZone=UTC
Grant=WCKey Name=key Amount=1 From=2026-01-01 Until=2026-01-10 Pace=10days TimeZone=UTC
Grant=Group Name=700 Amount=1 From=2026-01-01 Until=2026-01-10 Pace=1days TimeZone=UTC Book=gpus
Grant=User Name=eve Amount=1 From=2026-01-01 Until=2026-01-10 Pace=1days TimeZone=UTC Used=0.5,1 UsedUntil=2026-01-03
Grant=Account Name=c Amount=1 From=2026-01-01 Until=2026-01-10 Pace=1days TimeZone=UTC Factors=yes
";

/// What sacct prints for the rows of a file: cut at `-S` and `-E`. A suspension that has not ended is not taken off, as in Slurm.
const SACCT: &str = r#"#!/bin/bash
while [ $# -gt 0 ]; do case $1 in
-S) from=$(date -u -d "$2" +%s); shift;;
-E) until=$(date -u -d "$2" +%s); shift;;
-j) jobs=,$2,; shift;;
-o) columns=$2; shift;;
--delimiter=*) d=${1#--delimiter=};;
esac; shift; done
[ -z "$FAILS" ] || { echo "sacct: error: no slurmdbd" >&2; exit 1; }
echo "${columns//,/$d}"
while IFS='|' read -r id start end sus resumed gid user account partition qos wckey tres state; do
[ -z "$jobs" ] || [[ $jobs == *,$id,* ]] || continue
e=$end; [ "$e" -ne 0 ] && [ "$e" -lt "$until" ] || e=$until
s=$start; [ "$s" -gt "$from" ] || s=$from
[ "$s" -lt "$e" ] || continue
n=$((e - s))
if [ "$sus" -ne 0 ] && [ "$resumed" -ne 0 ]; then
a=$((sus > s ? sus : s)); b=$((resumed < e ? resumed : e)); [ "$a" -ge "$b" ] || n=$((n - (b - a)))
fi
printf '%s\n' "$id$d$s$d$n$d$gid$d$user$d$account$d$partition$d$qos$d$wckey$d$tres$d$state"
done < "$(dirname "$0")/jobs"
"#;

#[derive(Clone, Debug)]
struct Run {
    start: i64,
    /// 0 where it still runs.
    end: i64,
    /// From when to when it was suspended; 0 and 0 for never, 0 for the end where it is so now.
    suspended: (i64, i64),
    words: [&'static str; 5],
    gid: u32,
    tres: [(&'static str, i64); 4],
    state: &'static str,
}

impl Run {
    fn runs(&self, at: i64) -> bool {
        let (from, to) = self.suspended;
        let is_suspended = from != 0 && at >= from && (to == 0 || at < to);
        at >= self.start && (self.end == 0 || at < self.end) && !is_suspended
    }

    fn has(&self, unit: &str) -> i128 {
        self.tres.iter().find(|(name, _)| *name == unit).map_or(0, |(_, count)| (*count).into())
    }
}

/// Runs of all kinds, the same each time.
fn runs() -> Vec<Run> {
    let mut state = 7_u64;
    let mut next = |below: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 33).unwrap() % below
    };
    let mut runs = Vec::new();
    for number in 0..60 {
        let start = FIRST - DAY + next(4 * DAY + 4000);
        let length = 1 + next(DAY);
        let mut pick =
            |of: &[&'static str]| of[usize::try_from(next(i64::try_from(of.len()).unwrap())).unwrap()];
        let words = [
            pick(&["ada", "eve"]),
            pick(&["a", "b", "c", "other"]),
            pick(&["gpu", "cpu"]),
            pick(&["high", "normal"]),
            pick(&["*key", "key", ""]),
        ];
        let (start, end, suspended) = match number % 5 {
            // Suspended now, for some days or not for long; once, or again.
            0 => {
                let start = FIRST + next(3 * DAY);
                (start, 0, (start + next(UNTIL - start), 0))
            }
            1 => (start, start + length, (start + length / 3, start + length / 2)),
            2 => (UNTIL - 5000 + next(4000), 0, (UNTIL - 900, UNTIL - 300)),
            _ => (start, if start + length > UNTIL { 0 } else { start + length }, (0, 0)),
        };
        let end = if end > UNTIL { 0 } else { end };
        let suspended = if suspended.0 >= UNTIL || suspended.1 > UNTIL { (0, 0) } else { suspended };
        let is_suspended = suspended.0 != 0 && suspended.1 == 0;
        let state = if is_suspended {
            "SUSPENDED"
        } else if end == 0 {
            "RUNNING"
        } else {
            "CANCELLED by 1000"
        };
        let tres =
            [("cpu", 1 + next(64)), ("node", 1 + next(4)), ("billing", next(100)), ("gres/gpu", next(3))];
        runs.push(Run {
            start,
            end,
            suspended,
            words,
            gid: if number % 3 == 0 { 700 } else { 1 },
            tres,
            state,
        });
    }
    assert!(runs.iter().filter(|run| run.state == "SUSPENDED").count() > 2);
    runs
}

fn ledger() -> (Sequences, Ledger) {
    ledger_of(LINES)
}

fn ledger_of(lines: &str) -> (Sequences, Ledger) {
    let settings = Settings::parse(lines, "f").unwrap_or_else(|errors| panic!("{errors}")).settings;
    let sequences = Sequences::of(&settings, |_| 0);
    let mut ledger = Ledger::new(0xabcd, UNTIL);
    let tree = |parent: &str| -> BTreeMap<String, String> {
        [("root", ""), ("a", "root"), ("b", parent), ("c", "root")]
            .map(|(name, above)| (name.into(), above.into()))
            .into()
    };
    ledger.lineage.note(&tree("a"), 1);
    ledger.lineage.note(&tree("c"), MOVED);
    let _ = ledger.follow(&sequences, UNTIL);
    for account in ledger.accounts.all_mut() {
        account.used = vec![17, 5];
    }
    (sequences, ledger)
}

/// A directory with commands, jobs and the state of a slurmctld.
struct Site(tempfile::TempDir);

impl Site {
    fn new(ledger: &Ledger, runs: &[Run]) -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        let state = site.0.path().join("state");
        fs::create_dir(&state).unwrap();
        fs::write(state.join("multifactor2_grants"), ledger.text()).unwrap();
        let config = format!(
            "SlurmUser = root(0)\nAccountingStorageType = accounting_storage/slurmdbd\nAccountingStorageEnforce = limits\nStateSaveLocation = {}",
            state.display()
        );
        let alive: Vec<String> =
            (1..).zip(runs).filter(|(_, run)| run.end == 0).map(|(id, _): (u32, _)| id.to_string()).collect();
        site.command("scontrol", &format!("cat <<'X'\n{config}\nX"));
        site.command("squeue", &format!("printf '%s\\n' {}", alive.join(" ")));
        site.command("sdiag", "echo 'DBD Agent queue size: 0'");
        site.command("sacctmgr", "printf '\\nSlurmDBD configuration:\\nPurgeJobAfter = NONE\\n'");
        let mut jobs = String::new();
        for (id, run) in (1..).zip(runs) {
            let [user, account, partition, qos, wckey] = run.words;
            let tres: Vec<String> = run.tres.iter().map(|(name, count)| format!("{name}={count}")).collect();
            let Run { start, end, suspended: (from, to), gid, state, .. } = run;
            let _ = writeln!(
                jobs,
                "{id}|{start}|{end}|{from}|{to}|{gid}|{user}|{account}|{partition}|{qos}|{wckey}|{}|{state}",
                tres.join(",")
            );
        }
        fs::write(site.0.path().join("jobs"), jobs).unwrap();
        site.script("sacct", SACCT);
        site
    }

    fn command(&self, name: &str, body: &str) {
        self.script(name, &format!("#!/bin/sh\n{body}\n"));
    }

    fn script(&self, name: &str, text: &str) {
        let file = self.0.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn ask(&self, more: &[&str], variable: Option<&str>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_multifactor2"));
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        command.args(["grants", "--reconcile"]).args(more).env("PATH", path).env("TZ", "Asia/Tokyo");
        if let Some(variable) = variable {
            command.env(variable, "1");
        }
        command.output().unwrap()
    }

    fn correction(&self) -> Option<Correction> {
        let text = fs::read_to_string(self.0.path().join("state/multifactor2_grants.correction")).ok()?;
        Some(Correction::parse(&text).unwrap())
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What was used of each line and period, by the second.
fn expected(sequences: &Sequences, runs: &[Run]) -> BTreeMap<(String, usize), i128> {
    let above = |account: &str, at: i64| -> Vec<String> {
        let up: &[&str] = match account {
            "b" if at < MOVED => &["b", "a"],
            "b" => &["b", "c"],
            "a" => &["a"],
            "c" => &["c"],
            _ => &[],
        };
        up.iter().map(|name| (*name).to_owned()).collect()
    };
    let mut sums = BTreeMap::new();
    for sequence in sequences.all.iter().filter(|sequence| !sequence.has_factors) {
        let key = &sequence.key;
        for line in &sequence.lines {
            for period in 1..=line.grant.count() {
                let (begin, end) = line.grant.periods.span(period).unwrap();
                let (begin, end) = (begin.max(line.counted_from.unwrap_or(begin)), end.min(UNTIL));
                if begin >= end {
                    continue;
                }
                let mut sum = 0_i128;
                for run in runs {
                    let [user, account, partition, qos, wckey] = run.words;
                    let is_in = |at: i64| {
                        let is_of = match key.kind.to_string().as_str() {
                            "Account" => above(account, at).contains(&key.name),
                            "User" => user == key.name,
                            "QOS" => qos == key.name,
                            "WCKey" => wckey.trim_start_matches('*') == key.name,
                            _ => run.gid == 700,
                        };
                        is_of
                            && key
                                .partitions
                                .as_ref()
                                .is_none_or(|all| all.iter().any(|one| one == partition))
                    };
                    let seconds =
                        (begin.max(run.start)..end).filter(|at| run.runs(*at) && is_in(*at)).count();
                    sum += run.has(&key.unit) * i128::try_from(seconds).unwrap();
                }
                sums.insert((line.ledger.clone(), period), sum);
            }
        }
    }
    sums
}

#[test]
fn the_sums_are_those_of_the_seconds_that_jobs_have_run() {
    let runs = runs();
    let (sequences, mut ledger) = ledger();
    for (id, run) in (1..).zip(&runs) {
        if run.suspended.0 != 0 && run.end == 0 {
            let ran = (run.start..UNTIL).filter(|at| run.runs(*at)).count();
            ledger.marks.insert(id, Mark { started: run.start, at: UNTIL, ran: i64::try_from(ran).unwrap() });
        }
    }
    let site = Site::new(&ledger, &runs);
    let said = site.ask(&["--dry-run"], None);
    assert!(said.status.success() && text(&said).contains("Nothing was written."), "{}", text(&said));
    assert_eq!(site.correction(), None);
    let said = site.ask(&[], None);
    assert!(said.status.success(), "{}", text(&said));
    assert!(
        text(&said)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains("Account b was moved below c on"),
        "{}",
        text(&said)
    );
    let correction = site.correction().unwrap();
    assert_eq!((correction.id, correction.at), (0xabcd, UNTIL));
    let found: BTreeMap<(String, usize), i128> =
        correction.periods.iter().map(|(key, compared)| (key.clone(), compared.accounted)).collect();
    assert_eq!(found, expected(&sequences, &runs));
    let file = fs::metadata(site.0.path().join("state/multifactor2_grants.correction")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    // The plugin takes it, and from then on has the numbers of the accounting.
    let count = correction.periods.len();
    assert_eq!(ledger.correct(&correction), Ok(count));
    for ((line, period), sum) in &found {
        assert_eq!(ledger.accounts.get(line).unwrap().amount(*period), *sum, "{line} {period}");
    }
    // Only the latest two and what was never compared are asked for again.
    let fewer = Site::new(&ledger, &runs);
    assert!(fewer.ask(&[], None).status.success() && site.ask(&["--all"], None).status.success());
    let (fewer, all) = (fewer.correction().unwrap(), site.correction().unwrap());
    assert!(fewer.periods.len() < count && all.periods.len() == count);
    for (key, compared) in &fewer.periods {
        assert_eq!(all.periods[key], *compared);
    }
}

#[test]
fn what_slurmctld_does_not_know_is_named_and_not_counted() {
    let mut runs = runs();
    let (sequences, ledger) = ledger();
    runs.retain(|run| run.suspended.1 != 0 || run.suspended.0 == 0);
    let site = Site::new(&ledger, &runs);
    let alive = runs.iter().position(|run| run.state == "RUNNING" && run.start < UNTIL - 10).unwrap();
    site.command("squeue", "true");
    let said = text(&site.ask(&[], None));
    assert!(said.contains("sacctmgr show runawayjobs") && said.contains(&(alive + 1).to_string()), "{said}");
    runs.retain(|run| run.end != 0);
    let found = site
        .correction()
        .unwrap()
        .periods
        .into_iter()
        .map(|(key, compared)| (key, compared.accounted))
        .collect::<BTreeMap<_, _>>();
    assert_eq!(found, expected(&sequences, &runs));
}

#[test]
fn grants_with_factors_are_named_and_stay_as_they_are() {
    let words = |output: &Output| text(output).split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, ledger) = ledger();
    let said = words(&Site::new(&ledger, &runs()).ask(&[], None));
    assert!(said.contains("grants with Factors=yes stay unchanged: account c."), "{said}");
    let only: Vec<&str> = LINES.lines().filter(|line| line.contains("Factors=yes")).collect();
    let site = Site::new(&ledger_of(&only.join("\n")).1, &runs());
    let said = site.ask(&[], None);
    assert_eq!((said.status.code(), site.correction()), (Some(1), None), "{said:?}");
    assert!(words(&said).contains("all grants have Factors=yes"), "{said:?}");
}

#[test]
fn it_refuses_what_would_not_be_true() {
    let (_, ledger) = ledger();
    let site = Site::new(&ledger, &[]);
    let refused = |name: &str, body: &str, status: i32, due: &str| {
        let before = fs::read_to_string(site.0.path().join(name)).unwrap();
        site.command(name, body);
        let said = site.ask(&[], None);
        assert!(said.status.code() == Some(status) && text(&said).contains(due), "{name}: {}", text(&said));
        assert_eq!(site.correction(), None);
        site.script(name, &before);
    };
    refused("sdiag", "echo 'DBD Agent queue size: 3'", 3, "3 messages");
    refused("sdiag", "true", 3, "sdiag");
    refused("squeue", "exit 1", 3, "squeue");
    refused("sacctmgr", "exit 1", 3, "sacctmgr");
    refused("scontrol", "echo 'SlurmUser = root(0)'", 1, "accounting_storage/slurmdbd");
    let said = site.ask(&[], Some("FAILS"));
    assert!(said.status.code() == Some(3) && text(&said).contains("no slurmdbd"), "{}", text(&said));
    assert_eq!(site.correction(), None);
    // Jobs older than a day are gone: nothing is left that can be compared.
    site.command("sacctmgr", "printf '\\nSlurmDBD configuration:\\nPurgeJobAfter = 1 days\\n'");
    let said = text(&site.ask(&[], None)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("PurgeJobAfter")
            && said.contains("1 of account a")
            && said.contains("Nothing was written."),
        "{said}"
    );
    fs::write(site.0.path().join("state/multifactor2_grants"), "x").unwrap();
    assert_eq!(site.ask(&[], None).status.code(), Some(3));
    fs::remove_file(site.0.path().join("state/multifactor2_grants")).unwrap();
    let said = site.ask(&[], None);
    assert!(text(&said).contains("run this on the controller"), "{}", text(&said));
    let said = site.ask(&["--from", "x"], None);
    assert!(text(&said).contains("--from"), "{}", text(&said));
}
