//! How answers are printed: tables for people and programs, JSON as its schema says, errors with the next step, exit codes.

use std::ffi::OsString;
use std::fs;

use multifactor2_command::answers::Question;
use multifactor2_command::output::Printout;
use multifactor2_command::output::Terminal;
use multifactor2_command::run::run;
use multifactor2_snapshot::{format, Snapshot};
use serde_json::Value;
use tempfile::TempDir;

use crate::site;

/// A snapshot in a file.
pub struct Sample {
    directory: TempDir,
}

impl Sample {
    pub fn new(snapshot: &Snapshot) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut text = Vec::new();
        format::write(snapshot, &mut text).unwrap();
        fs::write(directory.path().join("snapshot"), text).unwrap();
        Self { directory }
    }

    /// Asks as from the command line.
    pub fn ask(&self, words: &[&str]) -> Printout {
        self.ask_as("/usr/bin/multifactor2", words, Terminal::PLAIN)
    }

    pub fn ask_as(&self, name: &str, words: &[&str], terminal: Terminal) -> Printout {
        let from = self.directory.path().join("snapshot").into_os_string();
        let words = words.iter().map(OsString::from);
        run([name.into()].into_iter().chain(words).chain(["--from".into(), from]), terminal)
    }
}

impl Sample {
    /// What is written into the file that an option names.
    pub fn written(&self, words: &[&str], option: &str) -> String {
        let file = self.directory.path().join("written");
        let printed = self.ask(&[words, &[option, file.to_str().unwrap()]].concat());
        assert_eq!(printed, Printout::default(), "{words:?}");
        fs::read_to_string(file).unwrap()
    }
}

pub fn answered(printed: &Printout) -> bool {
    printed.status == 0 && printed.err.is_empty() && !printed.out.is_empty()
}

/// How a grant stands, and what is said of a job beyond it: compared with what the record says.
#[test]
fn grants_say_what_is_left_and_when_they_run_out() {
    let mut snapshot = site::example();
    snapshot.settings = Some(vec![multifactor2_snapshot::records::Setting {
        line: "Grant=Account Name=c Amount=1200 From=2026-12-01 Until=2027-04-30".into(),
        from: "multifactor2.conf line 3".into(),
    }]);
    snapshot.grants.push(site::grant());
    let printed = Sample::new(&snapshot).ask(&["grants"]);
    assert!(answered(&printed), "{printed:?}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "account c: cpu-hours, within",
        // 135 of 180 are used, and half of the period is over.
        "[####################|#########..........]",
        "100 granted, 60 carried, 135 used, 45 left.",
        "In total, 240 of 1200 are used; 150 should be by now.",
        "Running jobs use 4 an hour.",
        // 125 hours in 600,000 seconds; 45 hours last for 60 hours then.
        "At the rate of the last seven days, 0.75 an hour, it runs out on 2027-01-17T20:00:00.",
        "When it is used up, jobs come last.",
    ] {
        assert!(words(&printed.out).contains(part), "{part}: {}", printed.out);
    }
    let unknown = Sample::new(&snapshot).ask(&["grants", "nobody"]);
    assert!(unknown.status != 0 && unknown.err.contains("nobody has no grant"), "{unknown:?}");
    // What the accounting has added is said, and the page has the same numbers as bars.
    (snapshot.grants[0].corrected, snapshot.grants[0].corrected_until) = (-3600.0 * 2.0, 1_800_000_000);
    let printed = Sample::new(&snapshot).ask(&["grants"]);
    let said =
        "Compared with slurmdbd up to 2027-01-15T08:00:00: 2 hours were subtracted from these numbers.";
    assert!(words(&printed.out).contains(said), "{}", printed.out);
    let file = tempfile::tempdir().unwrap();
    let page = file.path().join("tree.html");
    let printed = Sample::new(&snapshot).ask(&["tree", "--html", page.to_str().unwrap()]);
    assert_eq!((printed.status, printed.err.as_str()), (0, ""), "{printed:?}");
    let page = std::fs::read_to_string(&page).unwrap();
    for part in
        ["Grants: what may be used and what was used", "account c", "cpu-hours", "2027-01-17T20:00:00"]
    {
        assert!(page.contains(part), "{part}");
    }
    // Beyond it.
    let grant = &mut snapshot.grants[0];
    (grant.state, grant.left, grant.used) = ("beyond".to_owned(), -3600.0 * 12.0, 3600.0 * 192.0);
    let printed = Sample::new(&snapshot).ask(&["grants", "C"]);
    assert!(words(&printed.out).contains("20 borrowed, 192 used, -12 left."), "{}", printed.out);
    assert!(
        words(&printed.out).contains("It is used up for now since 2027-01-04T22:00:00."),
        "{}",
        printed.out
    );
    let job = snapshot.jobs.iter().find(|job| job.account == "c").expect("a job of c").id.to_string();
    let why = Sample::new(&snapshot).ask(&["why", "--long", &job]);
    let why = words(&why.out);
    let said = "the grant of account c since 2027-01-04T22:00:00: 192 of 180 cpu hours of this period are used. The next period begins on 2027-01-26T21:46:40.";
    assert!(why.contains(said), "{why}");
    // What else counts.
    let counts = "Usage includes UsageFactor, Charge lines and MinimumCharge.";
    assert!(!words(&printed.out).contains(counts), "{}", printed.out);
    snapshot.grants[0].factors = true;
    let printed = Sample::new(&snapshot).ask(&["grants"]);
    assert!(words(&printed.out).contains(counts), "{}", printed.out);
    // Nothing is known, and nobody is said to be beyond.
    snapshot.grants[0].state = "unknown".to_owned();
    let printed = Sample::new(&snapshot).ask(&["grants"]);
    assert!(printed.out.contains("account c: cpu-hours, what was used is not known"), "{}", printed.out);
    assert!(!printed.out.contains("runs out on"), "{}", printed.out);
}

