//! Shows a replay as one page for a browser.

use crate::answers::replay::answer::measures::{self, Measure};
use crate::answers::replay::answer::{Account, Change, Comparison, Document, Past, Policy, Replay};
use crate::error::Error;
use crate::output::html::svg::{self, Axis, SvgLine};
use crate::output::html::{Cell, Column, HtmlRow, Page, Table};
use crate::output::numbers::{number, percent, seconds, span, time};

use super::summary::Summary;
use super::text::{about, lists, noise, NO_FAIR_START};

/// A chart has four colours, one of which is for the share.
const POLICIES: usize = 3;

const DAY: i64 = 86_400;

/// How many accounts have charts; the tables have all.
const CHARTS: usize = 8;

/// Makes the page.
///
/// # Errors
/// The answer cannot be put into it.
pub fn page(answer: &Replay) -> Result<String, Error> {
    let mut page = Page::new("Replay", &about(answer));
    if answer.stopped {
        page = page.warning(
            "This replay was stopped early. The results cover the jobs that had started by then.",
        );
    }
    let summary = Summary::of(answer);
    page = page.lead(&summary.headline);
    for warning in &summary.warnings {
        page = page.warning(warning);
    }
    page = page.list(&summary.items);
    page = page
        .paragraph("Users do not react in a replay: they submit as recorded under every policy. Compare policies instead of \
         reading single numbers.")
        .section("Policies compared")
        .table(&policies(answer));
    page = over_time(page, answer);
    page = waits(page, answer);
    page = match fair_start(answer) {
        Some(table) => {
            page.section("Jobs delayed by jobs submitted after them").table(&table)
        }
        None => page.paragraph(NO_FAIR_START),
    };
    for comparison in &answer.comparisons {
        page = gains(page, comparison);
    }
    if let Some(past) = &answer.past {
        page = page
            .section("The past, replayed, against the record")
            .table(&past_groups(past))
            .table(&past_blocks(past));
    }
    if answer.trace.runs > 0 {
        page = page
            .section("What depends on chance")
            .paragraph(&format!(
                "Each policy was replayed {} more times, with submissions up to {} s later at random. A difference between two \
                 policies is reported only if it exceeds two deviations.",
                answer.trace.runs, answer.trace.jitter
            ))
            .table(&runs(answer));
    }
    if !answer.gaming.is_empty() {
        page = page.section("Gains of users who game the policy").table(&gaming(answer));
    }
    page = page.section("What decided job starts, and how the replay treats it").table(&facts(answer));
    if !answer.unsaid.is_empty() {
        page = page.section("Without a verdict").table(&unsaid(answer));
    }
    page = page.section("What the measures mean").table(&definitions(answer));
    for (title, items) in lists(answer) {
        page = page.section(title).list(&items);
    }
    page.data(&Document::new(answer.clone())).map(Page::finish)
}

fn of_seconds(value: f64) -> Cell {
    Cell::number(value, &span(seconds(value)))
}

fn of_part(value: f64) -> Cell {
    Cell::number(value, &percent(value))
}

fn of_number(value: f64) -> Cell {
    Cell::number(value, &number(value))
}

fn policies(answer: &Replay) -> Table {
    let on_page = || measures::all().filter_map(|measure| Some((measure.page?, measure)));
    let columns = on_page().map(|((heading, about), _)| Column::number(heading).about(about));
    let columns: Vec<Column> = [Column::text("Policy")].into_iter().chain(columns).collect();
    let mut table = Table::new("Policies", &columns);
    if let Some(waits) = &answer.trace.recorded {
        let cell = |measure: &Measure| {
            measure.recorded(waits).map_or_else(Cell::none, |value| Cell::number(value, &measure.unit.show(value)))
        };
        table.row(on_page().fold(HtmlRow::new("as recorded"), |row, (_, measure)| row.cell(cell(measure))));
    }
    for policy in &answer.policies {
        let cell = |measure: &Measure| Cell::number(measure.value(policy), &measure.show(policy));
        table.row(on_page().fold(HtmlRow::new(&policy.name).strong(), |row, (_, measure)| row.cell(cell(measure))));
    }
    table
}

fn date(at: f64) -> String {
    time(seconds(at)).chars().take(10).collect()
}

/// Without the year.
fn day_and_minute(at: f64) -> String {
    let time = time(seconds(at));
    time.get(5..16).map_or_else(|| time.clone(), |minute| minute.replace('T', " "))
}

