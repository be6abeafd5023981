//! Targets and windows as metrics: the numbers of `tree --targets` and `tree --windows`, for a limited number of each type.
//!
//! Each of ten thousand users can have a target, and a series for each is more than a Prometheus should keep. So only the targets with the
//! largest distances have a series, and users only if they were asked for. Counts by kind and type cover the others, so that another user
//! beyond a cap still shows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use multifactor2_core::rules::targets::{delta, Measure, Side};
use multifactor2_core::settings::TargetKind;

use super::{count, float, Collected};
use crate::answers::tree::targets::{targets, Asked, Known, Mode, Of, RowType, TargetRow, Windows};
use crate::answers::tree::Filter;
use crate::error::Error;
use crate::model::Model;

/// How many of each type have series by default.
pub(super) const USUAL: usize = 50;

/// The most that can be asked for.
const MOST: usize = 1000;

/// Reads how many of each type have series.
pub(super) fn most(text: &str) -> Result<usize, Error> {
    let number = text.parse().ok().filter(|number| *number <= MOST);
    number.ok_or_else(|| format!("must be a whole number from 0 to {MOST}").into())
}

/// Adds them. `users` are those that may be named.
pub(super) fn add(model: &Model<'_>, users: &BTreeSet<&str>, most: usize, collected: &mut Collected) {
    let answer = targets(model, &Filter::default(), Asked { targets: true, windows: true });
    let mut unknown = |metric, known| collected.add(metric, &[], flag(known == Known::NotKnown));
    unknown("targets_are_unknown", answer.targets_are);
    unknown("windows_are_unknown", answer.windows_are);
    let rows = answer.targets.unwrap_or_default();
    let shown = Shown::of(model, &rows, users, most);
    let competing = Competing::of(model, &shown.rows);
    shown.counts.iter().for_each(|(labels, counts)| counts.add(*labels, collected));
    shown.rows.iter().for_each(|row| of_row(row, &competing, collected));
    if let Some(windows) = &answer.windows {
        of_windows(windows, &shown.rows, collected);
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// How many targets there are of a kind and type.
#[derive(Clone, Copy, Default)]
struct Counts {
    all: u64,
    omitted: u64,
    /// Of types that can be missed only.
    missed: Option<u64>,
    omitted_missed: Option<u64>,
}

impl Counts {
    fn add(self, (kind, of_type): (&str, &str), collected: &mut Collected) {
        for (metric, number) in [
            ("targets", Some(self.all)),
            ("targets_omitted", Some(self.omitted)),
            ("targets_missed", self.missed),
            ("targets_omitted_missed", self.omitted_missed),
        ] {
            if let Some(number) = number {
                collected.add(metric, &[("kind", kind), ("type", of_type)], count(number));
            }
        }
    }
}

/// Those that have series, and how many exist in all.
struct Shown<'r> {
    rows: Vec<&'r TargetRow>,
    counts: BTreeMap<(&'r str, &'static str), Counts>,
}

impl<'r> Shown<'r> {
    fn of(model: &Model<'_>, rows: &'r [TargetRow], users: &BTreeSet<&str>, most: usize) -> Self {
        let mut by_type: BTreeMap<&str, Vec<(bool, &TargetRow)>> = BTreeMap::new();
        for row in rows {
            by_type.entry(row.target_type.word()).or_default().push((may_be_named(model, row, users), row));
        }
        let mut shown = Self { rows: Vec::new(), counts: BTreeMap::new() };
        for (of_type, mut rows) in by_type {
            // Who may not be named takes no place. Where two are as far, in the order of `tree --targets`.
            rows.sort_by(|(is_named, a), (is_other_named, b)| {
                is_other_named.cmp(is_named).then_with(|| far(b).total_cmp(&far(a)))
            });
            for (place, (is_named, row)) in rows.into_iter().enumerate() {
                let is_omitted = !is_named || place >= most;
                let counts = shown.counts.entry((&row.kind, of_type)).or_default();
                counts.all += 1;
                counts.omitted += u64::from(is_omitted);
                if let Some(is_missed) = is_missed(row) {
                    *counts.missed.get_or_insert(0) += u64::from(is_missed);
                    *counts.omitted_missed.get_or_insert(0) += u64::from(is_missed && is_omitted);
                }
                if !is_omitted {
                    shown.rows.push(row);
                }
            }
        }
        shown
    }
}

/// A user only where that was asked for.
fn may_be_named(model: &Model<'_>, row: &TargetRow, users: &BTreeSet<&str>) -> bool {
    if row.kind == TargetKind::User.to_string() {
        return users.contains(row.name.as_str());
    }
    let place = row.association.and_then(|id| model.tree.by_id(id));
    let user = place.map_or("", |place| model.snapshot.associations[place].user.as_str());
    user.is_empty() || users.contains(user)
}

/// How many percentage points usage is below a target, floor or ceiling, where that is what its type is about; negative above it.
fn below(row: &TargetRow) -> f64 {
    let side = match row.target_type {
        RowType::Target | RowType::Share => Side::Both,
        RowType::Floor => Side::Below,
        RowType::Ceiling => Side::Above,
        RowType::Cap => return 0.0,
    };
    // Of a level on which nothing was used there is a distance, of a cluster that has used nothing there is none.
    let percent = row.percent.or_else(|| row.exact.filter(|exact| *exact != 0.0).map(|_| 0.0));
    percent.map_or(0.0, |percent| delta(row.target, percent, side, Measure::Difference))
}

/// How far a row is from its target: percentage points, and of a cap how full it is.
fn far(row: &TargetRow) -> f64 {
    match row.allowed {
        Some(allowed) if allowed > 0.0 => row.used / allowed,
        Some(_) if row.is_beyond => f64::INFINITY,
        _ => below(row).abs(),
    }
}

/// Whether usage is where it should not be; `None` of a target from which some are always off.
fn is_missed(row: &TargetRow) -> Option<bool> {
    match row.target_type {
        RowType::Target | RowType::Share => None,
        RowType::Floor | RowType::Ceiling => Some(below(row) != 0.0),
        RowType::Cap => Some(row.is_beyond),
    }
}

fn of_row(row: &TargetRow, competing: &Competing<'_>, collected: &mut Collected) {
    let labels = [
        ("book", row.book.as_deref().unwrap_or_default()),
        ("kind", &row.kind),
        ("name", &row.name),
        ("of", row.of.word()),
        ("type", row.target_type.word()),
    ];
    let seconds = |hours: f64| hours * 3600.0;
    let is_part = row.of != Of::Hours;
    for (metric, value) in [
        ("target_ratio", is_part.then_some(row.target / 100.0)),
        ("target_usage_ratio", row.percent.filter(|_| is_part).map(|percent| percent / 100.0)),
        ("target_used_seconds", Some(seconds(row.used))),
        ("target_allowed_seconds", row.allowed.map(seconds)),
        ("target_left_seconds", row.left.map(seconds)),
        ("target_points", row.points),
        ("target_is_missed", is_missed(row).map(flag)),
        ("target_competing_jobs", competing.jobs(row).map(count)),
    ] {
        if let Some(value) = value {
            collected.add(metric, &labels, value);
        }
    }
    if let Some(distance) = row.distance {
        let mode = match row.mode {
            Mode::Difference => "difference",
            Mode::Ratio => "ratio",
        };
        let labels: Vec<_> = labels.into_iter().chain([("mode", mode)]).collect();
        collected.add("target_distance", &labels, distance);
    }
}

/// Of the owners whose targets have series.
fn of_windows(windows: &Windows, rows: &[&TargetRow], collected: &mut Collected) {
    collected.add("windows_begin_timestamp_seconds", &[], float(windows.begin));
    collected.add("windows_length_seconds", &[], float(windows.length));
    collected.add("windows_depth", &[], count(windows.depth as u64));
    let shown: BTreeSet<_> = rows.iter().map(|row| (&row.kind, &row.name, row.association)).collect();
    for row in windows.rows.iter().filter(|row| shown.contains(&(&row.kind, &row.name, row.association))) {
        let labels = [("kind", row.kind.as_str()), ("name", &row.name), ("of", row.of.word())];
        collected.add("window_used_seconds", &labels, 3600.0 * row.counts);
        if let Some(percent) = row.percent {
            collected.add("window_usage_ratio", &labels, percent / 100.0);
        }
        if let Some(hours) = row.used.first() {
            collected.add("window_current_used_seconds", &labels, 3600.0 * hours);
        }
    }
}

/// Whom a target is for: the kind, the name or of a level of the tree the id of its association, and the book.
type Whom<'r> = (&'r str, &'r str, Option<u32>, Option<&'r str>);

