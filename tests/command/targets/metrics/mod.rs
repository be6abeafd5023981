//! Targets and windows among the metrics: every number is what the model has from the specification, and of more than are asked for those that are
//! farthest are there.

mod by_hand;

use std::collections::{BTreeMap, HashMap};

use multifactor2_command::answers::metrics::{of, Arguments, Users};
use multifactor2_command::model::{Model, Options};
use multifactor2_fixtures::points_model::cases::{self, ModelCase};
use multifactor2_fixtures::points_model::{shown, ModelAmount, ModelShown, ModelType};
use multifactor2_snapshot::Snapshot;

use super::{key, snapshot};

/// Series of a metric: labels as they are written, and values.
type Series = BTreeMap<String, f64>;

/// All whose names begin with this, without the prefix of all.
fn metrics(snapshot: &Snapshot, users: Option<Users>, targets: Option<usize>) -> BTreeMap<String, Series> {
    let model = Model::of(snapshot, Options::default());
    let arguments = Arguments { users, targets, ..Arguments::default() };
    let text = of(&model, &arguments).to_string();
    let mut all: BTreeMap<String, Series> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) =
            series.split_once('{').map_or((series, ""), |(name, labels)| (name, &labels[..labels.len() - 1]));
        let name = name.strip_prefix("multifactor2_").unwrap();
        if name.starts_with("target") || name.starts_with("window") {
            assert!(
                all.entry(name.to_owned())
                    .or_default()
                    .insert(labels.to_owned(), value.parse().unwrap())
                    .is_none(),
                "{line}"
            );
        }
    }
    all
}

fn named(names: &[&str]) -> Users {
    Users::Named(names.iter().map(|name| (*name).to_owned()).collect())
}

/// Everybody by name.
fn everybody(snapshot: &Snapshot) -> Users {
    let names = snapshot.associations.iter().map(|association| association.user.as_str());
    named(&names.collect::<Vec<_>>())
}

fn value(all: &BTreeMap<String, Series>, metric: &str, labels: &str) -> Option<f64> {
    all.get(metric)?.get(labels).copied()
}

/// A number that counts.
fn whole(value: f64) -> usize {
    // The sum of nothing is -0.
    (value + 0.0).to_string().parse().unwrap_or_else(|_| panic!("{value} counts nothing"))
}

/// One without labels.
fn alone(all: &BTreeMap<String, Series>, metric: &str) -> Option<f64> {
    value(all, metric, "")
}

fn near(found: Option<f64>, expected: Option<f64>, what: &str) {
    let is_near = match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        (found, expected) => found == expected,
    };
    assert!(is_near, "{what}: {found:?}, not {expected:?}");
}

/// A row of the model with its labels.
struct Due<'r> {
    row: &'r ModelShown,
    kind: String,
    name: String,
    of: &'static str,
    of_type: String,
}

impl<'r> Due<'r> {
    fn of(case: &ModelCase, row: &'r ModelShown) -> Self {
        let (kind, _, of_type) = key(row);
        let nodes = &case.cluster.nodes;
        let name = row.node.map_or_else(
            || row.name.clone(),
            |node| match nodes[node].parent {
                Some(parent) if nodes[node].user => format!("{} in {}", nodes[node].name, nodes[parent].name),
                _ => nodes[node].name.clone(),
            },
        );
        let of = match row.line.as_ref().map(|line| line.amount) {
            _ if row.path.is_some() => "siblings",
            Some(ModelAmount::Available(_)) => "available",
            Some(ModelAmount::Hours(_)) => "hours",
            _ => "all",
        };
        Self { row, kind, name, of, of_type }
    }

    fn labels(&self) -> String {
        let Self { kind, name, of, of_type, .. } = self;
        format!("kind=\"{kind}\",name=\"{name}\",of=\"{of}\",type=\"{of_type}\"")
    }

    fn percent(&self) -> Option<f64> {
        (self.row.total > 0.0).then(|| 100.0 * self.row.used / self.row.total)
    }

    /// Percentage points; `None` where rounding decides.
    fn below(&self) -> Option<f64> {
        let Some(percent) =
            self.percent().or_else(|| self.row.distance.filter(|distance| *distance != 0.0).map(|_| 0.0))
        else {
            return Some(0.0);
        };
        let below = self.row.target - percent;
        let below = match self.row.line.as_ref().map(|line| line.r#type) {
            Some(ModelType::Floor) => below.max(0.0),
            Some(ModelType::Ceiling) => below.min(0.0),
            _ => below,
        };
        (below == 0.0 || below.abs() > 1e-9).then_some(below)
    }

    fn is_missed(&self) -> Option<bool> {
        match self.of_type.as_str() {
            "cap" => {
                let is_close =
                    self.row.allowed.is_some_and(|allowed| (allowed - self.row.used).abs() < 1e-9 * allowed);
                (!is_close).then_some(self.row.beyond)
            }
            "floor" | "ceiling" => self.below().map(|below| below != 0.0),
            _ => None,
        }
    }

