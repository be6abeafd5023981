//! What a user gains by gaming the policy.
//!
//! A user gets a **twin**: the same accounts, the same shares, the same work, submitted at the same times. The user plays a [`Strategy`],
//! the twin does not. Both are in one replay, so that the machine, the other users and chance are the same for both.
//!
//! - **Service**: the CPU seconds that each has in the time in which both have jobs waiting (both are backlogged). A user without waiting
//!   jobs cannot have more, and the other would only catch up.
//! - **Gaming gain**: the service of the strategist over that of its twin. 1 means that it gains nothing. A replay in which nobody plays
//!   ([`Strategy::Honest`]) shows the effect of chance alone.
//!
//! - **Gain by entitlement**: the same ratio with the service of each as a part of its entitlement ([`fairness`]), over contended time. A
//!   user with shares in two accounts is entitled to more, which is no gaming.
//!
//! The work of the user is there twice, so the machine is fuller than it was.

use std::fmt;

use crate::measures::fairness;
use crate::sim::{Outcome, NEVER};
use crate::workload::{Association, Job, Workload, NO_LIMIT};

/// What somebody does to get more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Nothing.
    Honest,
    /// Each job becomes up to 16 jobs, which share its CPUs and run as long.
    Split,
    /// Jobs ask for four times the time that they asked for.
    Inflate,
    /// Each job becomes up to 64 jobs, one after the other in time: each runs for half a `PriorityCalcPeriod` at most if 64 are enough.
    Tiny,
    /// Every second job goes to another account, in which the user gets one share.
    SecondAccount,
    /// Jobs are submitted a week before they can start.
    Parked,
    /// Jobs are kept back until a second after a cycle, and those of an hour are submitted together.
    Burst,
}

/// All but [`Strategy::Honest`].
pub const STRATEGIES: [Strategy; 6] = [
    Strategy::Split,
    Strategy::Inflate,
    Strategy::Tiny,
    Strategy::SecondAccount,
    Strategy::Parked,
    Strategy::Burst,
];

/// Pieces of a job under [`Strategy::Split`].
const PARTS: u32 = 16;
/// Pieces of a job under [`Strategy::Tiny`].
const PIECES: u32 = 64;
/// How much earlier [`Strategy::Parked`] submits.
const EARLIER: i64 = 7 * 86_400;
/// How long [`Strategy::Burst`] keeps jobs back.
const BURST: i64 = 3600;
/// In which entitlements are worked out.
const INTERVALS: u32 = 200;

impl Strategy {
    /// By its name.
    ///
    /// # Errors
    /// No strategy has that name.
    pub fn named(name: &str) -> Result<Self, String> {
        let found = STRATEGIES.into_iter().chain([Self::Honest]).find(|strategy| strategy.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = STRATEGIES.iter().map(|strategy| strategy.name()).collect();
            format!("there is no strategy {name:?}: {} or {}", names.join(", "), Self::Honest)
        })
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Honest => "honest",
            Self::Split => "split",
            Self::Inflate => "inflate",
            Self::Tiny => "tiny",
            Self::SecondAccount => "second-account",
            Self::Parked => "parked",
            Self::Burst => "burst",
        }
    }

    /// What it does, in words.
    pub fn described(self) -> &'static str {
        match self {
            Self::Honest => "nobody plays",
            Self::Split => "each job becomes up to 16 jobs that share its CPUs",
            Self::Inflate => "jobs ask for four times their time limit",
            Self::Tiny => "each job becomes up to 64 short ones",
            Self::SecondAccount => "every second job goes to another account, where the user has one share",
            Self::Parked => "jobs are submitted a week before they can start, such as with a dependency",
            Self::Burst => "the jobs of an hour are submitted together, a second after a cycle",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Strategist,
    Twin,
    Other,
}

/// A workload in which a user has a twin.
#[derive(Clone, Debug)]
pub struct Played {
    /// The workload.
    pub workload: Workload,
    /// By job.
    sides: Vec<Side>,
    /// The user, and its twin.
    users: [u32; 2],
}

/// A user that cannot play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotPlay {
    /// There is no such user with jobs.
    NoSuchUser(String),
    /// There is no second account.
    OneAccount,
}

impl fmt::Display for CannotPlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchUser(user) => write!(f, "the trace has no job of a user {user:?}"),
            Self::OneAccount => f.write_str("the trace has only one account"),
        }
    }
}

impl std::error::Error for CannotPlay {}

