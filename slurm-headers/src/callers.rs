//! Which locks of Slurm are held where it calls the plugin, and which it takes where the plugin calls it.
//!
//! Both are facts of Slurm's sources that no header shows, that differ between releases, and that a hang of
//! slurmctld depends on. They are kept as two tables (`callers.tsv`, `callees.tsv`) that tests and the plugin's
//! checker of the lock order read, so that they cannot be a paragraph which nobody compares with the code.

use std::fmt::{self, Write as _};

use crate::table::{Table, Version};

/// The locks in the order of the tables: those of `slurmctld_lock_t`, then those of `assoc_mgr_lock_t`. It is the order in
/// which Slurm takes them.
pub const LOCKS: [&str; 12] =
    ["conf", "job", "node", "part", "fed", "assoc", "file", "qos", "res", "tres", "user", "wckey"];

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Not at all.
    None,
    /// For reading.
    Read,
    /// For writing.
    Write,
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "-" => Some(Self::None),
            "r" => Some(Self::Read),
            "w" => Some(Self::Write),
            _ => None,
        }
    }
}

/// One row of either table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockRow {
    /// The function that is called: an export of the plugin, or a function of the host.
    pub function: String,
    /// Of an export: who calls it, `file.c:function`, named after the function that takes the locks. Of a function of the
    /// host: under which condition it takes them, `always` or for example `mcs/account`.
    pub case: String,
    /// The first release of which the row is true.
    pub first: Version,
    /// The last one.
    pub last: Version,
    /// One for each of [`LOCKS`].
    pub levels: [Level; LOCKS.len()],
    /// Lists whose own lock is held, with the level.
    pub lists: Vec<(String, Level)>,
}

/// One of the two tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockTable {
    /// The rows, in the order of the file.
    pub rows: Vec<LockRow>,
}

/// What is wrong with a table of locks, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockTableError {
    /// The name of the table.
    pub file: &'static str,
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for LockTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for LockTableError {}

/// Cells before the locks.
const LEADING: usize = 4;

impl LockTable {
    /// What Slurm holds where it calls the plugin.
    ///
    /// # Errors
    /// Only when `callers.tsv` itself is damaged.
    pub fn callers() -> Result<Self, LockTableError> {
        Self::parse("callers.tsv", ["export", "caller"], include_str!("../callers.tsv"))
    }

    /// What Slurm takes where the plugin calls it.
    ///
    /// # Errors
    /// Only when `callees.tsv` itself is damaged.
    pub fn callees() -> Result<Self, LockTableError> {
        Self::parse("callees.tsv", ["callee", "case"], include_str!("../callees.tsv"))
    }

    /// Parses a table whose first two columns have these titles.
    ///
    /// # Errors
    /// The first line that does not fit, with what is allowed there.
    pub fn parse(file: &'static str, titles: [&str; 2], text: &str) -> Result<Self, LockTableError> {
        let fail = |line, message| LockTableError { file, line, message };
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line))
            .filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
        let header = [&titles[..], &["first", "last"], &LOCKS, &["lists"]].concat().join("\t");
        let (at, found) = lines.next().unwrap_or((1, ""));
        if found != header {
            return Err(fail(at, format!("the header must be '{}'", header.replace('\t', " "))));
        }
        let rows = lines
            .map(|(at, line)| row(line).map_err(|message| fail(at, message)))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self { rows })
    }

    /// Rows of the same function and case whose ranges of releases overlap.
    pub fn overlapping(&self) -> Vec<(&LockRow, &LockRow)> {
        let meet = |one: &LockRow, other: &LockRow| {
            (&one.function, &one.case) == (&other.function, &other.case)
                && one.first <= other.last
                && other.first <= one.last
        };
        self.rows
            .iter()
            .enumerate()
            .flat_map(|(at, one)| self.rows[at + 1..].iter().map(move |other| (one, other)))
            .filter(|(one, other)| meet(one, other))
            .collect()
    }

    /// The rows of a function in a release.
    pub fn of<'a>(&'a self, function: &'a str, release: Version) -> impl Iterator<Item = &'a LockRow> + 'a {
        self.rows
            .iter()
            .filter(move |row| row.function == function && (row.first..=row.last).contains(&release))
    }
}

fn row(line: &str) -> Result<LockRow, String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let expected = LEADING + LOCKS.len() + 1;
    if cells.len() != expected {
        return Err(format!("{expected} cells expected, separated by tabs; there are {}", cells.len()));
    }
    if cells[0].is_empty() || cells[1].is_empty() {
        return Err("the first two cells must not be empty".to_owned());
    }
    let release =
        |text: &str| Version::parse(text).ok_or_else(|| format!("'{text}' is not a release such as 24.11.4"));
    let (first, last) = (release(cells[2])?, release(cells[3])?);
    if first > last {
        return Err(format!("the range ends before it begins: {first} to {last}"));
    }
    let mut levels = [Level::None; LOCKS.len()];
    for ((level, cell), lock) in levels.iter_mut().zip(&cells[LEADING..]).zip(LOCKS) {
        *level =
            Level::parse(cell).ok_or_else(|| format!("'{cell}' is not how {lock} can be held: -, r or w"))?;
    }
    let lists = match cells[expected - 1] {
        "-" => Vec::new(),
        some => some.split(',').map(list).collect::<Result<_, _>>()?,
    };
    Ok(LockRow { function: cells[0].to_owned(), case: cells[1].to_owned(), first, last, levels, lists })
}