/// All questions to the example whose answers are for people.
pub const QUESTIONS: [&[&str]; 12] = [
    &["why", "1001"],
    &["why", "1002", "--long"],
    &["why", "-j", "1001,1002"],
    &["why", "1001", "1002"],
    &["queue"],
    &["queue", "-u", "user2"],
    &["tree"],
    &["tree", "-A", "c"],
    &["settings"],
    &["what-if", "--weight", "age=5000", "--plugin", "stock"],
    &["recover", "user2"],
    &["cost", "1001"],
];

/// One whose answer is for a program.
pub const METRICS: &[&str] = &["metrics", "--users", "top=5"];

#[test]
fn json_is_as_its_schema_says() {
    let mut sites = vec![site::example()];
    sites.extend((0..8).map(|seed| site::random(site::Size { associations: 60, jobs: 60 }, seed)));
    for snapshot in &sites {
        let sample = Sample::new(snapshot);
        let jobs: Vec<String> = snapshot.jobs.iter().map(|job| job.id.to_string()).collect();
        let mut questions: Vec<Vec<&str>> =
            vec![vec!["queue"], vec!["tree"], vec!["settings"], vec!["metrics"]];
        questions.extend(jobs.iter().map(|job| vec!["why", job]));
        questions.extend(jobs.windows(2).map(|pair| vec!["why", pair[0].as_str(), pair[1].as_str()]));
        for mut question in questions {
            question.push("--json");
            let printed = sample.ask(&question);
            assert!(answered(&printed), "{question:?}: {}", printed.err);
            is_as_its_schema_says(&printed.out);
        }
    }
}

#[track_caller]
fn is_as_its_schema_says(json: &str) {
    let value: Value = serde_json::from_str(json).unwrap();
    let name = value["schema"].as_str().unwrap().strip_prefix("multifactor2/").unwrap();
    let schema = schema(name);
    conforms(&value, &schema, &schema, name).unwrap();
}

