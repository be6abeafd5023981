//! The page of a replay in a real browser: its numbers are those of the JSON, and it is as good to use as the other pages.

use std::ffi::OsString;
use std::fs;

use multifactor2_command::output::Terminal;
use multifactor2_command::run::run;
use serde_json::Value;
use tempfile::TempDir;

use super::driver::{key, Browser};
use super::{fits_and_can_be_read, tab_to, texts, the_policy_holds, File};
use crate::replay::trace;

/// A replay, as a page and as JSON.
struct Replayed {
    page: File,
    json: Value,
}

impl Replayed {
    /// Of a trace, and a policy of a file besides Fair Tree.
    fn new(trace: &str, policy: &str, more: &[&str]) -> Self {
        let directory = TempDir::new().unwrap();
        let path = |name: &str| directory.path().join(name).into_os_string();
        fs::write(path("sacct.txt"), trace).unwrap();
        fs::write(path(policy), "Distribution=standing\n").unwrap();
        let mut words: Vec<OsString> =
            ["multifactor2", "replay", "--json", "--procs", "8"].map(OsString::from).to_vec();
        words.extend([
            "--policy".into(),
            "fair-tree".into(),
            "--policy".into(),
            path(policy),
            "--html".into(),
            path("page.html"),
        ]);
        words.extend(more.iter().map(OsString::from));
        words.push(path("sacct.txt"));
        let printed = run(words, Terminal::PLAIN);
        assert_eq!(printed.status, 0, "{}", printed.err);
        let page = File::new(&fs::read_to_string(path("page.html")).unwrap());
        Self { page, json: serde_json::from_str(&printed.out).unwrap() }
    }

    /// What a path leads to in the answer.
    fn at(&self, path: &str) -> &Value {
        self.json["answer"].pointer(path).unwrap_or_else(|| panic!("no {path}"))
    }
}

/// The page of a replay that pictures show.
pub fn page() -> File {
    let trace = trace().replace("<b>chem</b>", "chem");
    let page = Replayed::new(&trace, "multifactor2.conf", &["--runs", "2"]).page;
    // Without the directory of this run.
    let text = fs::read_to_string(page.path()).unwrap();
    let (before, _) = text.split_once("/sacct.txt").unwrap();
    let directory = before.rsplit_once(['>', '"']).unwrap().1;
    File::new(&text.replace(&format!("{directory}/"), ""))
}

/// The cells of a table with a caption: what is shown, and the number by which it sorts.
fn cells(browser: &Browser, caption: &str) -> Vec<Vec<(String, f64)>> {
    let script = format!(
        "const table = [...document.querySelectorAll('table')].find(table => table.caption.textContent.startsWith({}));
         return [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => [cell.textContent, cell.dataset.v ?? '']))",
        Value::from(caption)
    );
    let number = |text: &str| text.replace(',', "").parse().unwrap_or(f64::NAN);
    let cell = |cell: &Value| {
        let (shown, value) = (cell[0].as_str().unwrap(), cell[1].as_str().unwrap());
        (shown.to_owned(), number(if value.is_empty() { shown } else { value }))
    };
    let rows = browser.eval(&script);
    rows.as_array().unwrap().iter().map(|row| row.as_array().unwrap().iter().map(cell).collect()).collect()
}

/// Seconds of `days-hours:minutes:seconds`, parts of percent.
fn read(shown: &str) -> Option<f64> {
    if let Some(percent) = shown.strip_suffix('%') {
        return percent.parse::<f64>().ok().map(|percent| percent / 100.0);
    }
    let sign = if shown.starts_with('-') { -1.0 } else { 1.0 };
    let shown = shown.trim_start_matches(['-', '+']);
    let (days, clock) = shown.split_once('-').unwrap_or(("0", shown));
    let parts: Vec<f64> = clock.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hours, minutes, seconds] = parts[..] else { return None };
    Some(sign * (days.parse::<f64>().ok()? * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds))
}

