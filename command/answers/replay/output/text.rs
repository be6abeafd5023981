//! Shows a replay as tables.

use crate::answers::replay::answer::measures::{in_text, Section};
use crate::answers::replay::answer::{Change, Comparison, Past, PastGroup, Policy, Replay};
use crate::output::numbers::{count, number, percent, seconds, span, time};
use crate::output::{Form, Page, Table, Terminal};

use super::summary::Summary;

/// How many of those who gain or lose most are named; JSON and the page have all.
const NAMED: usize = 8;

/// How many accounts are shown.
const ACCOUNTS: usize = 30;

/// Shows it.
pub fn text(answer: &Replay, terminal: Terminal) -> String {
    let mut page = Page::new(terminal);
    if answer.stopped {
        page.warning(
            "This replay was stopped early. The results cover the jobs that had started by then.",
        );
    }
    let summary = Summary::of(answer);
    page.headline(&summary.headline);
    for warning in &summary.warnings {
        page.warning(warning);
    }
    for item in &summary.items {
        page.item(item);
    }
    page.paragraph(&about(answer));
    page.title("Waits");
    page.ready(&waits(answer).show(Form::Columns, true, terminal));
    page.title("Fairness while jobs waited");
    page.ready(&fairness(answer).show(Form::Columns, true, terminal));
    if answer.policies.iter().any(|policy| policy.fair_start.is_some()) {
        page.title("Jobs delayed by jobs submitted after them, from a sample");
        page.ready(&fair_start(answer).show(Form::Columns, true, terminal));
    } else {
        page.paragraph(NO_FAIR_START);
    }
    page.title(&format!("By {}", answer.trace.account_word));
    page.ready(&accounts(answer).show(Form::Columns, true, terminal));
    let all = answer.policies.first().map_or(0, |policy| policy.accounts.len());
    if all > ACCOUNTS {
        page.paragraph(&format!(
            "The {ACCOUNTS} with the most jobs of {all}. --html, --csv and --json have all."
        ));
    }
    for comparison in &answer.comparisons {
        compared(&mut page, comparison, terminal);
    }
    if let Some(past) = &answer.past {
        page.title(&format!("The past, replayed under {}, against the record", past.policy));
        page.ready(&self::past(past).show(Form::Columns, true, terminal));
    }
    if answer.trace.runs > 0 {
        page.title(&format!(
            "{} with submissions up to {} s later at random",
            count(answer.trace.runs, "run", "runs"),
            answer.trace.jitter
        ));
        page.ready(&runs(answer).show(Form::Columns, true, terminal));
    }
    if !answer.gaming.is_empty() {
        page.title("Gains of users who game the policy");
        page.ready(&gaming(answer).show(Form::Columns, true, terminal));
        page.paragraph("Gain: service of the user divided by that of an honest twin with the same work. Honest: the same if both \
         are honest, which is chance. Deviation: the standard deviation of the difference over jittered runs, each with its own \
         twin; a gain is reported if the difference exceeds two of them. ByEntitlement: the same for service relative to \
         entitlement, because a second account entitles to more.");
    }
    page.title("What decided job starts, and how the replay treats it");
    page.ready(&facts(answer).show(Form::Columns, true, terminal));
    cautions(&mut page, answer);
    page.finish()
}

/// What was replayed, in one paragraph.
pub(super) fn about(answer: &Replay) -> String {
    let trace = &answer.trace;
    let warm_up = if trace.since > trace.first {
        format!(" Jobs before {} are a warm-up and not counted.", time(trace.since))
    } else {
        String::new()
    };
    let not_counted = match trace.not_counted {
        0 => String::new(),
        1 => " 1 job is not counted, because some policies did not complete it.".to_owned(),
        many => format!(" {many} jobs are not counted, because some policies did not complete them."),
    };
    format!(
        "{}: {} of {} in {}, submitted from {} to {}, on {} in {}, scheduler {}.{warm_up}{not_counted}",
        trace.name,
        count(trace.jobs, "job", "jobs"),
        count(trace.users, "user", "users"),
        count(trace.accounts, &trace.account_word, &format!("{}s", trace.account_word)),
        time(trace.first),
        time(trace.last),
        count(usize::try_from(trace.cpus).unwrap_or(usize::MAX), "CPU", "CPUs"),
        count(trace.partitions.len(), "partition", "partitions"),
        trace.scheduler
    )
}

fn waits(answer: &Replay) -> Table {
    let mut table = of_measures(Section::Waits);
    if let Some(waits) = &answer.trace.recorded {
        let measures = in_text(Section::Waits).map(|(_, measure)| measure.show_recorded(waits));
        table.row(["as recorded".to_owned()].into_iter().chain(measures).collect());
    }
    add_policies(&mut table, answer, Section::Waits);
    table
}