/// The schema of the answer of this name.
pub fn schema(name: &str) -> Value {
    let schema = Question::schemas().into_iter().find(|schema| schema.name == name).unwrap();
    serde_json::from_str(&schema.text).unwrap()
}

/// Asks for a translation of a file.
fn migrated(name: &str, text: &str, options: &[&str]) -> Printout {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(name);
    fs::write(&file, text).unwrap();
    let words = ["multifactor2".into(), "migrate".into(), file.into_os_string()];
    run(words.into_iter().chain(options.iter().map(OsString::from)), Terminal::PLAIN)
}

const MAUI: &str =
    "FSWEIGHT 1\nFSUSERWEIGHT 10\nUSERCFG[ann] FSTARGET=25 MAXJOB=3\nNODEALLOCATIONPOLICY FASTEST\n";

#[test]
fn a_translation_is_text_or_json_and_asks_no_cluster() {
    let text = migrated("maui.cfg", MAUI, &[]);
    assert!(answered(&text) && text.out.contains("Target=User Name=ann Percent=25"), "{text:?}");
    let json = migrated("maui.cfg", MAUI, &["--json"]);
    assert!(answered(&json), "{json:?}");
    is_as_its_schema_says(&json.out);
    let about_a_cluster: [&[&str]; 6] = [
        &["--from", "x"],
        &["--save", "x"],
        &["--anonymise"],
        &["--conf", "x"],
        &["--cluster", "x"],
        &["--at", "+1"],
    ];
    for options in about_a_cluster {
        let printed = migrated("maui.cfg", MAUI, options);
        assert!(printed.status == 1 && printed.out.is_empty(), "{printed:?}");
        assert!(printed.err.contains(&format!("unexpected argument '{}'", options[0])), "{printed:?}");
    }
}

/// Each on a line of its own, all else is translated, and no text of the file does anything to the terminal.
#[test]
fn all_that_cannot_be_read_of_a_translation_is_told() {
    let text = "USERWEIGHT x\u{1b}]0;t\u{7}\u{202e}\nFSWEIGHT y\nFSUSERWEIGHT 1\n";
    let printed = migrated("maui.cfg", text, &[]);
    assert_eq!((printed.status, printed.err.as_str()), (0, ""));
    let (_, unreadable) = printed.out.split_once("# left out because it cannot be read:\n").unwrap();
    let lines: Vec<&str> = unreadable.lines().take(2).collect();
    for (line, place) in lines.iter().zip(["line 1: USERWEIGHT", "line 2: FSWEIGHT"]) {
        assert!(line.contains(place) && line.contains("must be a number"), "{line}");
    }
    assert!(printed.out.contains("Component=FS FSUser=1"), "{}", printed.out);
    assert!(
        !printed.out.contains(|letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}'),
        "{:?}",
        printed.out
    );
}

#[test]
fn metrics_go_to_a_file_or_say_why_not() {
    let sample = Sample::new(&site::example());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("multifactor2.prom");
    let printed = sample.ask(&["metrics", "--out", path.to_str().unwrap()]);
    assert_eq!(printed, Printout::default());
    assert_eq!(fs::read_to_string(&path).unwrap(), sample.ask(&["metrics"]).out);
    for (question, says, status) in [
        (&["metrics", "--out", "/no/such/directory/a.prom"][..], "/no/such/directory/a.prom", 4),
        (&["metrics", "--out", "a.txt"], ".prom", 1),
        (&["metrics", "--users", "top=0"], "top=N", 1),
        (&["metrics", "--at", "+1"], "unexpected argument '--at'", 1),
        (&["metrics", "--out", "a.prom", "--json"], "--help", 1),
    ] {
        let printed = sample.ask(question);
        assert!(printed.err.contains(says), "{question:?}: {}", printed.err);
        assert_eq!((printed.status, printed.out.as_str()), (status, ""), "{question:?}");
    }
}