fn whom(row: &TargetRow) -> Whom<'_> {
    // Levels of the tree are told from each other by their ids.
    let name = if row.association.is_some() { "" } else { row.name.as_str() };
    (&row.kind, name, row.association, row.book.as_deref())
}

/// The jobs that compete, of those whom some targets are for.
struct Competing<'r> {
    places: HashMap<Whom<'r>, usize>,
    counts: Vec<u64>,
    /// Each job that competes tells its Unix group.
    groups_are_known: bool,
}

impl<'r> Competing<'r> {
    fn of(model: &Model<'_>, rows: &[&'r TargetRow]) -> Self {
        let places: HashMap<_, _> = rows.iter().map(|row| whom(row)).zip(0..).collect();
        let mut counts = vec![0; rows.len()];
        let mut groups_are_known = true;
        if rows.is_empty() {
            return Self { places, counts, groups_are_known };
        }
        let kinds = [
            TargetKind::User,
            TargetKind::Group,
            TargetKind::Account,
            TargetKind::Qos,
            TargetKind::Partition,
            TargetKind::Parent,
        ];
        let [user, group, account, qos, partition, level] = kinds.map(|kind| kind.to_string());
        let snapshot = model.snapshot;
        let groups: HashMap<u32, &String> = snapshot.groups.iter().map(|group| (group.id, &group.name)).collect();
        for (at, job) in snapshot.jobs.iter().enumerate().filter(|(_, job)| job.competes) {
            let of_account = job.account.to_ascii_lowercase();
            let of_group = job.group.map(|id| groups.get(&id).map_or_else(|| id.to_string(), |name| (*name).clone()));
            groups_are_known &= of_group.is_some();
            let of_group = of_group.unwrap_or_default();
            let names = [
                (&user, &job.user),
                (&group, &of_group),
                (&account, &of_account),
                (&qos, &job.qos),
                (&partition, &job.partition),
            ];
            let names = names.map(|(kind, name)| (kind, name.as_str(), None));
            let path = model.jobs[at].association.map(|place| model.tree.path(place)).unwrap_or_default();
            let path = path.into_iter().map(|place| (&level, "", Some(snapshot.associations[place].id)));
            let book = model.book_name(model.book_in(at, &job.partition));
            for (kind, name, id) in names.into_iter().chain(path) {
                for book in std::iter::once(None).chain(book.map(Some)) {
                    if let Some(place) = places.get(&(kind.as_str(), name, id, book)) {
                        counts[*place] += 1;
                    }
                }
            }
        }
        Self { places, counts, groups_are_known }
    }

    /// `None` if it is not known.
    fn jobs(&self, row: &TargetRow) -> Option<u64> {
        let is_known = self.groups_are_known || row.kind != TargetKind::Group.to_string();
        self.places.get(&whom(row)).filter(|_| is_known).map(|place| self.counts[*place])
    }
}
