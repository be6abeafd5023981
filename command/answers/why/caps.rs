//! The caps that a job exceeds: whose they are, how much of each is used, and when that may be over.

use multifactor2_core::decay::decay_factor;
use multifactor2_core::policy::points::Beyond;
use multifactor2_core::rules::targets::Cap;
use multifactor2_core::settings::TargetKind;
use multifactor2_snapshot::records::Job;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::recover;
use crate::model::Model;
use crate::output::numbers::{number, time};

/// A cap that a job goes beyond. Amounts are in hours of `TargetMetric`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapExceeded {
    /// Whose it is, such as `account chem`, `user ada` or `user ada in book gpu`.
    pub of: String,
    /// As the line says it: `Percent=20`, `Percent=20%available` or `Amount=1000`.
    pub cap: String,
    /// `TargetMetric`, such as `billing` or `cpu`.
    pub metric: String,
    /// How much of it is used.
    pub used: f64,
    /// How much the cap allows now.
    pub allowed: f64,
    /// What the job asks for: its TRES in all of its time limit.
    pub asked: f64,
    /// The job does not start (`Block=yes`); else it comes last.
    pub stops: bool,
    /// When there is room for the job.
    pub room: Room,
    /// That in seconds since 1970, if nothing more is charged until then; `None` if there is no such time.
    pub free_at: Option<i64>,
}

/// When a job fits below a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// From a time on.
    From,
    /// At a time at the latest, because usage leaves with its windows.
    AtTheLatest,
    /// The job asks for more than the cap allows at all.
    TooLarge,
    /// Never, because usage neither decays nor is reset.
    Never,
    /// It depends on what others use.
    NotKnown,
}

/// Those of a job, by its place in the snapshot.
pub(super) fn of(model: &Model<'_>, job: usize) -> Vec<CapExceeded> {
    let record = &model.snapshot.jobs[job];
    model.jobs[job].caps.iter().map(|beyond| one(model, record, beyond)).collect()
}

fn one(model: &Model<'_>, job: &Job, beyond: &Beyond) -> CapExceeded {
    let settings = model.config.settings.as_ref();
    let cap = match beyond.cap {
        Cap::Amount(hours) => format!("Amount={}", number(hours)),
        Cap::Delivered(percent) => format!("Percent={}", number(percent)),
        Cap::Available(percent) => format!("Percent={}%available", number(percent)),
    };
    let (room, free_at) = room(model, beyond);
    let of = match &beyond.book {
        None => name(model, job, beyond),
        Some(book) => format!("{} in book {book}", name(model, job, beyond)),
    };
    CapExceeded {
        of,
        cap,
        metric: settings.map_or_else(String::new, |settings| settings.target_metric.clone()),
        used: beyond.used / 3600.0,
        allowed: beyond.allowed / 3600.0,
        asked: beyond.requested / 3600.0,
        stops: beyond.stops,
        room,
        free_at,
    }
}

fn name(model: &Model<'_>, job: &Job, beyond: &Beyond) -> String {
    match beyond.kind {
        TargetKind::User => format!("user {}", job.user),
        TargetKind::Account => format!("account {}", job.account),
        TargetKind::Parent => {
            let account = beyond.account.map(|node| model.tree.association(node));
            let account = account.map(|place| model.snapshot.associations[place].account.as_str());
            format!("account {} and all below it", account.unwrap_or_default())
        }
        TargetKind::Group => {
            let group = model.snapshot.groups.iter().find(|group| Some(group.id) == job.group);
            let number = || job.group.map_or_else(String::new, |group| group.to_string());
            format!("Unix group {}", group.map_or_else(number, |group| group.name.clone()))
        }
        TargetKind::Qos => format!("QOS {}", job.qos),
        TargetKind::Partition => format!("partition {}", job.partition),
    }
}

/// When there is room. Of percentages that depends on what others use.
fn room(model: &Model<'_>, beyond: &Beyond) -> (Room, Option<i64>) {
    let Beyond { used, allowed, requested, .. } = *beyond;
    if !matches!(beyond.cap, Cap::Amount(_)) {
        return (Room::NotKnown, None);
    }
    if requested > allowed {
        return (Room::TooLarge, None);
    }
    let by_decay = if beyond.in_windows {
        // The last of it leaves with the oldest window.
        let settings = model.config.settings.as_ref();
        settings.map(|settings| settings.target_depth.saturating_mul(whole(settings.target_window.as_secs())))
    } else {
        let each_second = decay_factor(model.config.half_life);
        let seconds = ((allowed - requested) / used).ln() / each_second.ln();
        #[allow(clippy::cast_possible_truncation)] // within bounds
        (each_second < 1.0 && (0.0..1e12).contains(&seconds)).then_some(seconds.ceil() as i64)
    };
    let by_decay = by_decay.map(|seconds| model.at.saturating_add(seconds));
    let reset = recover::Reset::next(model).map(|reset| reset.at);
    match (by_decay, reset) {
        (Some(at), reset) if reset.is_none_or(|reset| at < reset) => {
            (if beyond.in_windows { Room::AtTheLatest } else { Room::From }, Some(at))
        }
        (Some(_), Some(reset)) if beyond.in_windows => (Room::AtTheLatest, Some(reset)),
        (_, Some(reset)) => (Room::From, Some(reset)),
        // Without decay, or with so much usage that nobody lives to see the end of it.
        (_, None) => (Room::Never, None),
    }
}

fn whole(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

impl CapExceeded {
    /// In words: whose cap, how much is used of how much, and how much the job asks for.
    pub fn in_words(&self) -> String {
        format!(
            "the cap of {} ({}): {} of {} {} hours are used, and the job asks for {}",
            self.of,
            self.cap,
            number(self.used),
            number(self.allowed),
            self.metric,
            number(self.asked)
        )
    }

    /// When it may be over, as a sentence.
    pub fn when(&self) -> String {
        let at = self.free_at.map_or_else(String::new, time);
        match self.room {
            Room::From => format!("Without further charges the job fits from {at} on."),
            Room::AtTheLatest => {
                format!("Without further charges the job fits by {at}.")
            }
            Room::TooLarge => {
                "The job requests more than the whole cap: a shorter time limit or a smaller request may fit.".to_owned()
            }
            Room::Never => {
                "Usage does not decay enough and is not reset: the job does not fit unless the cap is raised.".to_owned()
            }
            Room::NotKnown => "When the job fits depends on the usage of others and is not known.".to_owned(),
        }
    }
}
