//! The settings of `priority/multifactor2`: each declared once.

mod books;
mod charging;
pub(crate) mod distributions;
mod dominant;
pub mod grants;
mod points;

use std::path::Path;

pub use books::Book;
pub use charging::{Charge, ChargeKind, ChargeScope};
pub use distributions::Distribution;
use dominant::lists_tres;
pub use grants::{
    Adjust, Grant, GrantBeyond, GrantKind, GrantOutside, GrantPreset, GrantRule, GrantSplit, GrantZone,
};
pub use points::{
    Component, ComponentKind, Credential, CredentialKind, Curve, DeadlineIs, Service, ServiceKind, Target,
    TargetKind, TargetMode, TargetType,
};

crate::settings! {
    /// The settings in force.
    pub struct Settings in SETTINGS {
        /// Which waiting jobs make their user active, so that the user gets tickets.
        active_jobs = "ActiveJobs": choice(ActiveJobs {
            /// Jobs that are not held, whose begin time has come and whose dependencies are met.
            Eligible = "eligible",
            /// Every pending job. Held jobs and jobs that are not yet eligible also draw tickets away from others.
            Pending = "pending",
            /// As `eligible`, without jobs that wait, by the reason in `squeue`, for a limit of their association or QOS, a
            /// license, or a partition that does not take them. Jobs that only a partition that is down or inactive, unavailable
            /// nodes or a reservation keep from starting compete among themselves, by partition.
            Startable = "startable",
        }) default("eligible");
        /// How the tickets of an account are divided among its users and accounts with waiting jobs.
        distribution = "Distribution": choice_of(Distribution) default("tickets");
        /// How tickets become the fair-share factor.
        fair_share_scale = "FairShareScale": choice(FairShareScale {
            /// In proportion: half the tickets of the best user give a factor of 0.5.
            Linear = "linear",
            /// By orders of magnitude: a tenth of the best user's tickets gives 0.83, a millionth or less gives 0.
            Log = "log",
        }) default("linear");
        /// How many of their account's tickets users with `Fairshare=parent` draw. Only `Distribution=tickets` can divide them.
        parent_users = "ParentUsers": choice(ParentUsers {
            /// Each draws all of them.
            Each = "each",
            /// Those with waiting jobs divide them equally.
            Split = "split",
        }) default("each");
        /// Tickets that are divided by shares and usage, S in `PolicyHierarchy`. Only the ratio to functional and override tickets
        /// matters. With 0, shares give no tickets.
        tickets_share = "TicketsShare": integer(0 ..= 1_000_000_000) default("10000");
        /// Tickets that are divided by the functional shares of users, accounts and departments, regardless of usage; F in
        /// `PolicyHierarchy`. 0 switches them off.
        tickets_functional = "TicketsFunctional": integer(0 ..= 1_000_000_000) default("0");
        /// The order in which override (O), functional (F) and share (S) tickets are given out. The tickets of a kind decide which
        /// jobs come first for the kinds behind it. A kind that is left out, or any kind with `NONE`, is given out as well, but
        /// neither influences the others nor is influenced by them. A job has the sum of all three.
        policy_hierarchy = "PolicyHierarchy": text(
            "NONE, or some of the letters O, F and S, each once, in any order",
            hierarchy
        ) default("OFS");
        /// A brake on users and accounts that catch up. One with more tickets than this multiple of its long-term share, among
        /// those with waiting jobs, has its shares times `LevelFS` divided by how many times more, once, so it may still have more
        /// than the multiple. 1 brakes most, 0 not at all; Grid Engine's default is 5. Only `Distribution=tickets` has this brake.
        compensation_factor = "CompensationFactor": zero_or_decimal(1.0 ..) default("0");
        /// How many waiting jobs a calculation ranks one by one for functional tickets. A further job gets what the next one with
        /// the same functional shares would get. More jobs make calculations slower.
        max_functional_jobs = "MaxFunctionalJobs": integer(1 ..= 1_000_000) default("200");
        /// Whether the jobs of an object divide its override tickets: the first gets all, the second half, the third a third and so
        /// on, running jobs first. With `no` each job gets all. `Shared` on an `Override` line takes precedence.
        share_override_tickets = "ShareOverrideTickets": yes_no() default("yes");
        /// Whether the jobs of an object divide its functional shares. With `no` each job brings all shares of its user, account
        /// and department, so those with many jobs get more.
        share_functional_shares = "ShareFunctionalShares": yes_no() default("yes");
        /// The part of the functional tickets that is divided by the shares of users. The four weights are divided by their sum.
        /// The part of a kind without shares is not given to waiting jobs in another way.
        functional_weight_user = "FunctionalWeightUser": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part that is divided by the shares of accounts, which are Grid Engine's projects.
        functional_weight_account = "FunctionalWeightAccount": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part that is divided by the shares of departments, which are top-level accounts.
        functional_weight_department = "FunctionalWeightDepartment": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part that all jobs divide equally.
        functional_weight_job = "FunctionalWeightJob": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// Whether a job gets N override tickets, from 0 to 1,000,000, by the word `tickets=N` in its `AdminComment`, in addition
        /// to those of `Override=Job`. The word stands once, between blanks, commas or semicolons; a bad one is ignored and logged.
        /// Tasks of a job array inherit the tickets. Only administrators can set `AdminComment`, but first make sure that no
        /// `job_submit` script copies text of users into it: they could give themselves tickets.
        admin_comment_tickets = "AdminCommentTickets": yes_no() default("no");
        /// Gives override tickets to users, accounts and other objects, for a time or without an end. Lines that name the same
        /// object add up. Allowed in multifactor2.conf only, alone on a line.
        overrides = "Override": block(Override, kind: choice(OverrideKind {
            /// The jobs of a user, who is one object in all accounts.
            User = "User",
            /// The jobs of users directly in an account, the leaf account (Grid Engine's project).
            Account = "Account",
            /// The jobs of an account and of all accounts below it. A top-level account is Grid Engine's department.
            Parent = "Parent",
            /// The jobs of a QOS.
            Qos = "QOS",
            /// The jobs of a partition. Of a job in several partitions only its entry for this one gets the tickets.
            Partition = "Partition",
            /// The jobs of a workload characterization key, without the star of a default key. Without `wckeys` in
            /// `AccountingStorageEnforce` any user may name any key, so the line has no effect.
            WcKey = "WCKey",
            /// A job by its id, `123`, a whole job array by its id, or one task of it, `123_4`.
            Job = "Job",
        }), {
            /// The objects that get the tickets. Each of several names gets all of them.
            names = "Name": names() required("alice,bob");
            /// Compare them with `TicketsShare` and `TicketsFunctional`: with `TicketsShare=10000`, 10 tickets change the order of
            /// jobs that are alike, and 10000 put a job before all others or level with the best.
            tickets = "Tickets": integer(0 ..= 1_000_000_000) required("1000");
            /// When the line takes effect, by the controller's clock, at the next calculation. A date without a time is the
            /// beginning of that day. Without `From` the line holds at once.
            from = "From": date() unset("2027-01-18");
            /// When the line ends, by the controller's clock, at the next calculation. Without `Until` it has no end.
            until = "Until": end_date() unset("2027-01-31");
            /// Whether the jobs of an object divide the tickets. Without `Shared`, `ShareOverrideTickets` decides.
            shared = "Shared": yes_no() unset("yes");
        }) unset("User");
        /// Gives functional shares to users, accounts or departments. Objects on no line have 0. The shares have an effect if
        /// `TicketsFunctional` is more than 0. Allowed in multifactor2.conf only, alone on a line.
        functional = "Functional": block(Functional, kind: choice(FunctionalKind {
            /// Users. A user is one object in all accounts.
            User = "User",
            /// Accounts that users are directly in, the leaf accounts (Grid Engine's projects).
            Account = "Account",
            /// Top-level accounts (Grid Engine's departments). A job directly in such an account belongs to it as well.
            Department = "Department",
        }), {
            /// The objects that get the shares. Each of several names gets all of them, and may be on one line of a kind only. `*`
            /// alone means all of this kind that are on no other line.
            names = "Name": names() required("*");
            /// How many shares, or `RawShares` for those of the association, as in `sshare`; `parent` counts as 1. With `User` it
            /// is the association that the job runs under.
            shares = "Shares": text("a whole number from 0 to 2147483646, or RawShares", shares) required("RawShares");
        }) unset("User");
        /// Whether the tickets by shares and usage become fewer with each job of a user, so that jobs of several users start in
        /// turn, even within one pass of the scheduler. Override and functional tickets are not diluted. With
        /// `Distribution=standing` and `strict`, the jobs of a user with more tickets count less, so that usage settles on the
        /// shares.
        dilution = "Dilution": choice(Dilution {
            /// All jobs of a user have the same tickets.
            None = "none",
            /// The tickets of a job are divided by what its user has running and waiting before it: the first job has all, the
            /// second half, the third a third. A user in two accounts is two users here.
            User = "user",
            /// As `user`, and the same for each account up to the top level, as in Grid Engine's share tree. Not allowed with
            /// `Distribution=strict`.
            Tree = "tree",
        }) default("none");
        /// What `Dilution` counts.
        dilution_unit = "DilutionUnit": choice(DilutionUnit {
            /// Jobs and tasks of job arrays, each as 1. This is Grid Engine's rule.
            Job = "job",
            /// CPUs that a running job has, or that a waiting job requests.
            Cpu = "cpu",
            /// Billing, by the partition's `TRESBillingWeights`.
            Billing = "billing",
            /// Billing times the minutes left of the requested time, up to `DilutionCap`.
            Committed = "committed",
        }) default("job");
        /// The amount that halves the tickets, in units of `DilutionUnit`. With `DilutionUnit=cpu` and `DilutionQuantum=64`, a user
        /// with 64 CPUs has half the tickets for the next job, and with 128 CPUs a third.
        dilution_quantum = "DilutionQuantum": positive_decimal() default("1");
        /// The strength of the dilution. With 2 the second job has a quarter of the tickets, with 0.5 seven tenths, with 0 all.
        /// Usage settles on the shares in the long run only with `DilutionExponent=1` and `DilutionRunning=yes`.
        dilution_exponent = "DilutionExponent": decimal(0.0 ..= 10.0) default("1.0");
        /// Whether running jobs count in the dilution, as well as waiting ones. Usage settles on the shares in the long run only
        /// with `yes` and `DilutionExponent=1`.
        dilution_running = "DilutionRunning": yes_no() default("yes");
        /// The longest time for which a job counts with `DilutionUnit=committed`. A job without a time limit counts for this time.
        dilution_cap = "DilutionCap": positive_duration() default("7-0");
        /// Gives points by one component of Maui's priority function. The points of a job are the sum over all components of
        /// `Weight` times the smaller of `Cap` and the component. A component is the sum over its parts of weight times the smaller
        /// of cap and value. A part is written as its name and weight, such as `XFactor=100`, its cap with `Cap` behind the name,
        /// such as `XFactorCap=50`. A cap of 0 or less is no limit. The points are added to the job's site factor, SITE in `sprio`.
        /// Allowed in multifactor2.conf only, alone on a line.
        components = "Component": declared(Component) unset("SERV");
        /// Gives a priority to users, Unix groups, accounts, QOS or partitions. `Component=CRED` weights it. Allowed in
        /// multifactor2.conf only, alone on a line.
        credentials = "Credential": declared(Credential) unset("User");
        /// Sets how long jobs of a QOS or partition should wait at most. `Component=TARGET` weights it. If lines for the QOS and
        /// for the partition of a job match, that for the QOS holds. Allowed in multifactor2.conf only, alone on a line.
        services = "Service": declared(Service) unset("QOS");
        /// Sets the part of all usage that users, Unix groups, accounts, QOS or partitions should have. `Component=FS` weights the
        /// distance from it. Allowed in multifactor2.conf only, alone on a line.
        targets = "Target": declared(Target) unset("User");
        /// The multiplier of the sum of all points, before it is rounded. Jobs whose points take more than the rest gives all have
        /// priority 1, without an order. So give all jobs an offset: a `PriorityWeight` parameter, or `Credential=User Name=*
        /// Priority=N`, where N is the most that points take.
        points_weight = "PointsWeight": decimal(-1e9 ..= 1e9) default("1");
        /// The most points that a job can have, and with a minus the fewest. The job's own site factor does not count here.
        points_cap = "PointsCap": integer(0 ..= 2_147_483_647) default("1000000");
        /// Since when a job waits, for `QueueTime`, `XFactor`, their targets and the urgency.
        queue_time_since = "QueueTimeSince": choice(QueueTimeSince {
            /// Since it gains age, `AccrueTime` of `scontrol show job`: not while it is held or depends on others.
            Accrue = "accrue",
            /// Since it was submitted, whatever has kept it.
            Submit = "submit",
        }) default("accrue");
        /// The usage that targets are compared with. `Window` on a `Target` line takes precedence.
        target_usage = "TargetUsage": choice(TargetUsage {
            /// Usage that decays with `PriorityDecayHalfLife`, as `sshare` shows it.
            HalfLife = "halflife",
            /// Usage of the last `TargetDepth` windows of `TargetWindow` each.
            Window = "window",
        }) default("halflife");
        /// The length of a window. Windows begin at multiples of it since 1970, in UTC.
        target_window = "TargetWindow": positive_duration() default("12:00:00");
        /// How many windows count, including the current one.
        target_depth = "TargetDepth": integer(1 ..= 1000) default("14");
        /// How much a window counts, relative to the next younger one.
        target_decay = "TargetDecay": decimal(0.0 ..= 1.0) default("0.8");
        /// The usage that targets count: billing, by the partition's `TRESBillingWeights`, or a TRES. After a change, usage is
        /// counted anew.
        target_metric = "TargetMetric": text("billing or the name of a TRES such as cpu, node or gres/gpu", metric) default("billing");
        /// Distances from targets count in whole steps of so many percentage points, with `Mode=ratio` of so many hundredths. A distance leaves its
        /// step when it is a whole one away from it. So two users who preempt each other's jobs take their time to change places. With 0 distances
        /// count as they are.
        fs_step = "FSStep": decimal(0.0 ..= 1e6) default("0");
        /// Whether in `Target=Parent` an account or user can be no further from its target, in the same direction, than the account
        /// above it.
        cap_tiers = "CapTiers": yes_no() default("no");
        /// How strongly the levels of the tree count in `Target=Parent`. With a number m above 0 each level counts 1 + m times less
        /// than the one above it. With m below 0 each counts 1 - m times less than the one below it. With 0 all count the same.
        tier_multiplier = "TierMultiplier": decimal(-1000.0 ..= 1000.0) default("0");
        /// Multiplies the usage that some jobs are charged. A change holds for the seconds that jobs run after it. Allowed in
        /// multifactor2.conf only, alone on a line.
        charges = "Charge": declared(Charge) unset("Partition");
        /// A job that ends earlier is charged as if it had run this long, once, at its end, so that tiny jobs gain nothing. Runs
        /// that were preempted, lost a node or could not be launched are excepted. Without `limits` in `AccountingStorageEnforce`,
        /// requeued runs and jobs that slurmctld forgets before the next calculation are missed: keep `MinJobAge` longer than
        /// `PriorityCalcPeriod`. 0 switches it off.
        minimum_charge = "MinimumCharge": duration() default("0");
        /// The usage by which the share tree divides tickets, and which `sshare` shows as normalised and effective usage and
        /// `LevelFS`. `RawUsage` stays billing.
        usage_measure = "UsageMeasure": choice(UsageMeasure {
            /// Billing, by the partition's `TRESBillingWeights`.
            Billing = "billing",
            /// The dominant share: the largest part of the cluster that was used of any TRES in `DominantTRES`. The usage of an
            /// account's users is added up for each TRES first, so that CPU work and GPU work do not burden each other. The plugin
            /// counts this usage itself, from its first start with this setting on.
            Dominant = "dominant",
        }) default("billing");
        /// The TRES that `UsageMeasure=dominant` compares, such as `cpu,mem,gres/gpu=2`. The number, by default 1, multiplies the
        /// used part of that TRES. `PriorityParameters`, where commas separate settings, can hold one TRES only.
        dominant_tres = "DominantTRES": text(
            "names of TRES separated by commas, each once, with =weight of more than 0 behind it or without",
            lists_tres
        ) default("cpu,mem");
        /// How usage ages by which the share tree divides tickets, and which `sshare` shows as normalised and effective usage, `LevelFS` and
        /// `FairShare`. `RawUsage` stays billing with half-life decay. Not together with `Book` lines or `UsageMeasure=dominant`.
        tree_usage = "TreeUsage": choice(TreeUsage {
            /// It decays with `PriorityDecayHalfLife`.
            HalfLife = "halflife",
            /// The billing of the last `TreeDepth` windows of `TreeWindow` each, with the factors of `Charge` lines. The plugin counts it itself. What
            /// `RawUsage` is when it begins to goes into the window of that time.
            Window = "window",
        }) default("halflife");
        /// The length of a window of `TreeUsage=window`. Windows begin at multiples of it since 1970, in UTC.
        tree_window = "TreeWindow": positive_duration() default("24:00:00");
        /// How many windows count for the share tree, including the current one.
        tree_depth = "TreeDepth": integer(1 ..= 1000) default("14");
        /// How much a window counts for the share tree, relative to the next younger one.
        tree_decay = "TreeDecay": decimal(0.0 ..= 1.0) default("0.8");
        /// Keeps the usage of some partitions apart. The tickets of a job depend only on what was used in the partitions of its
        /// book, and on who waits for these. The best job of each book has a factor of 1.0, and a job in several partitions has a
        /// factor in each. All other partitions are the default book, which `sshare` shows, with the `RawUsage` of all partitions.
        /// Allowed in multifactor2.conf only, alone on a line, up to 31 times.
        books = "Book": declared(Book) unset("gpu");
        /// Grants accounts, users, Unix groups, QOS or wckeys an amount for some months or days, and paces it: each period has its part.
        /// Lines of one name with the same unit, partitions and book follow each other in time. They need `limits` in
        /// `AccountingStorageEnforce`. Allowed in multifactor2.conf only, alone on a line.
        grants = "Grant": declared(Grant) unset("Account");
        /// Grants more or less from a day on. Allowed in multifactor2.conf only, alone on a line.
        adjusts = "Adjust": declared(Adjust) unset("Account");
        /// The file that the plugin writes for the command `multifactor2`, such as `/var/lib/slurm-multifactor2/snapshot`:
        /// associations, waiting jobs with every addend, weights and settings, but no names of jobs and no comments. The directory
        /// must belong to `SlurmUser` or root, be writable by nobody else but root, and be no symbolic link.
        snapshot = "Snapshot": text("none, or an absolute path of a file", is_file) default("none");
        /// The seconds after which the next calculation writes `Snapshot` again.
        snapshot_period = "SnapshotPeriod": integer(1 ..= 31_536_000) default("300");
        /// Who can read the file of `Snapshot`.
        snapshot_mode = "SnapshotMode": choice(SnapshotMode {
            /// `SlurmUser` only.
            Owner = "0600",
            /// `SlurmUser` and the group of `SnapshotGroup`.
            Group = "0640",
            /// Everybody on the host of slurmctld. Nothing is written while `PrivateData` hides jobs, usage, users, accounts,
            /// partitions or reservations.
            All = "0644",
        }) default("0600");
        /// The Unix group that can read the file of `Snapshot` with `SnapshotMode=0640`, by name or number. `SlurmUser` must be a
        /// member of it, or root.
        snapshot_group = "SnapshotGroup": text("none, or the name or number of a Unix group", is_group) default("none");
        /// A file that everybody on the host of slurmctld can read, such as `/var/lib/slurm-multifactor2/public`: the size of the
        /// cluster, its TRES, partitions, QOS without usage, priority parameters and these settings. It has no jobs, users or
        /// associations, and only the number of setting lines that name users, accounts, Unix groups, wckeys, jobs or reservations.
        /// Partitions that `PrivateData` hides are left out. It is written with `Snapshot`, or as often without it; the rule for
        /// the directory is the same. The command `multifactor2` reads it where Slurm hides these from the user.
        snapshot_public = "SnapshotPublic": text("none, or an absolute path of a file", is_file) default("none");
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
