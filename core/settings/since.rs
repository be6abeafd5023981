//! The version in which each setting appeared, for writing a file that an older plugin can read.

use super::text::{self, Pair, Statement};

/// Versions, oldest first, with what each brought: settings, and any `Setting.Attribute` or `Setting=word` that came after its setting.
pub const SINCE: [(&str, &[&str]); 3] = [
    ("0.1.0", &["ActiveJobs"]),
    (
        "0.2.0",
        &[
            "ActiveJobs=startable",
            "AdminCommentTickets",
            "Book",
            "CapTiers",
            "Charge",
            "CompensationFactor",
            "Component",
            "Credential",
            "Dilution",
            "DilutionCap",
            "DilutionExponent",
            "DilutionQuantum",
            "DilutionRunning",
            "DilutionUnit",
            "Distribution",
            "DominantTRES",
            "FairShareScale",
            "Functional",
            "FunctionalWeightAccount",
            "FunctionalWeightDepartment",
            "FunctionalWeightJob",
            "FunctionalWeightUser",
            "MaxFunctionalJobs",
            "MinimumCharge",
            "Override",
            "ParentUsers",
            "PointsCap",
            "PointsWeight",
            "PolicyHierarchy",
            "Service",
            "ShareFunctionalShares",
            "ShareOverrideTickets",
            "Snapshot",
            "SnapshotGroup",
            "SnapshotMode",
            "SnapshotPeriod",
            "SnapshotPublic",
            "Target",
            "TargetDecay",
            "TargetDepth",
            "TargetMetric",
            "TargetUsage",
            "TargetWindow",
            "TicketsFunctional",
            "TicketsShare",
            "TierMultiplier",
            "UsageMeasure",
        ],
    ),
    (
        "0.3.0",
        &[
            "Adjust",
            "Charge.Days",
            "Charge.Hours",
            "Component.StartCount",
            "Component.WeightPercent",
            "Component=ATTR",
            "Component=URGENCY",
            "Credential.ClassWeight",
            "FSStep",
            "Grant",
            "QueueTimeSince",
            "Service.TargetGrowth",
            "Target.Block",
            "Target.Book",
            "TreeDecay",
            "TreeDepth",
            "TreeUsage",
            "TreeWindow",
        ],
    ),
];

/// A setting that a version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where it is written.
    pub place: String,
    /// As it is written: the key, or key and value where only that value is newer.
    pub what: String,
    /// The version that brought it.
    pub since: &'static str,
}

/// What a version would refuse of settings as [`super::Loaded::written`] has them; `None` for a version that is not known here.
pub fn refused_by(version: &str, written: &str) -> Option<Vec<Refused>> {
    let known = SINCE.iter().position(|(known, _)| *known == version)?;
    let later = &SINCE[known + 1..];
    let brought = |wanted: &str| {
        let has = |keys: &[&str]| keys.iter().any(|key| key.eq_ignore_ascii_case(wanted));
        later.iter().find(|(_, keys)| has(keys)).map(|(version, _)| *version)
    };
    let mut refused = Vec::new();
    for line in written.lines() {
        let (line, place) = line.rsplit_once(" # ").unwrap_or((line, ""));
        let pairs = text::parse(line, place).statements.into_iter().flat_map(Statement::into_pairs);
        let mut block = String::new();
        for Pair { key, value, .. } in pairs {
            let name = format!("{block}{key}");
            let with_value = format!("{key}={value}");
            let of_value = || Some((with_value.clone(), brought(&format!("{name}={value}"))?));
            if let Some((what, since)) = brought(&name).map(|since| (key.clone(), since)).or_else(of_value) {
                refused.push(Refused { place: place.to_owned(), what, since });
            }
            if block.is_empty() {
                block = format!("{key}.");
            }
        }
    }
    Some(refused)
}
