//! `SchedulerParameters` of slurm.conf, as far as the model follows them, and other settings that decide how Slurm schedules.

use crate::trace::config::Config;

/// The first release that plans a job for the end of the last running one that it needs, as year and month.
const WITHOUT_WINDOWS: (u32, u32) = (25, 5);

/// The parameters; times in seconds but where it is said. The defaults are Slurm's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // as in slurm.conf
pub struct Parameters {
    /// `default_queue_depth`: jobs that a pass of the main scheduler looks at, unless it is one over the whole queue.
    pub default_queue_depth: u32,
    /// `sched_interval`: between passes of the main scheduler over the whole queue; `None` for -1, without a main scheduler.
    pub sched_interval: Option<u32>,
    /// `batch_sched_delay`: at least between a pass that was asked for, or over the whole queue, and the next one that is asked for.
    pub batch_sched_delay: u32,
    /// `defer`, `defer_batch`: an end of a job asks for a pass as submissions do, and does not make one at once.
    pub defer: bool,
    /// An end of a job makes a pass at once: in 20.11, and later where there is an `Epilog`, as slurmd tells when it is over. Else slurmd
    /// says that a job is gone when it is asked to end it, and that asks for a pass as with `defer` (`agent.c`).
    pub looks_at_ends: bool,
    /// What happens within a second is seen half a second later on average, as slurmctld's thread looks once a second. Else at once.
    pub in_half_seconds: bool,
    /// `partition_job_depth`: jobs of a partition that a pass of the main scheduler looks at; 0 for no bound.
    pub partition_job_depth: u32,
    /// `sched_max_job_start`: jobs that a pass of the main scheduler starts; 0 for no bound.
    pub sched_max_job_start: u32,
    /// Backfill runs: `SchedulerType=sched/backfill`.
    pub backfill: bool,
    /// `bf_interval`: between passes of backfill.
    pub bf_interval: u32,
    /// `bf_max_job_test`: jobs that a pass of backfill tests.
    pub bf_max_job_test: u32,
    /// `bf_max_job_start`: jobs that it starts; 0 for no bound.
    pub bf_max_job_start: u32,
    /// `bf_max_job_user`: of one user that it considers; 0 for no bound, as with the next three.
    pub bf_max_job_user: u32,
    /// `bf_max_job_part`: of one partition.
    pub bf_max_job_part: u32,
    /// `bf_max_job_assoc`: of one association.
    pub bf_max_job_assoc: u32,
    /// `bf_max_job_user_part`: of one user in one partition.
    pub bf_max_job_user_part: u32,
    /// `bf_max_job_array_resv`: reservations that tasks of one array get.
    pub bf_max_job_array_resv: u32,
    /// `bf_window`: how far ahead it reserves, in minutes.
    pub bf_window: u32,
    /// Backfill takes running jobs that end in one window to end together (Slurm up to 24.11).
    pub in_windows: bool,
    /// `bf_window_linear`: by how much such windows get longer; 0: they double.
    pub bf_window_linear: u32,
    /// `bf_resolution`: to what reservations are rounded, their begin down.
    pub bf_resolution: u32,
    /// The end of a reservation is rounded up (from Slurm 24.11 on); before, down.
    pub ends_are_rounded_up: bool,
    /// A test for a later time begins with all jobs gone that are over by then, and ends with the next change of the plan (from Slurm
    /// 24.11 on).
    pub tests_from_then_on: bool,
    /// A job for one node gets the first that can take it (from Slurm 26.05 on); before, the one with the fewest CPUs that are enough.
    pub takes_the_first_node: bool,
    /// `bf_min_age_reserve`: how long a job must have waited to get a reservation, or to hold up others in the main scheduler.
    pub bf_min_age_reserve: u32,
    /// `bf_min_prio_reserve`: the priority that it must have for that.
    pub bf_min_prio_reserve: u32,
    /// `bf_one_resv_per_job`: a job in several partitions gets one reservation.
    pub bf_one_resv_per_job: bool,
    /// `bf_continue`: a pass of backfill goes on after a sleep in which something changed. This and the next three count only with a
    /// [`backfill_rate`](Self::backfill_rate).
    pub bf_continue: bool,
    /// `bf_max_time`: how long a pass lasts; `None`: `bf_interval`.
    pub bf_max_time: Option<u32>,
    /// `bf_yield_interval`: microseconds of work in it before it sleeps.
    pub bf_yield_interval: u32,
    /// `bf_yield_sleep`: microseconds for which it sleeps.
    pub bf_yield_sleep: u32,
    /// `assoc_limit_stop`: a job that a limit holds back holds up others. The model does not follow limits then.
    pub stops_at_limits: bool,
    /// No parameter of Slurm's: milliseconds from the end of a job until its nodes take another (slurmd's epilog and messages). Time is in
    /// seconds here, and an end is somewhere within its second. So part of the jobs take a second more.
    pub node_release: u32,
    /// No parameter of Slurm's: jobs that backfill tests in a second; 0: a pass takes no time.
    pub backfill_rate: u32,
    /// Words that were given and that count only with a `backfill_rate`.
    pub of_pace: Vec<String>,
    /// Words that were given and that the model does not follow.
    pub ignored: Vec<String>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            default_queue_depth: 100,
            sched_interval: Some(60),
            batch_sched_delay: 3,
            defer: false,
            looks_at_ends: true,
            in_half_seconds: false,
            partition_job_depth: 0,
            sched_max_job_start: 0,
            backfill: true,
            bf_interval: 30,
            bf_max_job_test: 500,
            bf_max_job_start: 0,
            bf_max_job_user: 0,
            bf_max_job_part: 0,
            bf_max_job_assoc: 0,
            bf_max_job_user_part: 0,
            bf_max_job_array_resv: 20,
            bf_window: 1440,
            in_windows: false,
            bf_window_linear: 0,
            bf_resolution: 60,
            ends_are_rounded_up: true,
            tests_from_then_on: true,
            takes_the_first_node: true,
            bf_min_age_reserve: 0,
            bf_min_prio_reserve: 0,
            bf_one_resv_per_job: false,
            bf_continue: false,
            bf_max_time: None,
            bf_yield_interval: 2_000_000,
            bf_yield_sleep: 500_000,
            node_release: 0,
            backfill_rate: 0,
            of_pace: Vec::new(),
            stops_at_limits: false,
            ignored: Vec::new(),
        }
    }
}

