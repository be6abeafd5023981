//! rows.tsv: for each row of docs/coming-from.md where its public description is, and what proves the row. It is here so that no row is added
//! without both: a line of ours that the loader drops or that changes nothing fails here, and so does a "no" that cites nothing of Slurm.

mod fingerprint;

use std::collections::BTreeMap;

use multifactor2_fixtures::coming_from::{self, Whose};
use multifactor2_fixtures::project;

use self::fingerprint::differ;

const SYSTEMS: [&str; 4] = ["Maui", "Moab", "Grid Engine", "UMIACS"];

/// Rows for which no public place is known.
const OPEN: &[&str] = &[
    // Maui's guide has weights as whole numbers only.
    "weight in percent (`FSWEIGHT 50%`)",
    // Maui's guide has one class weight for all, and none among the attributes of a group.
    "class weight of a group (`CLASSWEIGHT` in `GROUPCFG`)",
    // Not in Maui's guide: neither among the priority factors nor among the parameters.
    "`DIRECTSPECWEIGHT`",
    "`UPSWEIGHT`, `UPS`",
    "`SPVIOLATIONWEIGHT`",
    // No place in Moab's manual was found, and Maui's guide does not have them.
    "`ATTRJOBIDWEIGHT` (`JOBIDWEIGHT`)",
    "`ATTRJOBNAMEWEIGHT` (`JOBNAMEWEIGHT`)",
    "`JOBPRIOEXCEPTIONS ALL`",
    "`JOBPRIOEXCEPTIONS DEPENDS` and the other single ones",
    "usage that counts less or not at all (`FSSCALINGFACTOR`)",
    "`FSENABLECAPPRIORITY`",
    "`FSMOSTSPECIFICLIMIT`",
    // Maui's mjobctl shows how often a job was started, but nothing says that it has a weight.
    "`STARTCOUNTWEIGHT`",
    // The manuals have the policies without these letters before them.
    "`FSPOLICY SDEDICATEDPS`, `PSDEDICATED`",
    "`FSPOLICY PDEDICATEDPS`",
    // What sites ask for, and no parameter of one name.
    "charging rates by time of day",
    "slots count, not jobs",
    "separate usage per queue",
];

/// What the lines of a row need beside them so that they count.
const SUPPORT: &[(&str, &[&str])] = &[
    (
        "`CREDWEIGHT`, `USERWEIGHT`, `GROUPWEIGHT`, `ACCOUNTWEIGHT`, `QOSWEIGHT`, `CLASSWEIGHT`",
        &[
            "Credential=User Name=john Priority=2000",
            "Credential=Group Name=staff Priority=300",
            "Credential=Account Name=physics Priority=500",
            "Credential=QOS Name=special Priority=70",
            "Credential=Partition Name=debug Priority=11",
        ],
    ),
    (
        "`USERCAP`, `GROUPCAP`, `CREDCAP` and so on",
        &[
            "Credential=User Name=john Priority=2000",
            "Credential=User Name=* Priority=20000",
            "Credential=Group Name=staff Priority=20000",
        ],
    ),
    ("weights of one partition", &["Credential=User Name=* Priority=10"]),
    ("`JOBPRIOEXCEPTIONS ALL`", &["Component=SERV QueueTime=1"]),
    (
        "`FSWEIGHT` (`FAIRSHAREWEIGHT`), `FSUSERWEIGHT` (`UFSWEIGHT`), `FSGROUPWEIGHT` (`GFSWEIGHT`), `FSACCOUNTWEIGHT` (`AFSWEIGHT`), `FSQOSWEIGHT`, `FSCLASSWEIGHT`",
        &[
            "Target=User Name=* Percent=10",
            "Target=Group Name=staff Percent=30",
            "Target=Account Name=physics Percent=20",
            "Target=QOS Name=long Percent=10",
            "Target=Partition Name=debug Percent=15",
        ],
    ),
    (
        "`FSCAP`, `FSUSERCAP`, `FSGROUPCAP`, `FSACCOUNTCAP`, `FSQOSCAP`, `FSCLASSCAP`",
        &["Target=User Name=* Percent=60"],
    ),
    ("`weight_user`, `weight_project`, `weight_department`, `weight_job`", FUNCTIONAL),
    ("`policy_hierarchy OFS` (`ticket_policy_hierarchy`)", FUNCTIONAL),
    ("`share_override_tickets`, `share_functional_shares`", FUNCTIONAL),
    ("`max_functional_jobs_to_schedule`", FUNCTIONAL),
];