fn list(cell: &str) -> Result<(String, Level), String> {
    cell.split_once(':')
        .and_then(|(name, level)| Some((name.to_owned(), Level::parse(level)?)))
        .filter(|(name, level)| !name.is_empty() && *level != Level::None)
        .ok_or_else(|| {
            format!("'{cell}' is not a list and how it is held, such as job_list:r; - for no list")
        })
}

/// The constant `LOCKS` and the statics `CALLERS` and `CALLEES`, for `src/host/callers.rs`, which defines their types.
///
/// A row that holds in the newest known release of a series holds in later micro releases of it.
pub fn rust_source_of_locks(layouts: &Table, held: &LockTable, taken: &LockTable) -> String {
    let mut text = String::from("// Generated from slurm-headers/callers.tsv and callees.tsv by build.rs.\n");
    let _ = writeln!(
        text,
        "/// The locks, in the order in which Slurm takes them.\npub const LOCKS: [&str; {}] = {LOCKS:?};",
        LOCKS.len()
    );
    text.push_str("/// What Slurm holds where it calls the plugin.\npub static CALLERS: &[Caller] = &[\n");
    for row in &held.rows {
        let _ = writeln!(
            text,
            "    Caller {{ export: {:?}, caller: {:?}, {} }},",
            row.function,
            row.case,
            rest(layouts, row)
        );
    }
    text.push_str(
        "];\n/// What Slurm takes where the plugin calls it.\npub static CALLEES: &[Callee] = &[\n",
    );
    for row in &taken.rows {
        let _ = writeln!(
            text,
            "    Callee {{ callee: {:?}, case: {:?}, {} }},",
            row.function,
            row.case,
            rest(layouts, row)
        );
    }
    text.push_str("];\n");
    text
}