fn fairness(answer: &Replay) -> Table {
    let mut table = of_measures(Section::Shares);
    add_policies(&mut table, answer, Section::Shares);
    table
}

fn of_measures(section: Section) -> Table {
    let headings: Vec<&str> = ["Policy"].into_iter().chain(in_text(section).map(|(heading, _)| heading)).collect();
    Table::new(&headings)
}

fn add_policies(table: &mut Table, answer: &Replay, section: Section) {
    for policy in &answer.policies {
        let measures = in_text(section).map(|(_, measure)| measure.show(policy));
        table.row([policy.name.clone()].into_iter().chain(measures).collect());
    }
}

/// What is said where fair starts were not asked for.
pub(super) const NO_FAIR_START: &str =
    "Delays by jobs submitted later are not computed, because each job takes a replay. --fair-start 100 takes a sample.";

fn fair_start(answer: &Replay) -> Table {
    let mut table = Table::new(&["Policy", "Jobs>", "Later>", "Unfairness>", "Unfairness95>", "Most>"]);
    for policy in &answer.policies {
        let Some(fair) = &policy.fair_start else { continue };
        let mut row = vec![policy.name.clone(), fair.jobs.to_string(), fair.later.to_string()];
        let of = fair.unfairness;
        row.extend([of.mean, of.p95, of.worst].map(|value| span(seconds(value))));
        table.row(row);
    }
    table
}

fn accounts(answer: &Replay) -> Table {
    let mut table = Table::new(&[
        "Account",
        "Policy",
        "Jobs>",
        "Share>",
        "Entitled>",
        "Usage>",
        "Wait>",
        "Median>",
        "Wait95>",
        "LagHours>",
    ]);
    let Some(first) = answer.policies.first() else { return table };
    let mut order: Vec<usize> = (0..first.accounts.len()).collect();
    if order.len() > ACCOUNTS {
        order.sort_by_key(|at| std::cmp::Reverse(first.accounts[*at].jobs));
        order.truncate(ACCOUNTS);
        order.sort_unstable();
    }
    for at in order {
        for (which, Policy { name, accounts, .. }) in answer.policies.iter().enumerate() {
            let wanted = &first.accounts[at];
            let is_it = |of: &&crate::answers::replay::answer::Account| {
                (&of.name, &of.parent) == (&wanted.name, &wanted.parent)
            };
            let Some(account) = accounts.iter().find(is_it) else { continue };
            let indented = format!("{}{}", " ".repeat(account.depth.saturating_sub(1).min(20)), account.name);
            table.row(vec![
                if which == 0 { indented } else { String::new() },
                name.clone(),
                account.jobs.to_string(),
                percent(account.share),
                percent(account.entitled),
                percent(account.usage),
                span(seconds(account.mean_wait)),
                span(seconds(account.wait_quantiles[3])),
                span(seconds(account.wait_quantiles[5])),
                account.lag.map_or_else(|| "-".to_owned(), |lag| number(lag.round())),
            ]);
        }
    }
    table
}

fn compared(page: &mut Page, comparison: &Comparison, terminal: Terminal) {
    page.title(&format!("From {} to {}", comparison.from, comparison.to));
    page.paragraph(&format!(
        "{} start earlier, {} later, {} at the same time. {} of the pairs that started one after the other swap their order.",
        comparison.earlier,
        comparison.later,
        comparison.same,
        percent(comparison.inversions)
    ));
    for (what, changes) in [
        ("Account", &comparison.accounts),
        ("User", &comparison.users),
        ("Partition", &comparison.partitions),
    ] {
        let mut table = Table::new(&[what, "Jobs>", "Before>", "After>", "Longer>", "Noise>", "Told"]);
        for change in ends(changes) {
            table.row(vec![
                change.name.clone(),
                change.jobs.to_string(),
                span(seconds(change.before)),
                span(seconds(change.before + change.longer)),
                span(seconds(change.longer)),
                noise(change).map_or_else(|| "-".to_owned(), |noise| span(seconds(noise))),
                if change.is_told { "yes" } else { "no" }.to_owned(),
            ]);
        }
        page.ready(&table.show(Form::Columns, true, terminal));
        if changes.len() > NAMED {
            let others = changes.len() - NAMED;
            page.paragraph(&format!("and {others} between them."));
        }
    }
}

/// What a difference must be larger than to be told: chance, and the error of the past. `None` if one of them is not known.
pub(super) fn noise(change: &Change) -> Option<f64> {
    Some(change.chance?.max(change.error?))
}