impl Played {
    /// Gives a user a twin, and lets the user play.
    ///
    /// # Errors
    /// There is no such user, or no second account for it.
    pub fn new(workload: &Workload, user: &str, strategy: Strategy) -> Result<Self, CannotPlay> {
        let missing = || CannotPlay::NoSuchUser(user.to_owned());
        let number = workload.users.find(user).ok_or_else(missing)?;
        if !workload.jobs.iter().any(|job| is_of(workload, job, number)) {
            return Err(missing());
        }
        let mut played = workload.clone();
        let twin = played.users.intern(&unused(workload, user));
        // By association of the user: that of the twin.
        let mut twins = vec![None; workload.associations.len()];
        for (at, of) in workload.associations.iter().enumerate().filter(|(_, of)| of.user == Some(number)) {
            twins[at] = u32::try_from(played.associations.len()).ok();
            played.associations.push(Association { user: Some(twin), ..*of });
        }
        let second = match strategy {
            Strategy::SecondAccount => Some(second_account(workload, &mut played, number)?),
            _ => None,
        };
        let period = i64::from(workload.config.calc_period());
        let first = workload.jobs.first().map_or(0, |job| job.submit);
        let mut jobs: Vec<(Job, Side)> = Vec::with_capacity(workload.jobs.len());
        let mut count = 0_u32;
        for job in &workload.jobs {
            let Some(of_twin) = twins
                .get(job.association as usize)
                .copied()
                .flatten()
                .filter(|_| is_of(workload, job, number))
            else {
                jobs.push((*job, Side::Other));
                continue;
            };
            count += 1;
            let honest = (Job { association: of_twin, ..*job }, Side::Twin);
            // At one time neither is always first.
            if count % 2 == 0 {
                jobs.push(honest);
            }
            let mut own = *job;
            own.association = second.filter(|_| count % 2 == 0).unwrap_or(own.association);
            let cycle = Cycle { first, period };
            strategy.play(own, cycle, |job| jobs.push((job, Side::Strategist)));
            if count % 2 != 0 {
                jobs.push(honest);
            }
        }
        jobs.sort_by_key(|(job, _)| job.submit);
        let (jobs, sides) = jobs.into_iter().unzip();
        played.jobs = jobs;
        Ok(Self { workload: played, sides, users: [number, twin] })
    }

    /// CPU seconds of the strategist and of its twin in the time in which both have jobs waiting, after `since`.
    #[allow(clippy::cast_precision_loss)] // seconds and CPUs
    pub fn service(&self, outcome: &Outcome, since: i64) -> Service {
        // When it changes, who waits, and who runs, for the strategist and the twin.
        let mut changes: Vec<(i64, usize, i64, i64)> = Vec::new();
        for ((job, side), start) in self.workload.jobs.iter().zip(&self.sides).zip(&outcome.starts) {
            let place = match side {
                Side::Strategist => 0,
                Side::Twin => 1,
                Side::Other => continue,
            };
            changes.push((job.eligible, place, 1, 0));
            if *start != NEVER {
                let cpus = i64::from(job.cpus);
                changes.push((*start, place, -1, cpus));
                changes.push((start + i64::from(job.run), place, 0, -cpus));
            }
        }
        changes.sort_unstable();
        let (mut waiting, mut running, mut service) = ([0_i64; 2], [0_i64; 2], Service::default());
        let mut before = since;
        for (time, place, waits, cpus) in changes {
            if waiting.iter().all(|waiting| *waiting > 0) {
                let seconds = (time - before).max(0) as f64;
                service.seconds += seconds;
                service.strategist += seconds * running[0] as f64;
                service.twin += seconds * running[1] as f64;
            }
            before = time.max(since);
            waiting[place] += waits;
            running[place] += cpus;
        }
        service
    }

    /// What the strategist had in parts of what it was entitled to, over the same of its twin, in contended time after `since`. `None`
    /// where one of them was entitled to nothing, or the twin got nothing.
    pub fn gain_by_entitlement(&self, outcome: &Outcome, since: i64) -> Option<f64> {
        let fairness = fairness(&self.workload, outcome, INTERVALS, self.workload.config.half_life(), since);
        let [own, twin] = self.users.map(|user| {
            let of_user = |values: &[f64]| -> f64 {
                let values = self.workload.associations.iter().zip(values);
                values.filter(|(of, _)| of.user == Some(user)).map(|(_, value)| value).sum()
            };
            of_user(&fairness.got) / of_user(&fairness.entitled)
        });
        Some(own / twin).filter(|gain| gain.is_finite())
    }
}

/// What both had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Service {
    /// Seconds in which both had jobs waiting.
    pub seconds: f64,
    /// CPU seconds of the strategist in these.
    pub strategist: f64,
    /// CPU seconds of the twin.
    pub twin: f64,
}