fn rest(layouts: &Table, row: &LockRow) -> String {
    let known_to = layouts.group_of(row.last).map(|at| {
        let series = (row.last.year, row.last.month);
        let groups = layouts.groups[at..].iter();
        groups
            .take_while(|group| (group.first.year, group.first.month) == series)
            .fold(row.last, |_, group| group.verified)
    });
    let last = match known_to {
        Some(newest) if row.last >= newest => row.last.number() | 0xff,
        _ => row.last.number(),
    };
    let levels = row.levels.map(|level| (level as u8).to_string()).join(", ");
    let lists: Vec<String> =
        row.lists.iter().map(|(name, level)| format!("({name:?}, {})", *level as u8)).collect();
    format!(
        "first: {:#x}, last: {last:#x}, levels: [{levels}], lists: &[{}]",
        row.first.number(),
        lists.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exports that Slurm calls, with the first release that has each and the first that no longer has it.
    const EXPORTS: [(&str, &str, &str); 10] = [
        ("init", "20.11.0", "99.11.0"),
        ("fini", "20.11.0", "99.11.0"),
        ("priority_p_set", "20.11.0", "99.11.0"),
        ("priority_p_reconfig", "20.11.0", "99.11.0"),
        ("priority_p_set_assoc_usage", "20.11.0", "99.11.0"),
        ("priority_p_calc_fs_factor", "20.11.0", "25.11.0"),
        ("priority_p_get_priority_factors_list", "20.11.0", "99.11.0"),
        ("priority_p_job_end", "20.11.0", "99.11.0"),
        ("priority_p_recover", "23.02.0", "99.11.0"),
        ("priority_p_thread_start", "23.11.6", "99.11.0"),
    ];

    fn release(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    /// Every micro release from the first to the newest known one of every series.
    fn releases() -> Vec<Version> {
        let layouts = Table::committed().unwrap();
        let mut all: Vec<Version> = layouts
            .groups
            .iter()
            .flat_map(|group| {
                (group.first.micro..=group.verified.micro).map(|micro| Version { micro, ..group.first })
            })
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn every_export_has_a_caller_in_every_release_that_has_it() {
        let table = LockTable::callers().unwrap();
        for (export, from, until) in EXPORTS {
            for version in releases() {
                let exists = (release(from)..release(until)).contains(&version);
                assert_eq!(table.of(export, version).next().is_some(), exists, "{export} in {version}");
            }
        }
        let unknown = table.rows.iter().find(|row| EXPORTS.iter().all(|export| export.0 != row.function));
        assert_eq!(unknown, None, "a row of something that is no export");
    }

    #[test]
    fn ranges_of_one_caller_do_not_overlap_and_end_at_known_releases() {
        let known = releases();
        for table in [LockTable::callers().unwrap(), LockTable::callees().unwrap()] {
            assert_eq!(table.overlapping(), []);
            for row in &table.rows {
                assert!(known.contains(&row.first) && known.contains(&row.last), "{row:?}");
            }
        }
    }

    #[test]
    fn sprio_is_answered_under_the_lock_on_qos_from_23_02_on() {
        let table = LockTable::callers().unwrap();
        let qos = LOCKS.iter().position(|lock| *lock == "qos").unwrap();
        for version in releases() {
            for row in table.of("priority_p_get_priority_factors_list", version) {
                let expected = if version < release("23.02.0") { Level::None } else { Level::Read };
                assert_eq!(row.levels[qos], expected, "{version}");
            }
        }
    }

    #[test]
    fn who_comes_with_a_lock_of_the_association_manager() {
        let first_of_them = LOCKS.iter().position(|lock| *lock == "assoc").unwrap();
        for row in LockTable::callers().unwrap().rows {
            if row.levels[first_of_them..].iter().any(|level| *level != Level::None) {
                let known = [
                    "priority_p_calc_fs_factor",
                    "priority_p_get_priority_factors_list",
                    "priority_p_set_assoc_usage",
                ];
                assert!(
                    known.contains(&row.function.as_str()),
                    "may the plugin still take its locks there? {row:?}"
                );
            }
        }
    }

    fn parsed(rows: &str) -> Result<LockTable, LockTableError> {
        let header = "export\tcaller\tfirst\tlast\tconf\tjob\tnode\tpart\tfed\tassoc\tfile\tqos\tres\ttres\tuser\twckey\tlists";
        LockTable::parse("callers.tsv", ["export", "caller"], &format!("# comment\n{header}\n{rows}"))
    }

    #[test]
    fn a_row_is_read() {
        let table = parsed("init\ta.c:f\t23.02.0\t23.02.8\tw\t-\t-\t-\t-\tr\t-\t-\t-\t-\t-\t-\tjob_list:r\n")
            .unwrap();
        let row = &table.rows[0];
        assert_eq!((row.levels[0], row.levels[5]), (Level::Write, Level::Read));
        assert_eq!(row.lists, [("job_list".to_owned(), Level::Read)]);
        assert_eq!(table.of("init", release("23.02.3")).count(), 1);
        assert_eq!(table.of("init", release("23.11.0")).count(), 0);
    }

    #[test]
    fn errors_name_the_line_and_what_is_allowed() {
        let none = "\t-".repeat(11);
        for (line, wanted) in [
            (format!("init\ta.c:f\t23.02.0\t23.02.8\tx{none}\t-"), "'x' is not how conf can be held"),
            (format!("init\ta.c:f\t23.02.0\tnow\t-{none}\t-"), "'now' is not a release"),
            (format!("init\ta.c:f\t23.02.8\t23.02.0\t-{none}\t-"), "ends before it begins"),
            (format!("init\ta.c:f\t23.02.0\t23.02.8\t-{none}\tjob_list"), "such as job_list:r"),
            (format!("init\t\t23.02.0\t23.02.8\t-{none}\t-"), "must not be empty"),
            ("init\ta.c:f".to_owned(), "17 cells expected"),
        ] {
            let error = parsed(&line).unwrap_err().to_string();
            assert!(error.starts_with("callers.tsv line 3: ") && error.contains(wanted), "{error}");
        }
        let error = LockTable::parse("callees.tsv", ["callee", "case"], "x\n").unwrap_err().to_string();
        assert!(error.starts_with("callees.tsv line 1: the header must be 'callee case first"), "{error}");
    }

    #[test]
    fn overlapping_ranges_are_found() {
        let none = "\t-".repeat(13);
        let row = |range: &str| format!("init\ta.c:f\t{range}{none}\n");
        let table =
            parsed(&[row("23.02.0\t23.11.11"), row("23.11.11\t24.05.0"), row("24.05.1\t24.05.8")].concat());
        assert_eq!(table.unwrap().overlapping().len(), 1);
    }

    #[test]
    fn the_newest_micro_release_stands_for_later_ones_of_its_series() {
        let none = "\t-".repeat(13);
        let rows: String = ["24.11.0\t24.11.7", "24.11.0\t24.11.3", "23.02.0\t23.02.8"]
            .map(|range| format!("init\ta.c:{}\t{range}{none}\n", &range[8..]))
            .concat();
        let empty = LockTable { rows: Vec::new() };
        let text = rust_source_of_locks(&Table::committed().unwrap(), &parsed(&rows).unwrap(), &empty);
        assert!(text.contains("first: 0x180b00, last: 0x180bff, levels: [0, 0,"), "{text}");
        assert!(text.contains("last: 0x180b03, levels"), "{text}");
        assert!(text.contains("last: 0x1702ff, levels"), "{text}");
    }
}