/// Checks a value against those words of JSON Schema that our schemas use; any other fails.
pub fn conforms(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    let fails = |what: &dyn std::fmt::Display| Err(format!("{at}: {value}: {what}"));
    if schema == &Value::Bool(true) {
        return Ok(());
    }
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                conforms(value, &root["$defs"][name], root, at)?;
            }
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                if !types.iter().any(|name| is_a(value, name.as_str().unwrap())) {
                    return fails(&format!("no {rule}"));
                }
            }
            "properties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    let Some(rule) = rule.get(name) else {
                        return fails(&format!("{name} is not in the schema"));
                    };
                    conforms(value, rule, root, &format!("{at}.{name}"))?;
                }
            }
            "required" => {
                for name in rule.as_array().unwrap().iter().filter_map(Value::as_str) {
                    if value.get(name).is_none() {
                        return fails(&format!("{name} is missing"));
                    }
                }
            }
            "additionalProperties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    conforms(value, rule, root, &format!("{at}.{name}"))?;
                }
            }
            "items" => {
                for (place, value) in value.as_array().into_iter().flatten().enumerate() {
                    conforms(value, rule, root, &format!("{at}[{place}]"))?;
                }
            }
            "enum" if !rule.as_array().unwrap().contains(value) => return fails(rule),
            "const" if rule != value => return fails(rule),
            "minimum" if value.as_f64().is_some_and(|value| value < rule.as_f64().unwrap()) => {
                return fails(rule)
            }
            "maximum" if value.as_f64().is_some_and(|value| value > rule.as_f64().unwrap()) => {
                return fails(rule)
            }
            "minItems"
                if value.as_array().is_some_and(|items| (items.len() as u64) < rule.as_u64().unwrap()) =>
            {
                return fails(rule)
            }
            "maxItems"
                if value.as_array().is_some_and(|items| items.len() as u64 > rule.as_u64().unwrap()) =>
            {
                return fails(rule)
            }
            "anyOf" | "oneOf" => {
                if !rule.as_array().unwrap().iter().any(|schema| conforms(value, schema, root, at).is_ok()) {
                    return fails(rule);
                }
            }
            // Held above, or saying nothing.
            "enum" | "const" | "minimum" | "maximum" | "minItems" | "maxItems" | "$schema" | "title"
            | "description" | "$defs" | "format" => (),
            other => return fails(&format!("the test does not know {other}")),
        }
    }
    Ok(())
}

#[test]
fn the_check_of_schemas_finds_what_is_wrong() {
    let schema = serde_json::json!({
        "type": "object", "properties": {"a": {"type": ["integer", "null"]}, "b": {"items": {"const": "x"}}}, "required": ["a"]
    });
    let check = |value: Value| conforms(&value, &schema, &schema, "it").is_ok();
    assert!(check(serde_json::json!({"a": 1, "b": ["x"]})) && check(serde_json::json!({"a": null})));
    for wrong in ["[]", "{}", r#"{"a": 1.5}"#, r#"{"a": 1, "b": ["y"]}"#, r#"{"a": 1, "c": 1}"#] {
        assert!(!check(serde_json::from_str(wrong).unwrap()), "{wrong}");
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    }
}

#[test]
fn tables_for_programs_have_as_many_fields_in_every_row() {
    let sample = Sample::new(&site::example());
    for question in ["queue", "tree", "settings"] {
        let fields = |options: &[&str]| {
            let printed = sample.ask(&[&[question], options].concat());
            assert!(answered(&printed), "{question} {options:?}: {}", printed.err);
            let rows: Vec<usize> = printed.out.lines().map(|line| line.split('|').count()).collect();
            assert!(rows.windows(2).all(|pair| pair[0] == pair[1]), "{}", printed.out);
            (rows.len(), rows[0])
        };
        let (rows, columns) = fields(&["-P"]);
        assert!(columns > 2 && rows > 2);
        assert_eq!(fields(&["-p"]), (rows, columns + 1));
        for option in ["-n", "-h", "--noheader"] {
            assert_eq!(fields(&["-P", option]), (rows - 1, columns), "{option}");
        }
    }
    assert_eq!(sample.ask(&["queue", "-nPo", "priority,job"]).out, "11100|1002\n3569|1001\n");
    assert_eq!(sample.ask(&["queue", "--csv", "-n", "-o", "job,fairshare"]).out, "1002,1\n1001,0.246914\n");
}