/// Tickets of all three pools.
const FUNCTIONAL: &[&str] = &[
    "TicketsFunctional=10000",
    "Functional=User Name=john Shares=100",
    "Functional=User Name=* Shares=30",
    "Functional=Account Name=prj1 Shares=50",
    "Functional=Account Name=* Shares=20",
    "Functional=Department Name=physics Shares=10",
    "Functional=Department Name=* Shares=3",
    "Override=User Name=john Tickets=5000",
    "Dilution=user",
];

/// Lines and words that say what holds without them, each with another value: that has to count in their place.
const DEFAULTS: &[(&str, &str)] = &[
    ("TargetWindow=12:00:00", "TargetWindow=24:00:00"),
    ("TargetDepth=14", "TargetDepth=3"),
    ("TargetDecay=0.8", "TargetDecay=0.5"),
    ("TreeWindow=1-00:00:00", "TreeWindow=12:00:00"),
    ("TreeDepth=14", "TreeDepth=3"),
    ("TreeDecay=0.8", "TreeDecay=0.5"),
    ("FunctionalWeightUser=0.25", "FunctionalWeightUser=0.5"),
    ("FunctionalWeightAccount=0.25", "FunctionalWeightAccount=0.5"),
    ("FunctionalWeightDepartment=0.25", "FunctionalWeightDepartment=0.5"),
    ("FunctionalWeightJob=0.25", "FunctionalWeightJob=0.5"),
    ("PolicyHierarchy=OFS", "PolicyHierarchy=SFO"),
    ("ShareOverrideTickets=yes", "ShareOverrideTickets=no"),
    ("ShareFunctionalShares=yes", "ShareFunctionalShares=no"),
    ("MaxFunctionalJobs=200", "MaxFunctionalJobs=2"),
    ("Weight=1", "Weight=2"),
    ("FSClass=0", "FSClass=1"),
];

/// Words that change nothing on the line that they are on, whatever the jobs.
const IDLE: &[(&str, &str)] = &[
    // Its only part is at most 20,160.
    ("Component=SERV Weight=1 Cap=100000 QueueTime=1 QueueTimeCap=20160", "Cap=100000"),
    // Its only part is at most 10 times 20.
    ("Component=FS Cap=1000 FSUser=10 FSUserCap=20", "Cap=1000"),
    // Below 10 percent a floor is as any target, and whoever is above is beyond the cap.
    ("Target=Account Name=marketing Percent=10 Type=floor", "Type=floor"),
];

/// A row of rows.tsv.
#[derive(Debug)]
struct TsvRow {
    there: String,
    system: String,
    section: String,
    tests: Vec<String>,
    /// Four citations, and why in words; nothing where the answer is not "no".
    reasons: Vec<String>,
}

/// All rows of the file.
fn rows() -> Vec<TsvRow> {
    let text = project::read("tests/accounting/rows.tsv");
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with('#')), "the first line names the columns");
    lines
        .map(|line| {
            let mut cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
            assert!(cells.len() == 5 || cells.len() == 10, "{line}: {} cells", cells.len());
            assert!(
                cells.iter().all(|cell| !cell.is_empty() && cell.trim() == cell),
                "an empty cell: {line}"
            );
            let is_sentence = cells[3] == "-" || cells[3].parse::<u32>().is_ok();
            assert!(is_sentence, "the sentence is a number, or -: {line}");
            assert!(cells[2] != "open" || cells[3] == "-", "a sentence of no place: {line}");
            let reasons = cells.split_off(5);
            let tests = cells[4].split(", ").map(str::to_owned).collect();
            let mut next = cells.into_iter();
            let mut next = || next.next().unwrap_or_default();
            TsvRow { there: next(), system: next(), section: next(), tests, reasons }
        })
        .collect()
}