/// How slurmctld looks for a parameter: for the first place where this text stands, in capital or small letters, within whatever word
/// (`xstrcasestr`), so that `==bf_max_job_user=20` counts. The same in all releases from 20.11 to 26.05.
#[derive(Clone, Copy)]
enum Look {
    /// The text alone.
    Word(&'static str, fn(&mut Parameters)),
    /// The text, and a number behind it (`atoi`: what has no digits is 0). Out of bounds the default holds.
    Number(&'static str, i64, i64, fn(&mut Parameters, u32)),
}

const DAY: i64 = 86_400;
const ANY: i64 = i32::MAX as i64;

/// What the model follows. Bounds as in `backfill.c`, `job_scheduler.c` and the select plugins.
const LOOKS: [Look; 24] = [
    Look::Word("bf_continue", |of| of.bf_continue = true),
    Look::Number("bf_max_time=", 1, 3600, |of, number| of.bf_max_time = Some(number)),
    Look::Number("bf_yield_interval=", 1, 10_000_000, |of, number| of.bf_yield_interval = number),
    Look::Number("bf_yield_sleep=", 1, 10_000_000, |of, number| of.bf_yield_sleep = number),
    Look::Word("bf_one_resv_per_job", |of| of.bf_one_resv_per_job = true),
    // From 23.02 on `defer_batch` is another word, and has the same effect on batch jobs; before, it counts as `defer`.
    Look::Word("defer", |of| of.defer = true),
    Look::Number("default_queue_depth=", 0, ANY, |of, number| of.default_queue_depth = number),
    // 0: at each round of slurmctld's own thread, a second.
    Look::Number("sched_interval=", 0, ANY, |of, number| of.sched_interval = Some(number.max(1))),
    Look::Number("batch_sched_delay=", 0, ANY, |of, number| of.batch_sched_delay = number),
    Look::Number("partition_job_depth=", 0, ANY, |of, number| of.partition_job_depth = number),
    Look::Number("sched_max_job_start=", 0, ANY, |of, number| of.sched_max_job_start = number),
    Look::Number("bf_interval=", 1, 10_800, |of, number| of.bf_interval = number),
    Look::Number("bf_max_job_test=", 1, 1_000_000, |of, number| of.bf_max_job_test = number),
    Look::Number("bf_max_job_start=", 0, 10_000, |of, number| of.bf_max_job_start = number),
    Look::Number("bf_max_job_user=", 0, ANY, |of, number| of.bf_max_job_user = number),
    Look::Number("bf_max_job_part=", 0, ANY, |of, number| of.bf_max_job_part = number),
    Look::Number("bf_max_job_assoc=", 0, ANY, |of, number| of.bf_max_job_assoc = number),
    Look::Number("bf_max_job_user_part=", 0, ANY, |of, number| of.bf_max_job_user_part = number),
    Look::Number("bf_max_job_array_resv=", 0, 1000, |of, number| of.bf_max_job_array_resv = number),
    Look::Number("bf_window=", 1, 30 * 1440, |of, number| of.bf_window = number),
    Look::Number("bf_window_linear=", 1, ANY, |of, number| of.bf_window_linear = number),
    Look::Number("bf_resolution=", 1, 3600, |of, number| of.bf_resolution = number),
    Look::Number("bf_min_age_reserve=", 0, 30 * DAY, |of, number| of.bf_min_age_reserve = number),
    Look::Number("bf_min_prio_reserve=", 1, u32::MAX as i64, |of, number| of.bf_min_prio_reserve = number),
];

/// The first places of [`LOOKS`] that are about the time that a pass takes.
const OF_PACE: usize = 4;

/// A release as year and month; one that is not known counts as the newest.
type Release = (u32, u32);

const NEWEST: Release = (u32::MAX, 0);
/// The first one with `bf_interval=-1` and `sched_interval=-1`; before, both are errors.
const WITH_OFF: Release = (22, 5);
/// The first one that rounds the end of a reservation up (`backfill.c`: from 20.11 to 24.05 it is divided without a remainder).
const WITH_ENDS_UP: Release = (24, 11);
/// The first one that gives a job for one node the first that can take it (`_get_one_res`).
const WITH_FIRST_NODE: Release = (26, 5);
/// The first one with 500 as the default of `bf_max_job_test`; before, it is 100.
const WITH_500: Release = (21, 8);

impl Parameters {
    /// Of a configuration: also `SchedulerType`, and the release.
    ///
    /// # Errors
    /// No slurmctld from 20.11 to 26.05 starts with it.
    pub fn of(config: &Config) -> Result<Self, String> {
        let mut numbers = config.get("SLURM_VERSION").unwrap_or_default().split('.').map(str::parse::<u32>);
        let release = match (numbers.next(), numbers.next()) {
            (Some(Ok(year)), Some(Ok(month))) => (year, month),
            _ => NEWEST,
        };
        let text = config.get("SchedulerParameters").unwrap_or_default();
        let mut parameters = Self::read(text, release);
        parameters.backfill &= config.get("SchedulerType").is_none_or(|name| name.ends_with("backfill"));
        parameters.in_half_seconds = true;
        parameters.looks_at_ends = release < WITH_500 || has_epilog(config);
        parameters.in_windows = release < WITHOUT_WINDOWS;
        parameters.ends_are_rounded_up = release >= WITH_ENDS_UP;
        parameters.takes_the_first_node = release >= WITH_FIRST_NODE;
        parameters.tests_from_then_on = release >= WITH_ENDS_UP;
        let is_refused = place(text, "max_job_bf=").is_some() && place(text, "bf_max_job_test=").is_none();
        if parameters.backfill && is_refused {
            return Err("SchedulerParameters has max_job_bf, with which no slurmctld from 20.11 to 26.05 starts: write \
                        bf_max_job_test"
                .to_owned());
        }
        Ok(parameters)
    }

    /// Those of the newest release.
    pub fn parse(text: &str) -> Self {
        Self::read(text, NEWEST)
    }

    /// A time, rounded down to `bf_resolution`.
    pub fn rounded_down(&self, time: i64) -> i64 {
        let resolution = i64::from(self.bf_resolution);
        time.div_euclid(resolution) * resolution
    }

    /// A time, rounded up to it.
    pub fn rounded_up(&self, time: i64) -> i64 {
        self.rounded_down(time.saturating_add(i64::from(self.bf_resolution) - 1))
    }

    /// The end of a reservation, rounded as the release does.
    pub fn rounded_end(&self, time: i64) -> i64 {
        if self.ends_are_rounded_up {
            self.rounded_up(time)
        } else {
            self.rounded_down(time)
        }
    }

    /// Reads the text as slurmctld of a release does. Words that mean nothing to the model, and numbers out of bounds, are in
    /// [`Self::ignored`].
    fn read(text: &str, release: Release) -> Self {
        let mut parameters = Self::default();
        if release < WITH_500 {
            parameters.bf_max_job_test = 100;
        }
        let mut used = Vec::new();
        for (at_look, look) in LOOKS.into_iter().enumerate() {
            let is_of_pace = at_look < OF_PACE;
            match look {
                Look::Word(word, set) => {
                    let Some(at) = place(text, word) else { continue };
                    set(&mut parameters);
                    used.push((at, is_of_pace));
                }
                Look::Number(name, least, most, set) => {
                    let Some(at) = place(text, name) else { continue };
                    let value = leading_number(&text[at + name.len()..]);
                    if value == -1 && release >= WITH_OFF && name == "bf_interval=" {
                        parameters.backfill = false;
                    } else if value == -1 && release >= WITH_OFF && name == "sched_interval=" {
                        parameters.sched_interval = None;
                    } else if (least..=most).contains(&value) {
                        set(&mut parameters, u32::try_from(value).unwrap_or(u32::MAX));
                    } else {
                        continue;
                    }
                    used.push((at, is_of_pace));
                }
            }
        }
        parameters.stops_at_limits = place(text, "assoc_limit_stop").is_some();
        // Slurm lets the association win.
        if parameters.bf_max_job_assoc > 0 {
            parameters.bf_max_job_user = 0;
        }
        let mut begin = 0;
        for word in text.split(',') {
            let end = begin + word.len();
            let shown = word.trim();
            let is_of_pace: Vec<bool> = used
                .iter()
                .filter(|(at, _)| (begin..end).contains(at))
                .map(|(_, is_of_pace)| *is_of_pace)
                .collect();
            let words = if is_of_pace.is_empty() { &mut parameters.ignored } else { &mut parameters.of_pace };
            let is_told = is_of_pace.is_empty() || is_of_pace.contains(&true);
            if is_told && !shown.is_empty() && shown != "(null)" && words.len() < 100 {
                words.push(shown.chars().take(80).collect());
            }
            begin = end + 1;
        }
        parameters
    }
}

/// Whether an `Epilog` exists. From 24.05 on `scontrol show config` numbers them, and leaves the key out without one. If the output does
/// not say, one is assumed.
fn has_epilog(config: &Config) -> bool {
    let numbered = config.get("Epilog[0]").is_some();
    let is_whole = config.get("EpilogMsgTime").is_some();
    numbered || config.get("Epilog").map_or(!is_whole, |program| program != "(null)")
}

/// Where a text stands first, whatever its case.
fn place(text: &str, wanted: &str) -> Option<usize> {
    text.to_ascii_lowercase().find(wanted)
}

/// As C's `atoi`: blanks, a sign, digits; 0 where there are none.
fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    sign * digits[..end].parse::<i64>().unwrap_or(if end > 0 { i64::MAX } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_slurm_conf() {
        let parameters = Parameters::parse(
            "bf_window=2880,bf_max_job_user=20, bf_continue,bf_interval=0,nonsense=x,sched_interval=-1",
        );
        let expected = Parameters {
            bf_window: 2880,
            bf_max_job_user: 20,
            sched_interval: None,
            bf_continue: true,
            of_pace: vec!["bf_continue".to_owned()],
            ignored: ["bf_interval=0", "nonsense=x"].map(str::to_owned).to_vec(),
            ..Parameters::default()
        };
        assert_eq!(parameters, expected);
        assert_eq!(Parameters::parse("bf_max_job_user=1,bf_max_job_assoc=2").bf_max_job_user, 0);
    }

    /// One row a text, with what slurmctld's own search finds in it.
    #[test]
    fn parameters_are_looked_for_as_slurmctld_looks_for_them() {
        let of = |text: &str| Parameters::parse(text);
        let user = |text: &str| of(text).bf_max_job_user;
        assert_eq!(user("==bf_max_job_user=20,"), 20, "within a word");
        assert_eq!(user("BF_MAX_JOB_USER=20"), 20, "in capital letters");
        assert_eq!(user("nobf_max_job_user=20"), 20, "behind other letters");
        assert_eq!(user("bf_max_job_user=20,bf_max_job_user=30"), 20, "the first one counts");
        assert_eq!(user("bf_max_job_user=-1,bf_max_job_user=30"), 0, "also where it is refused");
        assert_eq!(user("bf_max_job_user= 20x"), 20, "digits after blanks");
        assert_eq!(user("bf_max_job_user =20"), 0, "nothing between name and sign");
        assert_eq!(user("bf_max_job_user_part=20"), 0, "another name");
        assert_eq!(of("bf_window=43201").bf_window, 1440, "30 days at most");
        assert_eq!(of("bf_resolution=3601").bf_resolution, 60);
        assert_eq!(of("bf_min_prio_reserve=4294967295").bf_min_prio_reserve, u32::MAX);
        assert_eq!(of("bf_interval=99999999999999999999").bf_interval, 30);
        assert!(of("no_defer_please").defer, "a word within a word");
        assert_eq!(of("==bf_max_job_user=20,x").ignored, ["x"]);
        assert_eq!(of("bf_resolution=0").ignored, ["bf_resolution=0"]);
    }

    #[test]
    fn what_differs_between_releases() {
        let of = |version: &str, text: &str| {
            let config = format!("SLURM_VERSION = {version}\nSchedulerParameters = {text}\n");
            Parameters::of(&Config::parse(&config))
        };
        let tests = |version| of(version, "bf_window=10").unwrap().bf_max_job_test;
        assert_eq!(["20.11.9", "21.08.8", "26.05.3", "?"].map(tests), [100, 500, 500, 500]);
        let ends_up = |version| of(version, "").unwrap().ends_are_rounded_up;
        assert_eq!(["20.11.9", "24.05.8", "24.11.5", "26.05.3"].map(ends_up), [false, false, true, true]);
        for version in ["20.11.9", "21.08.8"] {
            let old = of(version, "bf_interval=-1,sched_interval=-1").unwrap();
            assert_eq!((old.backfill, old.bf_interval, old.sched_interval), (true, 30, Some(60)));
            assert_eq!(old.ignored.len(), 2);
        }
        let new = of("22.05.8", "bf_interval=-1,sched_interval=-1").unwrap();
        assert_eq!((new.backfill, new.sched_interval), (false, None));
        for version in ["20.11.9", "22.05.8", "24.11.5", "26.05.3"] {
            assert!(of(version, "max_job_bf=50").unwrap_err().contains("bf_max_job_test"));
            assert_eq!(of(version, "max_job_bf=50,bf_max_job_test=60").unwrap().bf_max_job_test, 60);
        }
    }

    #[test]
    fn an_end_is_looked_at_by_the_release_and_the_epilog() {
        let of = |text: &str| Parameters::of(&Config::parse(text)).unwrap().looks_at_ends;
        assert!(of("SLURM_VERSION = 20.11.4\nEpilog = (null)\nEpilogMsgTime = 2000 usec"));
        assert!(!of("SLURM_VERSION = 22.05.8\nEpilog = (null)\nEpilogMsgTime = 2000 usec"));
        assert!(of("SLURM_VERSION = 22.05.8\nEpilog = /etc/slurm/epilog\nEpilogMsgTime = 2000 usec"));
        assert!(!of("SLURM_VERSION = 26.05.5\nEpilogMsgTime = 2000 usec"));
        assert!(of("SLURM_VERSION = 26.05.5\nEpilog[0] = /etc/slurm/epilog\nEpilogMsgTime = 2000 usec"));
        // Not told.
        assert!(of("SLURM_VERSION = 26.05.5"));
    }

    #[test]
    fn the_release_and_the_type_count() {
        let of = |text: &str| Parameters::of(&Config::parse(text)).unwrap();
        let newest = || Parameters { in_half_seconds: true, ..Parameters::default() };
        let of_2505 = || Parameters { takes_the_first_node: false, ..newest() };
        assert_eq!(of(""), newest());
        assert_eq!(of("SLURM_VERSION = 25.05.0\nSchedulerType = sched/backfill"), of_2505());
        assert_eq!(of("SLURM_VERSION = 24.11.5"), Parameters { in_windows: true, ..of_2505() });
        let of_2205 = Parameters {
            in_windows: true,
            ends_are_rounded_up: false,
            tests_from_then_on: false,
            ..of_2505()
        };
        assert_eq!(of("SLURM_VERSION = 22.05.8"), of_2205);
        let builtin = "SLURM_VERSION = no\nSchedulerType = sched/builtin\nSchedulerParameters = defer";
        assert_eq!(of(builtin), Parameters { backfill: false, defer: true, ..newest() });
    }
}