    fn assert(&self, all: &BTreeMap<String, Series>, what: &str) {
        let (row, labels) = (self.row, self.labels());
        let what = &format!("{labels} of {row:?}\n{what}");
        let of = |metric: &str| value(all, metric, &labels);
        let is_part = self.of != "hours";
        near(of("target_ratio"), is_part.then_some(row.target / 100.0), what);
        near(
            of("target_usage_ratio"),
            self.percent().filter(|_| is_part).map(|percent| percent / 100.0),
            what,
        );
        near(of("target_used_seconds"), Some(row.used), what);
        near(of("target_allowed_seconds"), row.allowed, what);
        near(of("target_left_seconds"), row.allowed.map(|allowed| allowed - row.used), what);
        let mode = ["difference", "ratio"].map(|mode| {
            let place = labels.find("name=").unwrap();
            value(
                all,
                "target_distance",
                &format!("{}mode=\"{mode}\",{}", &labels[..place], &labels[place..]),
            )
        });
        assert!(mode[0].is_none() || mode[1].is_none(), "{what}");
        near(mode[0].or(mode[1]), row.distance, what);
        let points = of("target_points");
        // What rounding leaves of a distance of 0 is none for one of both.
        let is_nothing = row.path.or(row.distance).is_some_and(|distance| distance.abs() < 1e-9);
        let is_zero = is_nothing && points.is_none_or(|points| points.abs() < 1e-6);
        if !is_zero && (self.of_type != "cap" || self.is_missed().is_some()) {
            near(points, row.points, what);
        }
        if let Some(is_missed) = self.is_missed() {
            near(of("target_is_missed"), Some(f64::from(u8::from(is_missed))), what);
        }
        near(of("target_competing_jobs"), Some(0.0), what);
        if row.windowed {
            let labels = format!(
                "kind=\"{}\",name=\"{}\",of=\"{}\"",
                self.kind,
                self.name,
                if is_part { self.of } else { "all" }
            );
            near(value(all, "window_used_seconds", &labels), Some(row.used), what);
            near(
                value(all, "window_current_used_seconds", &labels),
                Some(row.windows.first().copied().unwrap_or_default()),
                what,
            );
        }
    }
}

#[test]
fn every_number_is_what_the_model_has() {
    let mut random = multifactor2_fixtures::random();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for _ in 0..200 {
        let case = cases::case(&mut random);
        let snapshot = snapshot(&case);
        let rows =
            if case.settings.targets.is_empty() { Vec::new() } else { shown(&case.settings, &case.cluster) };
        let dues: Vec<Due> = rows.iter().map(|row| Due::of(&case, row)).collect();
        let what = case.settings.to_string();
        let all = metrics(&snapshot, Some(everybody(&snapshot)), Some(1000));
        assert_eq!(all.get("target_used_seconds").map_or(0, Series::len), dues.len(), "{what}");
        near(alone(&all, "targets_are_unknown"), Some(0.0), &what);
        near(alone(&all, "windows_are_unknown"), Some(0.0), &what);
        let is_windowed = rows.iter().any(|row| row.windowed);
        let length = is_windowed.then_some(3600.0);
        near(alone(&all, "windows_length_seconds"), length, &what);
        near(alone(&all, "windows_depth"), is_windowed.then_some(f64::from(case.settings.depth)), &what);
        near(alone(&all, "windows_begin_timestamp_seconds"), is_windowed.then_some(1_799_999_900.0), &what);
        for due in &dues {
            due.assert(&all, &what);
            for what in [&due.kind, &due.of_type, &format!("missed {:?} {}", due.is_missed(), due.of_type)] {
                *seen.entry(what.clone()).or_default() += 1;
            }
        }
        assert_bound(&snapshot, &dues, &what);
    }
    for what in [
        "User",
        "Group",
        "Account",
        "Parent",
        "QOS",
        "Partition",
        "target",
        "floor",
        "ceiling",
        "cap",
        "share",
    ] {
        assert!(seen.get(what).is_some_and(|count| *count > 20), "{what}: {seen:?}");
    }
    for of_type in ["floor", "ceiling", "cap"] {
        for is in [true, false] {
            assert!(seen.contains_key(&format!("missed Some({is}) {of_type}")), "{seen:?}");
        }
    }
}

/// With two of each type: these are the farthest, and the others are counted.
fn assert_bound(snapshot: &Snapshot, dues: &[Due], what: &str) {
    let all = metrics(snapshot, Some(everybody(snapshot)), Some(2));
    for of_type in ["target", "floor", "ceiling", "cap", "share"] {
        let of: Vec<&Due> = dues.iter().filter(|due| due.of_type == of_type).collect();
        let far = |due: &Due| match due.row.allowed {
            Some(allowed) if allowed > 0.0 => due.row.used / allowed,
            Some(_) if due.row.beyond => f64::INFINITY,
            Some(_) => 0.0,
            None if of_type == "cap" => 0.0,
            None => due.below().unwrap_or_default().abs(),
        };
        let is_there = |due: &&&Due| value(&all, "target_used_seconds", &due.labels()).is_some();
        let (written, omitted): (Vec<&Due>, Vec<&Due>) = of.iter().partition(is_there);
        assert_eq!(written.len(), of.len().min(2), "{of_type}\n{what}");
        let nearest = written.iter().map(|due| far(due)).fold(f64::INFINITY, f64::min);
        for due in &omitted {
            assert!(far(due) <= nearest + 1e-9, "{}: {} and {nearest}\n{what}", due.labels(), far(due));
        }
        let sum = |metric: &str| {
            let series = all.get(metric).into_iter().flatten();
            series
                .filter(|(labels, _)| labels.contains(&format!("type=\"{of_type}\"")))
                .map(|(_, value)| value)
                .sum::<f64>()
        };
        assert_eq!(whole(sum("targets")), of.len(), "{what}");
        assert_eq!(whole(sum("targets_omitted")), omitted.len(), "{what}");
        if of.iter().all(|due| due.is_missed().is_some()) {
            let missed = |dues: &[&Due]| dues.iter().filter(|due| due.is_missed() == Some(true)).count();
            assert_eq!(whole(sum("targets_missed")), missed(&of), "{of_type}\n{what}");
            assert_eq!(whole(sum("targets_omitted_missed")), missed(&omitted), "{of_type}\n{what}");
        } else if of_type == "target" || of_type == "share" {
            assert!(sum("targets_missed") < 0.1, "{what}");
        }
    }
}