/// The rows of the page that have a name, with those below them that have none.
fn page() -> Vec<(String, Vec<coming_from::ComingRow>)> {
    let mut page: Vec<(String, Vec<coming_from::ComingRow>)> = Vec::new();
    for row in coming_from::rows() {
        match page.last_mut() {
            Some((there, below)) if *there == row.there => below.push(row),
            _ => page.push((row.there.clone(), vec![row])),
        }
    }
    page
}

/// Whether there is a test of such a name: of a module, or of a function in it.
fn exists(sources: &BTreeMap<String, String>, test: &str) -> bool {
    let file = |path: &str| {
        let path = path.replace("::", "/");
        let places = [format!("{path}.rs"), format!("{path}/mod.rs")];
        let below = ["core", "accounting"]
            .iter()
            .flat_map(|of| places.iter().map(move |place| format!("{of}/{place}")));
        let below = below.collect::<Vec<_>>();
        places.iter().chain(&below).find_map(|place| sources.get(place))
    };
    let in_module = |(module, function): (&str, &str)| {
        file(module).is_some_and(|text| text.contains(&format!("#[test]\nfn {function}()")))
    };
    file(test).is_some() || test.rsplit_once("::").is_some_and(in_module)
}

#[test]
fn every_row_has_its_place_and_test() {
    let (rows, page) = (rows(), page());
    let names = |there: &mut dyn Iterator<Item = &String>| there.cloned().collect::<Vec<_>>();
    assert_eq!(
        names(&mut rows.iter().map(|row| &row.there)),
        names(&mut page.iter().map(|(there, _)| there)),
        "rows.tsv has the rows of the page in their order"
    );
    let sources: BTreeMap<String, String> = project::sources("tests")
        .into_iter()
        .map(|(path, text)| (path.to_string_lossy().into_owned(), text))
        .collect();
    for (TsvRow { there, system, tests, .. }, (_, below)) in rows.iter().zip(&page) {
        assert!(SYSTEMS.contains(&system.as_str()), "{there}: no system is called {system}");
        let has = |whose: &[Whose]| below.iter().any(|row| whose.contains(&row.whose));
        for (whose, test) in [
            (&[Whose::No, Whose::NotYet][..], "rows_page::citations"),
            (&[Whose::Ours], "rows_page::our_lines"),
            (&[Whose::Slurm], "daemons::coming_from"),
            (&[Whose::Command], "command::coming_from"),
        ] {
            assert_eq!(has(whose), tests.iter().any(|found| found == test), "{there}: {test}");
        }
        if tests == &["-"] {
            assert!(below.iter().all(|row| row.whose == Whose::Nobody), "{there}: which test shows it?");
            continue;
        }
        for test in tests {
            assert!(exists(&sources, test), "{there}: there is no test {test}");
        }
    }
    assert!(!exists(&sources, "rows_page::no_such_test") && !exists(&sources, "no_such_file"));
    let open: Vec<&str> =
        rows.iter().filter(|row| row.section == "open").map(|row| row.there.as_str()).collect();
    let mut known = OPEN.to_vec();
    known.sort_by_key(|name| open.iter().position(|there| there == name));
    assert_eq!(open, known, "rows without a public place are those of OPEN");
}

/// Whether a text is a place in a source of Slurm: `path:line`, or `path:first-last`.
fn is_citation(text: &str) -> bool {
    let Some((path, lines)) = text.rsplit_once(':') else { return false };
    let line = |text: &str| text.parse::<u32>().ok().filter(|line| *line > 0);
    let is_source = [".c", ".h"].iter().any(|end| path.len() > end.len() && path.ends_with(end));
    let is_clean = |letter: char| letter.is_ascii_alphanumeric() || "/_.-".contains(letter);
    let is_range = match lines.split_once('-') {
        None => line(lines).is_some(),
        Some((first, last)) => matches!((line(first), line(last)), (Some(first), Some(last)) if first < last),
    };
    is_source && path.chars().all(is_clean) && is_range
}