/// Groups of the past with the most CPU hours.
fn past(past: &Past) -> Table {
    let mut table = Table::new(&["Of", "Name", "Jobs>", "Recorded>", "Replayed>", "GiveOrTake>"]);
    let deviation = |deviation: Option<f64>| {
        deviation.map_or_else(|| "-".to_owned(), |deviation| span(seconds(2.0 * deviation)))
    };
    let mut row = |of: &str, name: &str, jobs: usize, recorded: f64, error: f64, chance: Option<f64>| {
        table.row(vec![
            of.to_owned(),
            name.to_owned(),
            jobs.to_string(),
            span(seconds(recorded)),
            span(seconds(recorded + error)),
            deviation(chance),
        ]);
    };
    row("all", "", past.jobs, past.recorded, past.error, past.deviation);
    for kind in ["partition", "account", "user", "size"] {
        let mut groups: Vec<&PastGroup> = past.groups.iter().filter(|group| group.of == kind).collect();
        groups.sort_by(|one, other| other.cpu_hours.total_cmp(&one.cpu_hours));
        for group in groups.into_iter().take(NAMED / 2) {
            row(kind, &group.name, group.jobs, group.recorded, group.error, group.deviation);
        }
    }
    table
}

/// What decided the starts of jobs, and what became of it.
fn facts(answer: &Replay) -> Table {
    let mut table = Table::new(&["Fact", "Source", "Jobs>", "CPUHours>", "Here"]);
    let shown = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
    for fact in &answer.facts {
        table.row(vec![
            fact.fact.clone(),
            fact.source.clone(),
            shown(fact.jobs.map(|jobs| jobs.to_string())),
            shown(fact.cpu_hours.map(|hours| number(hours.round()))),
            fact.treatment.clone(),
        ]);
    }
    table
}

/// Those that gain most and those that lose most.
fn ends(changes: &[Change]) -> impl Iterator<Item = &Change> {
    let half = NAMED / 2;
    let is_between = move |at: usize| changes.len() > NAMED && at >= half && at < changes.len() - half;
    changes.iter().enumerate().filter(move |(at, _)| !is_between(*at)).map(|(_, change)| change)
}

fn runs(answer: &Replay) -> Table {
    let mut table = Table::new(&["Measure", "Policy", "Runs>", "Mean>", "Deviation>", "Least>", "Most>"]);
    let measures = answer.policies.iter().map(|policy| policy.runs.len()).max().unwrap_or_default();
    for at in 0..measures {
        for policy in &answer.policies {
            let Some(run) = policy.runs.get(at) else { continue };
            table.row(vec![
                run.measure.clone(),
                policy.name.clone(),
                run.runs.to_string(),
                number(run.mean),
                number(run.deviation),
                number(run.least),
                number(run.most),
            ]);
        }
    }
    table
}

fn gaming(answer: &Replay) -> Table {
    let gain = |gain: Option<f64>| gain.map_or_else(|| "-".to_owned(), |gain| format!("{gain:.3}"));
    let mut table =
        Table::new(&["User", "Plays", "Policy", "Gain>", "Honest>", "Deviation>", "Told", "ByEntitlement>", "BothWaited>"]);
    for row in &answer.gaming {
        table.row(vec![
            row.user.clone(),
            row.strategy.clone(),
            row.policy.clone(),
            gain(row.gain),
            gain(row.honest),
            gain(row.deviation),
            if row.is_told { "yes" } else { "no" }.to_owned(),
            gain(row.by_entitlement),
            span(seconds(row.seconds)),
        ]);
    }
    table
}

/// What to know before any number is believed.
fn cautions(page: &mut Page, answer: &Replay) {
    for (title, items) in lists(answer) {
        page.title(title);
        for item in &items {
            page.item(item);
        }
    }
}

/// Lists of what is left out, not told or wrong, with their titles; without those that are empty.
pub(super) fn lists(answer: &Replay) -> Vec<(&'static str, Vec<String>)> {
    let asked = answer
        .policies
        .iter()
        .flat_map(|policy| policy.left_out.iter().map(move |what| format!("{}: {what}", policy.name)));
    let problems = answer.problems.iter().map(|problem| {
        let first = problem.first.first().map_or_else(String::new, |first| format!(" (first: {first})"));
        format!("{} {}{first}", problem.count, problem.what)
    });
    let missing = answer.missing.iter().map(|missing| format!("{}: {}", missing.what, missing.so));
    let lists = [
        ("Settings that this replay leaves out", asked.collect::<Vec<_>>()),
        ("What the trace lacks", missing.collect()),
        ("Problems in the trace", problems.collect()),
        ("What every replay leaves out", answer.left_out.clone()),
    ];
    lists.into_iter().filter(|(_, items)| !items.is_empty()).collect()
}