/// Share against usage of the accounts with the largest shares, and the share error.
fn over_time(page: Page, answer: &Replay) -> Page {
    let Some(first) = answer.policies.first() else { return page };
    let begins = &first.series.begins;
    let is_long = begins.last().zip(begins.first()).is_some_and(|(last, first)| last - first > 3 * DAY);
    // Three of them have to fit beside each other on a phone.
    let x = Axis { name: "Time", unit: if is_long { date } else { day_and_minute } };
    let y = Axis { name: "Part of all usage", unit: svg::percent };
    let shown = &answer.policies[..answer.policies.len().min(POLICIES)];
    #[allow(clippy::cast_precision_loss)] // seconds since 1970
    let times = || first.series.begins.iter().map(|begin| *begin as f64);
    let line = |name: &str, values: &mut dyn Iterator<Item = f64>| SvgLine {
        name: name.to_owned(),
        points: times().zip(values.map(|part| 100.0 * part)).collect(),
    };
    let mut page = page.section("Share against usage over time").paragraph(
        "Usage decays by the half-life and is shown as a part of all usage. An account that requests less than its share stays \
         below it under every policy.",
    );
    let mut order: Vec<usize> = (0..first.series.accounts.len()).collect();
    order.sort_by(|one, other| {
        first.series.accounts[*other].share.total_cmp(&first.series.accounts[*one].share)
    });
    for at in order.into_iter().take(CHARTS) {
        let account = &first.series.accounts[at];
        let mut lines = Vec::new();
        for policy in shown {
            if let Some(series) = policy.series.accounts.get(at) {
                lines.push(line(&policy.name, &mut series.usage.iter().copied()));
            }
        }
        // The last, so that a policy has the same colour in every chart.
        lines.push(line("share", &mut times().map(|_| account.share)));
        let desc = format!("Its share is {}.", percent(account.share));
        page = page.chart(&svg::lines(&account.name, &desc, x, y, &lines, true));
    }
    let errors: Vec<SvgLine> = shown
        .iter()
        .map(|policy| line(&policy.name, &mut policy.series.share_error.iter().copied()))
        .collect();
    let y = Axis { name: "Share error", unit: svg::percent };
    let page = page.chart(&svg::lines("Share error", "0 % is as configured.", x, y, &errors, true));
    if answer.policies.len() > POLICIES {
        page.paragraph(&format!("Charts show the first {POLICIES} policies."))
    } else {
        page
    }
}

/// How long the jobs of accounts wait.
fn waits(page: Page, answer: &Replay) -> Page {
    let Some(first) = answer.policies.first() else { return page };
    let mut most: Vec<&Account> = first.accounts.iter().filter(|account| account.jobs > 0).collect();
    most.sort_by_key(|account| std::cmp::Reverse(account.jobs));
    let shown = &answer.policies[..answer.policies.len().min(POLICIES + 1)];
    let names: Vec<&str> = shown.iter().map(|policy| policy.name.as_str()).collect();
    let hours = |value: f64| format!("{value:.2} h");
    let mut page = page.section(&format!("Waits by {}", answer.trace.account_word));
    for (title, quantile) in [("Median wait", 3), ("Wait that 95 % of the jobs do not exceed", 5)] {
        let of = |account: &Account| {
            let values = shown.iter().map(|policy| {
                same(policy, account).map_or(f64::NAN, |account| account.wait_quantiles[quantile] / 3600.0)
            });
            (account.name.clone(), values.collect())
        };
        let items: Vec<(String, Vec<f64>)> = most.iter().take(CHARTS).map(|account| of(account)).collect();
        page = page.chart(&svg::bars(title, "Of those with the most jobs.", &names, &items, hours));
    }
    answer.policies.iter().fold(page, |page, policy| page.table(&accounts(policy)))
}

/// The same account under another policy.
fn same<'p>(policy: &'p Policy, wanted: &Account) -> Option<&'p Account> {
    policy.accounts.iter().find(|of| (&of.name, &of.parent) == (&wanted.name, &wanted.parent))
}

