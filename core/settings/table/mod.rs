//! The settings of `priority/multifactor2`: each declared once.

mod books;
mod charging;
pub(crate) mod distributions;
mod dominant;
pub mod grants;
mod points;

use std::path::Path;

pub(crate) use books::Book;
pub use charging::{Charge, ChargeKind, ChargeScope};
pub(crate) use distributions::Distribution;
use dominant::lists_tres;
pub(crate) use grants::{Adjust, GrantPreset, GrantRule};
pub use grants::{Grant, GrantBeyond, GrantKind, GrantOutside, GrantSplit};
pub use points::Component;
pub use points::{
    ComponentKind, CredentialKind, Curve, ServiceKind, Target, TargetKind, TargetMode, TargetType,
};
pub(crate) use points::{Credential, DeadlineIs, Service};

crate::settings! {
    /// The settings in force.
    pub struct Settings in SETTINGS {
        /// Which waiting jobs make their user active, so that the user gets tickets.
        active_jobs = "ActiveJobs": choice(ActiveJobs {
            /// Jobs not held, past their begin time and with dependencies met.
            Eligible = "eligible",
            /// All pending jobs. Held and not yet eligible jobs also draw tickets away from others.
            Pending = "pending",
            /// As `eligible`, without jobs whose reason in `squeue` is a limit of their association or QOS, a license, or a
            /// partition that does not take them. Jobs kept waiting only by a down or inactive partition, unavailable nodes or a
            /// reservation compete among themselves, by partition.
            Startable = "startable",
        }) default("eligible");
        /// How an account's tickets are divided among its users and accounts with waiting jobs.
        distribution = "Distribution": choice_of(Distribution) default("tickets");
        /// How tickets become the fair-share factor.
        fair_share_scale = "FairShareScale": choice(FairShareScale {
            /// In proportion: half the best user's tickets give 0.5.
            Linear = "linear",
            /// By orders of magnitude: a tenth of the best user's tickets gives 0.83, a millionth or less 0.
            Log = "log",
        }) default("linear");
        /// How many of their account's tickets users with `Fairshare=parent` get. `split` needs `Distribution=tickets`.
        parent_users = "ParentUsers": choice(ParentUsers {
            /// Each gets all.
            Each = "each",
            /// Those with waiting jobs get equal parts.
            Split = "split",
        }) default("each");
        /// Tickets divided by shares and usage (S in `PolicyHierarchy`). Only the ratio to functional and override tickets
        /// matters. 0 switches them off.
        tickets_share = "TicketsShare": integer(0 ..= 1_000_000_000) default("10000");
        /// Tickets divided by functional shares, regardless of usage (F in `PolicyHierarchy`). 0 switches them off.
        tickets_functional = "TicketsFunctional": integer(0 ..= 1_000_000_000) default("0");
        /// The order in which override (O), functional (F) and share (S) tickets are given out. Each kind decides which jobs come
        /// first for the kinds after it. Kinds left out, or all with `NONE`, are given out independently. A job gets the sum of
        /// all three.
        policy_hierarchy = "PolicyHierarchy": text(
            "NONE, or some of the letters O, F and S, each once, in any order",
            hierarchy
        ) default("OFS");
        /// Slows users and accounts that catch up. One with more tickets than this multiple of its long-term share among those
        /// with waiting jobs has its shares times `LevelFS` divided by the excess ratio, once, so it can stay above the multiple.
        /// 1 slows most, 0 not at all; Grid Engine's default is 5. Needs `Distribution=tickets`.
        compensation_factor = "CompensationFactor": zero_or_decimal(1.0 ..) default("0");
        /// How many waiting jobs are ranked one by one for functional tickets. Further jobs get what the next one with the same
        /// functional shares would get. More make calculations slower.
        max_functional_jobs = "MaxFunctionalJobs": integer(1 ..= 1_000_000) default("200");
        /// Whether an object's jobs divide its override tickets: the first gets all, the second half, the third a third and so
        /// on, running jobs first. With `no` each gets all. `Shared` on an `Override` line takes precedence.
        share_override_tickets = "ShareOverrideTickets": yes_no() default("yes");
        /// Whether an object's jobs divide its functional shares. With `no` each job brings all of them, so objects with many
        /// jobs get more.
        share_functional_shares = "ShareFunctionalShares": yes_no() default("yes");
        /// The part of the functional tickets divided by users' shares. The four weights are divided by their sum. The part of a
        /// kind without shares is not redistributed.
        functional_weight_user = "FunctionalWeightUser": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part divided by shares of accounts (Grid Engine's projects).
        functional_weight_account = "FunctionalWeightAccount": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part divided by shares of departments (top-level accounts).
        functional_weight_department = "FunctionalWeightDepartment": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part divided equally among all jobs.
        functional_weight_job = "FunctionalWeightJob": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// Whether `tickets=N` in a job's `AdminComment` gives it N override tickets (0 to 1,000,000) on top of `Override=Job`.
        /// It must occur once, between blanks, commas or semicolons; a bad one is ignored and logged. Array tasks inherit the
        /// tickets. Make sure that no `job_submit` script copies user text into `AdminComment`: users could give themselves
        /// tickets.
        admin_comment_tickets = "AdminCommentTickets": yes_no() default("no");
        /// Gives override tickets, optionally for a limited time. Lines for the same object add up.
        overrides = "Override": block(Override, kind: choice(OverrideKind {
            /// A user's jobs, in all accounts together.
            User = "User",
            /// Jobs of users directly in an account (Grid Engine's project).
            Account = "Account",
            /// Jobs of an account and all accounts below it. A top-level account is Grid Engine's department.
            Parent = "Parent",
            /// Jobs of a QOS.
            Qos = "QOS",
            /// Jobs of a partition. A job in several gets the tickets only in this one.
            Partition = "Partition",
            /// Jobs of a wckey, without the `*` of a default key. No effect without `wckeys` in `AccountingStorageEnforce`.
            WcKey = "WCKey",
            /// A job by id (`123`), a whole job array by its id, or one task (`123_4`).
            Job = "Job",
        }), {
            /// Each of several names gets all of the tickets.
            names = "Name": names() required("alice,bob");
            /// With `TicketsShare=10000`, 10 tickets reorder otherwise equal jobs, and 10000 put a job first or level with the
            /// best.
            tickets = "Tickets": integer(0 ..= 1_000_000_000) required("1000");
            /// Start, by the controller's clock, from the next calculation on. A date alone is the beginning of that day. At once
            /// if unset.
            from = "From": date() unset("2027-01-18");
            /// End, by the controller's clock, from the next calculation on. None if unset.
            until = "Until": end_date() unset("2027-01-31");
            /// Whether the object's jobs divide the tickets. `ShareOverrideTickets` if unset.
            shared = "Shared": yes_no() unset("yes");
        }) unset("User");
        /// Gives functional shares. Objects without a line have 0. Needs `TicketsFunctional` above 0.
        functional = "Functional": block(Functional, kind: choice(FunctionalKind {
            /// Users, each one object in all accounts.
            User = "User",
            /// Accounts with users directly in them (Grid Engine's projects).
            Account = "Account",
            /// Top-level accounts (Grid Engine's departments), including jobs directly in them.
            Department = "Department",
        }), {
            /// Each of several names gets all of the shares. A name can be on only one line of its kind. `*` alone means all on
            /// no other line.
            names = "Name": names() required("*");
            /// A number, or `RawShares` for the shares of the association in `sshare`, where `parent` counts as 1. With `User`
            /// that is the association that the job runs under.
            shares = "Shares": text("a whole number from 0 to 2147483646, or RawShares", shares) required("RawShares");
        }) unset("User");
        /// Whether each further job of a user has fewer share tickets, so that users' jobs start in turn, even within one
        /// scheduler pass. Override and functional tickets are not diluted. With `Distribution=standing` and `strict`, jobs of
        /// users with more tickets count less, so that usage settles on the shares.
        dilution = "Dilution": choice(Dilution {
            /// All jobs of a user have the same tickets.
            None = "none",
            /// A job's tickets are divided by what its user has running and waiting before it: the first job has all, the second
            /// half, the third a third. A user in two accounts is two users here.
            User = "user",
            /// As `user`, and the same for each account up to the top level, as in Grid Engine's share tree. Not allowed with
            /// `Distribution=strict`.
            Tree = "tree",
        }) default("none");
        /// What `Dilution` counts.
        dilution_unit = "DilutionUnit": choice(DilutionUnit {
            /// Jobs and array tasks, 1 each (Grid Engine's rule).
            Job = "job",
            /// CPUs that a running job has or a waiting job requests.
            Cpu = "cpu",
            /// Billing, by the partition's `TRESBillingWeights`.
            Billing = "billing",
            /// Billing times the minutes left of the requested time, at most `DilutionCap`.
            Committed = "committed",
        }) default("job");
        /// The amount, in `DilutionUnit`, that halves the tickets. With `DilutionUnit=cpu` and 64, a user with 64 CPUs has half
        /// the tickets for the next job, with 128 CPUs a third.
        dilution_quantum = "DilutionQuantum": positive_decimal() default("1");
        /// The strength of the dilution. The second job has a quarter of the tickets with 2, seven tenths with 0.5, all with 0.
        /// In the long run usage settles on the shares only with 1 and `DilutionRunning=yes`.
        dilution_exponent = "DilutionExponent": decimal(0.0 ..= 10.0) default("1.0");
        /// Whether running jobs count as well as waiting ones. With `no`, usage does not settle on the shares in the long run.
        dilution_running = "DilutionRunning": yes_no() default("yes");
        /// The longest time that a job counts with `DilutionUnit=committed`, and the time of a job without a time limit.
        dilution_cap = "DilutionCap": positive_duration() default("7-0");
        /// Gives points by one component of Maui's priority function. A job's points are the sum over components of `Weight`
        /// times the component, limited by `Cap`. A component is the sum over its parts of weight (`XFactor=100`) times value,
        /// limited by the part's cap (`XFactorCap=50`). A cap of 0 or less is no limit. Points are added to the site factor, SITE
        /// in `sprio`.
        components = "Component": declared(Component) unset("SERV");
        /// Gives a priority, which `Component=CRED` weights.
        credentials = "Credential": declared(Credential) unset("User");
        /// Sets how long jobs should wait at most. `Component=TARGET` weights it. The QOS's line takes precedence over the
        /// partition's.
        services = "Service": declared(Service) unset("QOS");
        /// Sets a part of all usage. `Component=FS` weights the distance from it.
        targets = "Target": declared(Target) unset("User");
        /// Multiplier of the sum of all points, before rounding. Jobs whose negative points exceed the rest of their priority all
        /// have priority 1, in no order. So give all jobs an offset: a `PriorityWeight` parameter, or `Credential=User Name=*
        /// Priority=N`, where N is the most that points subtract.
        points_weight = "PointsWeight": decimal(-1e9 ..= 1e9) default("1");
        /// The most points that a job can have and, negated, the fewest. The job's own site factor is not included.
        points_cap = "PointsCap": integer(0 ..= 2_147_483_647) default("1000000");
        /// When the wait begins, for `QueueTime`, `XFactor`, their targets and the urgency.
        queue_time_since = "QueueTimeSince": choice(QueueTimeSince {
            /// When the job begins to gain age (`AccrueTime` of `scontrol show job`): not while it is held or depends on others.
            Accrue = "accrue",
            /// At submission, whatever has delayed it.
            Submit = "submit",
        }) default("accrue");
        /// The usage that targets are compared with. `Window` on a `Target` line takes precedence.
        target_usage = "TargetUsage": choice(TargetUsage {
            /// Usage that decays with `PriorityDecayHalfLife`, as in `sshare`.
            HalfLife = "halflife",
            /// Usage of the last `TargetDepth` windows of `TargetWindow` each.
            Window = "window",
        }) default("halflife");
        /// Length of a window. Windows begin at multiples of it since 1970, in UTC.
        target_window = "TargetWindow": positive_duration() default("12:00:00");
        /// How many windows count, including the current one.
        target_depth = "TargetDepth": integer(1 ..= 1000) default("14");
        /// Weight of a window relative to the next younger one.
        target_decay = "TargetDecay": decimal(0.0 ..= 1.0) default("0.8");
        /// The usage that targets count: billing, by the partition's `TRESBillingWeights`, or a TRES. A change starts the count
        /// anew.
        target_metric = "TargetMetric": text("billing or the name of a TRES such as cpu, node or gres/gpu", metric) default("billing");
        /// Rounds distances from targets to steps of this many percentage points (hundredths with `Mode=ratio`). A distance
        /// leaves its step when a whole step away, so users who preempt each other's jobs change places less often. 0 means no
        /// steps.
        fs_step = "FSStep": decimal(0.0 ..= 1e6) default("0");
        /// Whether in `Target=Parent` an account or user can be no further from its target, in the same direction, than the account
        /// above it.
        cap_tiers = "CapTiers": yes_no() default("no");
        /// Weight of the tree levels in `Target=Parent`. If m is above 0, each level counts 1 + m times less than the one above
        /// it; if below 0, 1 - m times less than the one below it; if 0, the same.
        tier_multiplier = "TierMultiplier": decimal(-1000.0 ..= 1000.0) default("0");
        /// Multiplies the usage charged to some jobs. A change applies to seconds run after it.
        charges = "Charge": declared(Charge) unset("Partition");
        /// Charges jobs that end earlier as if they had run this long, once, at their end, except runs that were preempted, lost
        /// a node or failed to launch. Without `limits` in `AccountingStorageEnforce`, requeued runs and jobs that slurmctld
        /// forgets before the next calculation are missed: keep `MinJobAge` longer than `PriorityCalcPeriod`. 0 switches it off.
        minimum_charge = "MinimumCharge": duration() default("0");
        /// The usage of the share tree, and of normalised and effective usage and `LevelFS` in `sshare`. `RawUsage` stays
        /// billing.
        usage_measure = "UsageMeasure": choice(UsageMeasure {
            /// Billing, by the partition's `TRESBillingWeights`.
            Billing = "billing",
            /// The dominant share: the largest used part of the cluster of any TRES in `DominantTRES`. An account's usage is
            /// added up by TRES first, so CPU work and GPU work do not burden each other. Counted from the first start with this
            /// setting.
            Dominant = "dominant",
        }) default("billing");
        /// The TRES that `UsageMeasure=dominant` compares, such as `cpu,mem,gres/gpu=2`. The number, by default 1, multiplies the
        /// used part. `PriorityParameters`, where commas separate settings, can hold only one TRES.
        dominant_tres = "DominantTRES": text(
            "names of TRES separated by commas, each once, optionally followed by =weight above 0",
            lists_tres
        ) default("cpu,mem");
        /// How usage ages in the share tree, and in the normalised and effective usage, `LevelFS` and `FairShare` of `sshare`.
        /// `RawUsage` stays billing with half-life decay. Not with `Book` lines or `UsageMeasure=dominant`.
        tree_usage = "TreeUsage": choice(TreeUsage {
            /// It decays with `PriorityDecayHalfLife`.
            HalfLife = "halflife",
            /// Billing of the last `TreeDepth` windows of `TreeWindow` each, with the factors of `Charge` lines. The plugin
            /// counts it itself; `RawUsage` at the start of the count goes into the window of that time.
            Window = "window",
        }) default("halflife");
        /// Length of a window of `TreeUsage=window`. Windows begin at multiples of it since 1970, in UTC.
        tree_window = "TreeWindow": positive_duration() default("24:00:00");
        /// How many windows the share tree counts, including the current one.
        tree_depth = "TreeDepth": integer(1 ..= 1000) default("14");
        /// Weight of a window in the share tree relative to the next younger one.
        tree_decay = "TreeDecay": decimal(0.0 ..= 1.0) default("0.8");
        /// Keeps the usage of some partitions separate. A job's tickets depend only on usage of its book's partitions and on
        /// users waiting for them. The best job of each book has a factor of 1.0; a job in several partitions has a factor in
        /// each. `sshare` shows the default book of all other partitions, with the `RawUsage` of all. At most 31 lines.
        books = "Book": declared(Book) unset("gpu");
        /// Grants an amount for some months or days, in periods. Lines of one name with the same unit, partitions and book are a
        /// sequence in time. Needs `limits` in `AccountingStorageEnforce`.
        grants = "Grant": declared(Grant) unset("Account");
        /// Grants more or less from a day on.
        adjusts = "Adjust": declared(Adjust) unset("Account");
        /// The file that the plugin writes for the command `multifactor2`, such as `/var/lib/slurm-multifactor2/snapshot`:
        /// associations, waiting jobs with every addend, weights and settings, but no job names or comments. The directory must
        /// belong to `SlurmUser` or root, be writable by nobody else but root, and be no symbolic link.
        snapshot = "Snapshot": text("none, or the absolute path of a file", is_file) default("none");
        /// Seconds after which the next calculation writes `Snapshot` again.
        snapshot_period = "SnapshotPeriod": integer(1 ..= 31_536_000) default("300");
        /// Who can read the `Snapshot` file.
        snapshot_mode = "SnapshotMode": choice(SnapshotMode {
            /// `SlurmUser` only.
            Owner = "0600",
            /// `SlurmUser` and `SnapshotGroup`.
            Group = "0640",
            /// Everybody on the host of slurmctld. Nothing is written while `PrivateData` hides jobs, usage, users, accounts,
            /// partitions or reservations.
            All = "0644",
        }) default("0600");
        /// The Unix group that can read `Snapshot` with `SnapshotMode=0640`, by name or number. `SlurmUser` must be a member of
        /// it, or root.
        snapshot_group = "SnapshotGroup": text("none, or the name or number of a Unix group", is_group) default("none");
        /// A file that everybody on the host of slurmctld can read, such as `/var/lib/slurm-multifactor2/public`: cluster size,
        /// TRES, partitions, QOS without usage, priority parameters and these settings. It has no jobs, users or associations,
        /// only the number of setting lines that name users, accounts, Unix groups, wckeys, jobs or reservations, and no
        /// partitions hidden by `PrivateData`. It is written every `SnapshotPeriod`, even without `Snapshot`; the same rules
        /// apply to its directory. `multifactor2` reads it where Slurm hides these from the user.
        snapshot_public = "SnapshotPublic": text("none, or the absolute path of a file", is_file) default("none");
    }
}

impl Settings {
    /// The file of `Snapshot`, where one is written.
    pub fn snapshot_file(&self) -> Option<&str> {
        Some(self.snapshot.as_str()).filter(|file| !file.eq_ignore_ascii_case(NONE))
    }

    /// Whether any file is written that tells what is in force.
    pub fn is_told(&self) -> bool {
        self.snapshot_file().or(self.public_file()).is_some()
    }

    /// The file of `SnapshotPublic`, where one is written.
    pub fn public_file(&self) -> Option<&str> {
        Some(self.snapshot_public.as_str()).filter(|file| !file.eq_ignore_ascii_case(NONE))
    }

    /// The group of `SnapshotGroup`, where there is one.
    pub fn snapshot_readers(&self) -> Option<&str> {
        Some(self.snapshot_group.as_str()).filter(|group| !group.eq_ignore_ascii_case(NONE))
    }

    /// Length, number and decay of the windows that the share tree goes by, where it does: seconds, at least 1, from 0 to 1.
    pub fn tree_windows(&self) -> Option<(i64, usize, f64)> {
        let (length, depth) = windows(self.tree_window, self.tree_depth);
        (self.tree_usage == TreeUsage::Window).then_some((length, depth, self.tree_decay))
    }

    /// Length and number of the windows that targets go by, where some do.
    pub fn target_windows(&self) -> (i64, usize) {
        windows(self.target_window, self.target_depth)
    }

    /// The share tree goes by usage that slurmctld does not have: dominant shares, or windows.
    pub fn counts_for_tree(&self) -> bool {
        self.usage_measure == UsageMeasure::Dominant || self.tree_usage == TreeUsage::Window
    }

    /// The TRES of `DominantTRES` in small letters, and the weight of each; `None` where the share tree does not go by them.
    pub fn dominant_weights(&self) -> Option<Vec<(String, f64)>> {
        (self.usage_measure == UsageMeasure::Dominant)
            .then(|| dominant::weights(&self.dominant_tres).unwrap_or_default())
    }
}

/// Windows of so long, as sums count them: in seconds, and how many.
fn windows(length: std::time::Duration, depth: i64) -> (i64, usize) {
    (i64::try_from(length.as_secs()).unwrap_or(i64::MAX), usize::try_from(depth).unwrap_or(1))
}

/// The most functional shares that an object can have.
const MAX_SHARES: u32 = i32::MAX as u32 - 1;

/// Whether a text names policies by their letters, each once, or none of them.
fn hierarchy(text: &str) -> bool {
    let mut left = vec!['O', 'F', 'S'];
    let mut names =
        |letter: char| left.iter().position(|known| *known == letter).map(|at| left.remove(at)).is_some();
    let text = text.to_ascii_uppercase();
    text == "NONE" || !text.is_empty() && text.chars().all(&mut names)
}

/// The word for no file and no group.
const NONE: &str = "none";

/// Whether a text is an absolute path that ends with the name of a file.
fn is_file(text: &str) -> bool {
    let names_file = !text.ends_with('/') && Path::new(text).file_name().is_some();
    text.eq_ignore_ascii_case(NONE)
        || text.starts_with('/') && names_file && text.len() <= 4000 && !text.chars().any(char::is_control)
}

/// Whether a text can be the name of a Unix group.
fn is_group(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200 && !text.chars().any(|letter| letter.is_control() || letter == ':')
}

/// Whether a text can be the name of a TRES.
fn metric(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 200
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/_:.-".contains(letter))
}

/// Whether a text is a number of functional shares, or the word for those of the association.
fn shares(text: &str) -> bool {
    let number = text.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<u32>().is_ok_and(|shares| shares <= MAX_SHARES);
    number || text.eq_ignore_ascii_case("RawShares")
}