impl Service {
    /// The gaming gain; `None` where the two never waited together, or the twin got nothing.
    pub fn gain(&self) -> Option<f64> {
        (self.twin > 0.0).then(|| self.strategist / self.twin)
    }
}

/// When priorities are computed.
#[derive(Clone, Copy)]
struct Cycle {
    first: i64,
    period: i64,
}

impl Strategy {
    /// The jobs that one becomes.
    fn play(self, job: Job, Cycle { first, period }: Cycle, mut submit: impl FnMut(Job)) {
        match self {
            Self::Honest | Self::SecondAccount => submit(job),
            Self::Split => {
                let parts = job.cpus.clamp(1, PARTS);
                for part in 0..parts {
                    let cpus = share(job.cpus, parts, part);
                    let memory = job.memory * u64::from(cpus) / u64::from(job.cpus.max(1));
                    submit(Job { cpus, memory, gpus: share(job.gpus, parts, part), ..job });
                }
            }
            Self::Inflate => {
                let limit = if job.limit == NO_LIMIT { NO_LIMIT } else { job.limit.saturating_mul(4) };
                submit(Job { limit, ..job });
            }
            Self::Tiny => {
                let most = u32::try_from((period / 2).max(1)).unwrap_or(u32::MAX);
                let pieces = job.run.div_ceil(most).clamp(1, PIECES);
                for piece in 0..pieces {
                    let run = share(job.run, pieces, piece);
                    let limit = if job.limit == NO_LIMIT { NO_LIMIT } else { job.limit.div_ceil(pieces) };
                    submit(Job { run, limit: limit.max(run), ..job });
                }
            }
            Self::Parked => submit(Job { submit: job.submit - EARLIER, ..job }),
            Self::Burst => {
                // The next end of an hour, and then a second after the cycle that follows.
                let hours = (job.eligible - first).div_euclid(BURST) + 1;
                let cycles = (hours * BURST).div_euclid(period) + 1;
                let at = first + cycles * period + 1;
                submit(Job { submit: at, eligible: at, ..job });
            }
        }
    }
}

/// The part of a whole number at a place, so that all together are the whole.
fn share(whole: u32, parts: u32, part: u32) -> u32 {
    whole / parts + u32::from(part < whole % parts)
}

fn is_of(workload: &Workload, job: &Job, user: u32) -> bool {
    workload.associations[job.association as usize].user == Some(user)
}

/// A name that nobody has.
fn unused(workload: &Workload, user: &str) -> String {
    let mut name = format!("{user}-twin");
    while workload.users.find(&name).is_some() {
        name.push('+');
    }
    name
}

/// An association of the user in another account: that of the most shares in which it has none and others do.
fn second_account(workload: &Workload, played: &mut Workload, user: u32) -> Result<u32, CannotPlay> {
    let own: Vec<u32> =
        workload.associations.iter().filter(|of| of.user == Some(user)).map(|of| of.account).collect();
    let others = workload.associations.iter().filter(|of| of.user.is_some() && !own.contains(&of.account));
    let parents = others.filter_map(|of| of.parent);
    let shares = |place: &u32| (workload.associations[*place as usize].shares, u32::MAX - place);
    let parent = parents.max_by_key(shares).ok_or(CannotPlay::OneAccount)?;
    let account = workload.associations[parent as usize].account;
    let place = u32::try_from(played.associations.len()).unwrap_or_default();
    let association =
        Association { parent: Some(parent), account, user: Some(user), shares: 1, is_listed: false };
    played.associations.push(association);
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Recipe;

    fn work(played: &Played, side: Side) -> u64 {
        let jobs = played.workload.jobs.iter().zip(&played.sides);
        jobs.filter(|(_, of)| **of == side).map(|(job, _)| Workload::cpu_seconds(job)).sum()
    }

    #[test]
    fn both_have_the_same_work() {
        let workload = Recipe::small(1, 300).make();
        for strategy in STRATEGIES {
            let played = Played::new(&workload, "user0", strategy).unwrap();
            assert!(work(&played, Side::Twin) > 0);
            assert_eq!(work(&played, Side::Strategist), work(&played, Side::Twin), "{strategy}");
            assert!(played.workload.jobs.windows(2).all(|pair| pair[0].submit <= pair[1].submit));
            assert_eq!(Strategy::named(strategy.name()), Ok(strategy));
        }
        assert!(Strategy::named("nap").unwrap_err().contains("second-account"));
        let nobody = Played::new(&workload, "nobody", Strategy::Split).unwrap_err();
        assert_eq!(nobody, CannotPlay::NoSuchUser("nobody".to_owned()));
    }
}