/// A cell has the number that the JSON has, and shows it.
fn is_shown(cell: &(String, f64), value: &Value, what: &str) {
    let (shown, number) = cell;
    let expected = value.as_f64().unwrap_or_else(|| panic!("{what} is {value}"));
    // Plain numbers are shown with five digits or as whole ones, and have no other.
    let near = |found: f64, most: f64| (found - expected).abs() <= most;
    assert!(
        near(*number, 1e-9 * expected.abs()) || near(*number, 0.5) && read(shown).is_none(),
        "{what}: {cell:?}, {expected}"
    );
    if let Some(read) = read(shown) {
        let most = if shown.ends_with('%') { 0.000_501 } else { 0.501 };
        assert!(near(read, most), "{what}: {cell:?}, {expected}");
    }
}

#[test]
fn the_numbers_of_a_replays_page_are_those_of_its_json() {
    let Some(browser) = Browser::start("browser") else { return };
    let replayed =
        Replayed::new(&trace(), "multifactor2.conf", &["--runs", "2", "--strategist", "ada=split"]);
    browser.open(&replayed.page.path());
    let data = browser.eval("return document.getElementById('data').textContent");
    assert_eq!(serde_json::from_str::<Value>(data.as_str().unwrap()).unwrap(), replayed.json);

    let policies = cells(&browser, "Policies");
    assert_eq!(policies.len(), 3, "as recorded, and two policies");
    for (policy, row) in policies[1..].iter().enumerate() {
        let value = |path: &str| replayed.at(&format!("/policies/{policy}/{path}"));
        assert_eq!(row[0].0, value("name").as_str().unwrap());
        for (column, path) in [
            "waits/jobs",
            "waits/before/mean",
            "waits/wait/mean",
            "waits/wait/p95",
            "waits/wait/worst",
            "waits/slowdown/mean",
            "waits/area_weighted",
            "share_error/mean",
            "shortfall/mean",
            "account_shortfall",
            "jain/mean",
            "lag",
            "utilisation",
            "makespan",
        ]
        .iter()
        .enumerate()
        {
            is_shown(&row[1 + column], value(path), path);
        }
        let accounts = cells(&browser, &format!("Under {}", row[0].0));
        let expected = value("accounts").as_array().unwrap();
        assert_eq!(accounts.len(), expected.len());
        for (row, account) in accounts.iter().zip(expected) {
            assert!(row[0].0.starts_with(account["name"].as_str().unwrap()), "{row:?}");
            for (column, key) in [(1, "jobs"), (2, "share"), (3, "entitled"), (4, "usage"), (6, "mean_wait")]
            {
                is_shown(&row[column], &account[key], key);
            }
            for (column, wait) in account["wait_quantiles"].as_array().unwrap().iter().skip(1).enumerate() {
                is_shown(&row[7 + column], wait, "a wait");
            }
        }
    }
    for (caption, path) in
        [("Accounts, largest", "/comparisons/0/accounts"), ("Users, largest", "/comparisons/0/users")]
    {
        let (rows, expected) = (cells(&browser, caption), replayed.at(path).as_array().unwrap());
        assert!(rows.len() == expected.len() && rows.len() > 1);
        for (row, change) in rows.iter().zip(expected) {
            assert_eq!(row[0].0, change["name"].as_str().unwrap());
            for (column, key) in [(1, "jobs"), (2, "before"), (4, "longer")] {
                is_shown(&row[column], &change[key], key);
            }
        }
    }
    // It is one file: nothing was asked of anybody.
    assert_eq!(browser.eval("return performance.getEntriesByType('resource').length"), 0);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_replays_page_is_used_by_keyboard_and_read_on_every_screen() {
    let Some(browser) = Browser::start("browser") else { return };
    let replayed =
        Replayed::new(&trace(), "multifactor2.conf", &["--runs", "2", "--strategist", "ada=split"]);
    fits_and_can_be_read(&browser, "replay", &replayed.page);
    // On a phone the times below a chart do not run into each other.
    browser.size(320, true);
    let overlaps = browser.eval(
        "const boxes = [...document.querySelectorAll('figure svg')].flatMap(svg => {
           const texts = [...svg.querySelectorAll('text')].filter(text => /^\\d\\d(\\d\\d)?-\\d\\d/.test(text.textContent)).map(text => text.getBoundingClientRect());
           return texts.slice(1).filter((box, at) => box.left < texts[at].right);
         });
         return [boxes.length, [...document.querySelectorAll('figure svg text')].filter(text => /^\\d\\d(\\d\\d)?-\\d\\d/.test(text.textContent)).length]",
    );
    assert_eq!(overlaps[0], 0);
    assert!(overlaps[1].as_u64().unwrap() > 2, "there are such texts: {overlaps}");

    browser.size(1280, false);
    browser.open(&replayed.page.path());
    browser.press(key::TAB);
    let focused = browser
        .eval("return [document.activeElement.outerHTML.slice(0, 200), document.hasFocus(), location.href]");
    assert!(browser.is("document.activeElement.matches('.skip')"), "{focused}");
    tab_to(&browser, "element.closest('thead') && element.textContent === 'Wait'");
    browser.press(key::ENTER);
    assert!(browser.is("document.activeElement.closest('th').getAttribute('aria-sort') === 'descending'"));
    assert!(
        browser.is("document.querySelector('[role=status]').textContent === 'Sorted by Wait, descending.'")
    );
    let sorted = cells(&browser, "Policies");
    assert!(sorted.windows(2).all(|rows| rows[0][2].1 >= rows[1][2].1), "{sorted:?}");
    // Whoever hears the page hears what a chart is of, and the summary before all tables.
    assert!(browser.is(
        "[...document.querySelectorAll('figure > svg')].every(svg => svg.getAttribute('role') === 'img' && svg.getAttribute('aria-labelledby').split(' ').every(id => document.getElementById(id)?.textContent))"
    ));
    let first = texts(
        &browser,
        "return [...document.querySelectorAll('main > *')].slice(0, 2).map(one => one.localName)",
    );
    assert_eq!(first, ["p", "p"]);
    assert!(browser.is(
        "/[Cc]hoose|Neither|No policy can be recommended/.test(document.querySelector('.lead').textContent)"
    ));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn no_name_of_a_trace_runs_in_a_replays_page() {
    const NAME: &str =
        "<script>alert(\"x\")</script><img src=x onerror=alert(1)>'&\u{1b}]0;title\u{7}\u{202e}back";
    let Some(browser) = Browser::start("browser") else { return };
    let mut trace = trace();
    for name in ["ada", "bob", "physics", "main", "normal"] {
        trace = trace.replace(&format!("|{name}|"), &format!("|{name}{NAME}|"));
    }
    let user = format!("ada{NAME}=split");
    let replayed = Replayed::new(
        &trace,
        "\"><img\tsrc=x\tonerror=alert(1)>.conf",
        &["--runs", "2", "--strategist", &user],
    );
    browser.open(&replayed.page.path());
    assert!(browser.is("document.scripts.length === 2 && !document.querySelector('img')"));
    let shown = browser.eval("return document.body.textContent");
    let shown = shown.as_str().unwrap();
    for part in ["physics<script>alert(\"x\")</script><img src=x onerror=alert(1)>", "<img"] {
        assert!(shown.contains(part), "{part}");
    }
    let seen = browser.eval("return document.querySelector('main').textContent");
    let is_bad = |character: char| character.is_control() && character != '\n' || character == '\u{202e}';
    assert!(!seen.as_str().unwrap().contains(is_bad));
    assert_eq!(browser.complaints(), [""; 0]);
    the_policy_holds(&browser);
}