fn accounts(policy: &Policy) -> Table {
    let columns = [
        Column::text("Account"),
        Column::number("Jobs"),
        Column::number("Share").about("Of the whole machine."),
        Column::number("Entitled").about("What it should have had, given what all asked for."),
        Column::number("Usage").about("What it had, of what all had while jobs waited."),
        Column::bars("Entitled, usage"),
        Column::number("Wait").about("The mean."),
        Column::number("5 %").about("5 % of its jobs wait no longer than this."),
        Column::number("25 %"),
        Column::number("50 %"),
        Column::number("75 %"),
        Column::number("95 %"),
        Column::number("100 %"),
        Column::number("Lag").about("How far it was behind at most, in CPU hours."),
    ];
    let mut table = Table::new(&format!("Under {}", policy.name), &columns);
    for account in &policy.accounts {
        let mut row = HtmlRow::new(&account.name)
            .level(account.depth.saturating_sub(1))
            .note(&account.parent)
            .cell(of_number(as_f64(account.jobs)))
            .cell(of_part(account.share))
            .cell(of_part(account.entitled))
            .cell(of_part(account.usage))
            .cell(Cell::bars(account.entitled, account.usage))
            .cell(of_seconds(account.mean_wait));
        for wait in &account.wait_quantiles[1..] {
            row = row.cell(of_seconds(*wait));
        }
        table.row(row.cell(account.lag.map_or_else(Cell::none, |lag| of_number(lag.round()))));
    }
    table
}

fn gains(page: Page, comparison: &Comparison) -> Page {
    let page = page
        .section(&format!("Who gains and who loses from {} to {}", comparison.from, comparison.to))
        .facts(&[
            ("Jobs that start earlier", comparison.earlier.to_string()),
            ("Later", comparison.later.to_string()),
            ("At the same time", comparison.same.to_string()),
            ("Order inversions", percent(comparison.inversions)),
        ]);
    page.table(&changes("Accounts, largest gain first", "Account", &comparison.accounts))
        .table(&changes("Users, largest gain first", "User", &comparison.users))
        .table(&changes("Partitions, largest gain first", "Partition", &comparison.partitions))
}

fn changes(caption: &str, what: &'static str, changes: &[Change]) -> Table {
    let columns = [
        Column::text(what),
        Column::number("Jobs"),
        Column::number("Before").about("The mean wait under the first policy."),
        Column::number("After").about("That under the second."),
        Column::number("Longer").about("How much longer it is; below 0 if it is shorter."),
        Column::number("Noise").about("A difference must exceed this to be reported: chance, and the error of the past."),
        Column::text("Told"),
    ];
    let mut table = Table::new(caption, &columns);
    for change in changes {
        table.row(
            HtmlRow::new(&change.name)
                .cell(of_number(as_f64(change.jobs)))
                .cell(of_seconds(change.before))
                .cell(of_seconds(change.before + change.longer))
                .cell(Cell::change(change.longer, &span(seconds(change.longer)), change.longer <= 0.0))
                .cell(noise(change).map_or_else(Cell::none, of_seconds))
                .cell(Cell::text(yes(change.is_told))),
        );
    }
    table
}

fn yes(is_so: bool) -> &'static str {
    if is_so {
        "yes"
    } else {
        "no"
    }
}

fn past_groups(past: &Past) -> Table {
    let columns = [
        Column::text("Name"),
        Column::text("Of"),
        Column::number("Jobs").about("With a recorded start, and counted."),
        Column::number("CPU hours"),
        Column::number("Recorded").about("Their mean wait."),
        Column::number("Replayed").about("The same in the replay of the past policy."),
        Column::number("Give or take").about("Two standard errors over blocks of time."),
    ];
    let mut table = Table::new("Groups of jobs", &columns);
    for group in &past.groups {
        table.row(
            HtmlRow::new(&group.name)
                .cell(Cell::text(&group.of))
                .cell(of_number(as_f64(group.jobs)))
                .cell(of_number(group.cpu_hours.round()))
                .cell(of_seconds(group.recorded))
                .cell(of_seconds(group.recorded + group.error))
                .cell(group.deviation.map_or_else(Cell::none, |deviation| of_seconds(2.0 * deviation))),
        );
    }
    table
}

fn past_blocks(past: &Past) -> Table {
    let columns = [Column::text("From"), Column::number("Jobs"), Column::number("Recorded"), Column::number("Replayed")];
    let mut table = Table::new("Blocks of time", &columns);
    for block in &past.blocks {
        table.row(
            HtmlRow::new(&time(block.begin))
                .cell(of_number(as_f64(block.jobs)))
                .cell(of_seconds(block.recorded))
                .cell(of_seconds(block.recorded + block.error)),
        );
    }
    table
}

fn facts(answer: &Replay) -> Table {
    let columns = [
        Column::text("Fact"),
        Column::text("Source"),
        Column::number("Jobs"),
        Column::number("CPU hours"),
        Column::text("Here"),
    ];
    let mut table = Table::new("Facts of the trace", &columns);
    for fact in &answer.facts {
        table.row(
            HtmlRow::new(&fact.fact)
                .cell(Cell::text(&fact.source))
                .cell(fact.jobs.map_or_else(Cell::none, |jobs| of_number(as_f64(jobs))))
                .cell(fact.cpu_hours.map_or_else(Cell::none, |hours| of_number(hours.round())))
                .cell(Cell::text(&fact.treatment)),
        );
    }
    table
}