/// On 80 columns and on 40: no row of a table goes on in the next line because of a name.
#[test]
fn names_are_cut_to_the_terminal_and_whole_where_that_is_asked_for() {
    let mut snapshot = site::example();
    let long = "an-account-with-a-long-name-of-thirty-nine";
    for association in snapshot.associations.iter_mut().filter(|of| of.account == "c") {
        long.clone_into(&mut association.account);
    }
    for job in snapshot.jobs.iter_mut().filter(|job| job.account == "c") {
        long.clone_into(&mut job.account);
    }
    let sample = Sample::new(&snapshot);
    for width in [40, 80] {
        for question in ["queue", "tree"] {
            let on = |options: &[&str]| {
                let terminal = Terminal { width: Some(width), ..Terminal::PLAIN };
                let printed = sample.ask_as("multifactor2", &[&[question], options].concat(), terminal);
                assert!(answered(&printed), "{question} {options:?}: {}", printed.err);
                printed.out
            };
            let (cut, whole, parsable) = (on(&[]), on(&["--wide"]), on(&["-P"]));
            assert!(
                cut.contains("an-ac") && cut.contains('…') && !cut.contains(long),
                "{width} {question}: {cut}"
            );
            assert!(whole.contains(long) && !whole.contains('…'), "{width} {question}: {whole}");
            assert!(parsable.contains(long), "{width} {question}: {parsable}");
        }
    }
}

#[test]
fn an_error_names_the_next_step_and_ends_with_its_status() {
    let sample = Sample::new(&site::example());
    for (question, says, status) in [
        (&["why", "77"][..], "squeue -j 77", 1),
        (&["why", "1001", "1001"], "give two", 1),
        (&["queue", "-o", "nothing"], "give some of", 1),
        (&["queue", "-j", "77"], "squeue -j 77", 1),
        (&["tree", "--at", "soon"], "give a date", 1),
        (&["tree", "--conf", "/no/such/file"], "check the name", 3),
        (&["tree", "--save", "/no/such/directory"], "make its directory", 4),
        (&["tree", "-P", "--json"], "--help", 1),
        (&["nothing"], "--help", 1),
        (&[], "--help", 1),
    ] {
        let printed = sample.ask(question);
        assert!(printed.err.contains(says), "{question:?}: {}", printed.err);
        assert_eq!((printed.status, printed.out.as_str()), (status, ""), "{question:?}");
    }
    let nowhere = ["multifactor2", "tree", "-M", "a,b"].map(OsString::from);
    let nowhere = run(nowhere, Terminal::PLAIN);
    assert!(nowhere.err.contains("name one cluster") && nowhere.status == 1, "{}", nowhere.err);
}

#[test]
fn a_file_that_is_damaged_is_an_error() {
    for text in ["", "{}\n", "{\"format\":\"multifactor2-snapshot\",\"version\":1}\n[1]\n", "\u{0}\n"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, text).unwrap();
        let words = ["multifactor2".into(), "tree".into(), "--from".into(), path.into_os_string()];
        let printed = run(words, Terminal::PLAIN);
        assert!(printed.status == 3 && printed.err.contains("line"), "{text:?}: {}", printed.err);
    }
}

#[test]
fn swhy_stands_for_why_and_help_is_long_only() {
    let sample = Sample::new(&site::example());
    let long = sample.ask(&["why", "1001"]);
    assert_eq!(sample.ask_as("/usr/bin/swhy", &["1001"], Terminal::PLAIN), long);
    for words in [&["--help"][..], &["queue", "--help"], &["-V"], &["queue", "-V"]] {
        assert!(answered(&sample.ask(words)), "{words:?}");
    }
}