#[test]
fn citations() {
    for wrong in ["a.c", "a.c:0", "a.c:9-3", "a.c:1-2-3", "a.rs:1", ".c:1", "a b.c:1", "a.c:x"] {
        assert!(!is_citation(wrong), "{wrong}");
    }
    let mut count = 0;
    for (TsvRow { there, reasons, .. }, (_, below)) in rows().iter().zip(page()) {
        let is_no = below.iter().any(|row| matches!(row.whose, Whose::No | Whose::NotYet));
        assert_eq!(is_no, !reasons.is_empty(), "{there}: citations are for what is not possible");
        let Some((why, places)) = reasons.split_last() else { continue };
        for place in places {
            assert!(is_citation(place), "{there}: {place} is no place in Slurm");
        }
        assert!(why.contains(' ') && !is_citation(why), "{there}: {why} says nothing");
        count += 1;
    }
    assert!(count > 0);
}

/// A line of a row, or one of its words.
#[derive(Clone, Copy, Debug)]
struct Piece {
    line: usize,
    word: Option<usize>,
}

/// The lines of a row, by their words.
#[derive(Clone, Debug)]
struct Lines<'l>(Vec<Vec<&'l str>>);

impl<'l> Lines<'l> {
    fn of(row: &'l coming_from::ComingRow) -> Self {
        Self(row.lines.iter().map(|line| line.split(' ').collect()).collect())
    }

    /// All that can be left out: the first word says what the line is.
    fn pieces(&self) -> Vec<Piece> {
        let of_line = |(line, words): (usize, &Vec<&str>)| {
            let others = (1..words.len()).map(move |word| Piece { line, word: Some(word) });
            std::iter::once(Piece { line, word: None }).chain(others).collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(of_line).collect()
    }

    fn text(&self, support: &[&str]) -> String {
        let own = self.0.iter().map(|words| words.join(" "));
        support.iter().map(|line| (*line).to_owned()).chain(own).collect::<Vec<_>>().join("\n") + "\n"
    }

    fn piece(&self, Piece { line, word }: Piece) -> String {
        word.map_or_else(|| self.0[line].join(" "), |word| self.0[line][word].to_owned())
    }

    /// The same with another piece in the place of one, or with none.
    fn with(&self, Piece { line, word }: Piece, other: Option<&'l str>) -> Self {
        let mut lines = self.clone();
        match (word, other) {
            (None, None) => drop(lines.0.remove(line)),
            (None, Some(other)) => lines.0[line] = vec![other],
            (Some(word), None) => drop(lines.0[line].remove(word)),
            (Some(word), Some(other)) => lines.0[line][word] = other,
        }
        lines
    }
}

#[test]
fn our_lines() {
    let (mut wrong, mut used) = (Vec::new(), Vec::new());
    for row in coming_from::rows().iter().filter(|row| row.whose == Whose::Ours) {
        let (there, lines) = (row.there.as_str(), Lines::of(row));
        let support = SUPPORT.iter().find(|(name, _)| *name == there).map_or(&[][..], |(_, lines)| lines);
        assert!(row.lines.iter().all(|line| !support.contains(&line.as_str())), "{there}: it is to be tried");
        used.push(there.to_owned());
        let numbers = |lines: &Lines<'_>| fingerprint::of(&lines.text(support));
        let all = numbers(&lines).unwrap_or_else(|errors| panic!("{there}: {errors}"));
        for piece in lines.pieces() {
            // What is refused without it is noticed, too.
            let Ok(without) = numbers(&lines.with(piece, None)) else { continue };
            let (counts, text) = (differ(&all, &without), lines.piece(piece));
            let is_idle = |(line, word): &&(&str, &str)| *line == row.lines[piece.line] && *word == text;
            if let Some((_, other)) = DEFAULTS.iter().find(|(said, _)| !counts && *said == text) {
                let another = numbers(&lines.with(piece, Some(other)));
                if !another.is_ok_and(|another| differ(&all, &another)) {
                    wrong.push(format!("{there}: {other} in place of {text} changes nothing"));
                }
                used.push(text);
            } else if IDLE.iter().any(|idle| is_idle(&idle)) {
                if counts {
                    wrong.push(format!("{there}: {text} does count"));
                }
                used.push(text);
            } else if !counts {
                wrong.push(format!("{there}: without {text} all is the same"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed = SUPPORT.iter().map(|(name, _)| *name).chain(DEFAULTS.iter().map(|(said, _)| *said));
    for text in listed.chain(IDLE.iter().map(|(_, word)| *word)) {
        assert!(used.iter().any(|found| found == text), "{text} is listed for nothing");
    }
}