fn unsaid(answer: &Replay) -> Table {
    let columns = [Column::text("Name"), Column::text("Of"), Column::number("Jobs"), Column::number("CPU hours"), Column::text("Why")];
    let mut table = Table::new("Accounts, users and partitions", &columns);
    for unsaid in &answer.unsaid {
        table.row(
            HtmlRow::new(&unsaid.name)
                .cell(Cell::text(&unsaid.of))
                .cell(of_number(as_f64(unsaid.jobs)))
                .cell(of_number(unsaid.cpu_hours.round()))
                .cell(Cell::text(&unsaid.why)),
        );
    }
    table
}

fn runs(answer: &Replay) -> Table {
    let columns = [
        Column::text("Measure"),
        Column::text("Policy"),
        Column::number("Runs"),
        Column::number("Mean"),
        Column::number("Deviation").about("The standard deviation of a run."),
        Column::number("Least"),
        Column::number("Most"),
    ];
    let mut table = Table::new("Jittered runs", &columns);
    for policy in &answer.policies {
        for run in &policy.runs {
            table.row(
                HtmlRow::new(&run.measure)
                    .cell(Cell::text(&policy.name))
                    .cell(of_number(as_f64(run.runs)))
                    .cell(of_number(run.mean))
                    .cell(of_number(run.deviation))
                    .cell(of_number(run.least))
                    .cell(of_number(run.most)),
            );
        }
    }
    table
}

fn fair_start(answer: &Replay) -> Option<Table> {
    let columns = [
        Column::text("Policy"),
        Column::number("Jobs").about("The sample."),
        Column::number("Later")
            .about("Jobs that start later than if nothing had been submitted after them."),
        Column::number("Unfairness").about("How much later: the mean over all of them."),
        Column::number("95 %").about("95 % are not later than this."),
        Column::number("Most"),
    ];
    let mut table = Table::new("On a sample", &columns);
    let found: Vec<_> =
        answer.policies.iter().filter_map(|policy| Some((policy, policy.fair_start?))).collect();
    for (policy, fair) in &found {
        let of = fair.unfairness;
        let row =
            HtmlRow::new(&policy.name).cell(of_number(as_f64(fair.jobs))).cell(of_number(as_f64(fair.later)));
        table.row(row.cell(of_seconds(of.mean)).cell(of_seconds(of.p95)).cell(of_seconds(of.worst)));
    }
    (!found.is_empty()).then_some(table)
}

fn gaming(answer: &Replay) -> Table {
    let columns = [
        Column::text("User"),
        Column::text("Plays"),
        Column::text("Policy"),
        Column::number("Gain")
            .about("Service of the user divided by that of an honest twin: 1 is no gain."),
        Column::number("Honest").about("The same if both are honest, which is chance."),
        Column::number("Deviation").about("The standard deviation of the difference over jittered runs."),
        Column::text("Told").about("Whether the difference exceeds two deviations."),
        Column::number("By entitlement")
            .about("The same for service relative to entitlement: a second account entitles to more."),
        Column::number("Both waited").about("How long both had jobs waiting."),
    ];
    let gain =
        |gain: Option<f64>| gain.map_or_else(Cell::none, |gain| Cell::number(gain, &format!("{gain:.3}")));
    let mut table = Table::new("Strategists and their twins", &columns);
    for row in &answer.gaming {
        table.row(
            HtmlRow::new(&row.user)
                .cell(Cell::text(&format!("{}: {}", row.strategy, row.described)))
                .cell(Cell::text(&row.policy))
                .cell(gain(row.gain))
                .cell(gain(row.honest))
                .cell(gain(row.deviation))
                .cell(Cell::text(yes(row.is_told)))
                .cell(gain(row.by_entitlement))
                .cell(of_seconds(row.seconds)),
        );
    }
    table
}

fn definitions(answer: &Replay) -> Table {
    let mut table = Table::new(
        "Definitions",
        &[Column::text("Measure"), Column::text("Meaning"), Column::text("Source")],
    );
    for definition in &answer.definitions {
        table.row(
            HtmlRow::new(definition.measure)
                .cell(Cell::text(definition.meaning))
                .cell(Cell::text(definition.source)),
        );
    }
    table
}

#[allow(clippy::cast_precision_loss)] // counts of jobs
fn as_f64(count: usize) -> f64 {
    count as f64
}