#[test]
fn colours_are_for_terminals_that_want_them_and_ascii_is_kept() {
    let mut snapshot = site::example();
    for job in &mut snapshot.jobs {
        job.account = "grün".to_owned();
    }
    let sample = Sample::new(&snapshot);
    let terminal = Terminal { colours: true, ascii: true, width: Some(60) };
    for question in QUESTIONS {
        let plain = sample.ask(question).out;
        assert!(!plain.contains('\u{1b}'), "{question:?}");
        let shown = sample.ask_as("multifactor2", question, terminal).out;
        assert!(shown.contains("\u{1b}[1m") && shown.is_ascii(), "{question:?}");
    }
    let terminal = Terminal { colours: false, ..terminal };
    let text = sample.ask_as("multifactor2", &["why", "1001", "--long"], terminal).out;
    // No number is broken: only the table of levels, which is nearly all numbers, may be wider.
    let is_too_wide = |line: &&str| line.chars().count() > 60;
    let (before, levels) = text.split_once("From the root to the user").expect("the table of levels");
    let (levels, after) = levels.split_once("\n- ").expect("what competes");
    assert!(!before.lines().chain(after.lines()).any(|line| is_too_wide(&line)), "{text}");
    assert!(levels.lines().all(|line| line.chars().count() <= 72), "{text}");
}

#[test]
fn another_time_is_computed_and_said() {
    let sample = Sample::new(&site::example());
    let week = sample.ask(&["queue", "-nP", "-o", "job,priority", "--at", "+7-0"]).out;
    // AGE is full, and usage has decayed alike for all.
    assert_eq!(week, "1002|12000\n1001|4469\n");
    let seconds = (site::TIME + 7 * 86_400).to_string();
    assert_eq!(sample.ask(&["queue", "-nP", "-o", "job,priority", "--at", &seconds]).out, week);
    assert!(sample.ask(&["queue", "--at", "+7-0"]).out.contains("Computed for"));
}

#[test]
fn settings_say_where_they_were_written() {
    let mut snapshot = site::example();
    site::set(&mut snapshot, "FairShareScale=log");
    let text = Sample::new(&snapshot).ask(&["settings", "-P"]).out;
    assert!(text.contains("FairShareScale|log|/etc/slurm/multifactor2.conf line 1\n"), "{text}");
    assert!(
        text.contains("Distribution|tickets|default\n")
            && text.contains("PriorityWeightAge|1000|slurm.conf\n")
    );
    assert_eq!(text.matches("FairShareScale|").count(), 1);
}

/// Sums by user stand below the rows where tickets or points are asked for, and fit into 80 columns.
#[test]
fn sums_by_user_stand_below_the_queue() {
    let mut snapshot = site::example();
    let plain = Sample::new(&snapshot).ask(&["queue"]);
    assert!(!plain.out.contains("by user"), "{}", plain.out);
    let tickets = Sample::new(&snapshot).ask(&["queue", "-o", "job,user,tickets"]);
    let (_, sums) = tickets.out.split_once("Tickets by user, of all their jobs in the queue").expect("sums");
    assert!(sums.contains("Part") && sums.contains('%') && !sums.contains("Points"), "{sums}");
    for line in ["Component=CRED User=1", "Credential=User Name=* Priority=70"] {
        site::set(&mut snapshot, line);
    }
    let points = Sample::new(&snapshot).ask(&["queue", "-o", "job,points"]);
    let (_, sums) = points.out.split_once("Points by user, of all their jobs in the queue").expect("sums");
    assert!(
        sums.contains("CRED") && !sums.contains("URGENCY"),
        "components that nobody has are left out: {sums}"
    );
    assert!(
        sums.lines().skip(1).take_while(|line| !line.is_empty()).all(|line| line.chars().count() <= 80),
        "{sums}"
    );
    // Programs get the rows alone.
    let parsable = Sample::new(&snapshot).ask(&["queue", "-P", "-o", "job,points"]);
    assert!(!parsable.out.contains("by user"), "{}", parsable.out);
}
