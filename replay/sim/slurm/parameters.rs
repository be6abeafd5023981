//! `SchedulerParameters` of slurm.conf, as far as the model goes by them, and what else decides how Slurm schedules.

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
    /// `bf_resolution`: to what reservations are rounded.
    pub bf_resolution: u32,
    /// `bf_min_age_reserve`: how long a job must have waited to get a reservation, or to hold up others in the main scheduler.
    pub bf_min_age_reserve: u32,
    /// `bf_min_prio_reserve`: the priority that it must have for that.
    pub bf_min_prio_reserve: u32,
    /// `bf_one_resv_per_job`: a job in several partitions gets one reservation.
    pub bf_one_resv_per_job: bool,
    /// Words that were given and that the model does not go by.
    pub ignored: Vec<String>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            default_queue_depth: 100,
            sched_interval: Some(60),
            batch_sched_delay: 3,
            defer: false,
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
            bf_min_age_reserve: 0,
            bf_min_prio_reserve: 0,
            bf_one_resv_per_job: false,
            ignored: Vec::new(),
        }
    }
}

impl Parameters {
    /// Of a configuration: also `SchedulerType`, and the release.
    pub fn of(config: &Config) -> Self {
        let mut parameters = Self::parse(config.get("SchedulerParameters").unwrap_or_default());
        parameters.backfill &= config.get("SchedulerType").is_none_or(|name| name.ends_with("backfill"));
        let mut numbers = config.get("SLURM_VERSION").unwrap_or_default().split('.').map(str::parse::<u32>);
        if let (Some(Ok(year)), Some(Ok(month))) = (numbers.next(), numbers.next()) {
            parameters.in_windows = (year, month) < WITHOUT_WINDOWS;
        }
        parameters
    }

    /// Reads the words between commas. What is not known, or has no number that is allowed, is in [`Self::ignored`], and the default holds.
    pub fn parse(text: &str) -> Self {
        let mut parameters = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "(null)") {
            if parameters.set(word).is_none() && parameters.ignored.len() < 100 {
                parameters.ignored.push(word.chars().take(80).collect());
            }
        }
        // Slurm lets the association win.
        if parameters.bf_max_job_assoc > 0 {
            parameters.bf_max_job_user = 0;
        }
        parameters
    }

    fn set(&mut self, word: &str) -> Option<()> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "bf_one_resv_per_job" => self.bf_one_resv_per_job = true,
            "defer" | "defer_batch" => self.defer = true,
            _ => return self.set_number(&name, value),
        }
        Some(())
    }

    fn set_number(&mut self, name: &str, value: &str) -> Option<()> {
        let value: i64 = value.trim().parse().ok()?;
        if name == "sched_interval" && value == -1 {
            self.sched_interval = None;
            return Some(());
        }
        if name == "bf_interval" && value == -1 {
            self.backfill = false;
            return Some(());
        }
        let number = u32::try_from(value).ok()?;
        // Slurm refuses 0 for these and takes the default.
        let positive = (number > 0).then_some(number);
        match name {
            "default_queue_depth" => self.default_queue_depth = number,
            "sched_interval" => self.sched_interval = Some(positive?),
            "batch_sched_delay" => self.batch_sched_delay = number,
            "partition_job_depth" => self.partition_job_depth = number,
            "sched_max_job_start" => self.sched_max_job_start = number,
            "bf_interval" => self.bf_interval = positive?,
            "bf_max_job_test" => self.bf_max_job_test = positive?,
            "bf_max_job_start" => self.bf_max_job_start = number,
            "bf_max_job_user" => self.bf_max_job_user = number,
            "bf_max_job_part" => self.bf_max_job_part = number,
            "bf_max_job_assoc" => self.bf_max_job_assoc = number,
            "bf_max_job_user_part" => self.bf_max_job_user_part = number,
            "bf_max_job_array_resv" => self.bf_max_job_array_resv = number,
            "bf_window" => self.bf_window = positive?,
            "bf_window_linear" => self.bf_window_linear = positive?,
            "bf_resolution" => self.bf_resolution = positive?,
            "bf_min_age_reserve" => self.bf_min_age_reserve = number,
            "bf_min_prio_reserve" => self.bf_min_prio_reserve = number,
            _ => return None,
        }
        Some(())
    }
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
            ignored: ["bf_continue", "bf_interval=0", "nonsense=x"].map(str::to_owned).to_vec(),
            ..Parameters::default()
        };
        assert_eq!(parameters, expected);
        assert_eq!(Parameters::parse("bf_max_job_user=1,bf_max_job_assoc=2").bf_max_job_user, 0);
    }

    #[test]
    fn the_release_and_the_type_count() {
        let of = |text: &str| Parameters::of(&Config::parse(text));
        assert_eq!(of(""), Parameters::default());
        assert_eq!(of("SLURM_VERSION = 25.05.0\nSchedulerType = sched/backfill"), Parameters::default());
        assert_eq!(of("SLURM_VERSION = 24.11.5"), Parameters { in_windows: true, ..Parameters::default() });
        let builtin = "SLURM_VERSION = no\nSchedulerType = sched/builtin\nSchedulerParameters = defer";
        assert_eq!(of(builtin), Parameters { backfill: false, defer: true, ..Parameters::default() });
    }
}
