//! The settings of `priority/multifactor2`: each declared once.

mod books;
mod charging;
pub(crate) mod distributions;
mod dominant;
mod points;

use std::path::Path;

pub use books::Book;
pub use charging::{Charge, ChargeKind, ChargeScope};
pub use distributions::Distribution;
use dominant::lists_tres;
pub use points::{
    Component, ComponentKind, Credential, CredentialKind, Curve, Service, ServiceKind, Target, TargetKind,
    TargetMode, TargetType,
};

crate::settings! {
    /// The settings in force.
    pub struct Settings in SETTINGS {
        /// Which waiting jobs make their user active, so that tickets flow to the user.
        active_jobs = "ActiveJobs": choice(ActiveJobs {
            /// Pending jobs that are not held, whose begin time has come and whose dependencies are met.
            Eligible = "eligible",
            /// Every job in state PENDING. Held jobs and jobs that are not yet eligible then also draw tickets away from others.
            Pending = "pending",
            /// As `eligible`, without jobs that could not start on free nodes: those that wait, by the reason that `squeue` shows, for a limit
            /// of their association or QOS, a license, or a partition that does not take them. Jobs that only a partition that is down or
            /// inactive, nodes that are not available, or a reservation keep from starting compete among themselves, by partition, so that
            /// their order is right when it opens.
            Startable = "startable",
        }) default("eligible");
        /// How the tickets of an account are divided among those of its users and accounts that have waiting jobs.
        distribution = "Distribution": choice_of(Distribution) default("tickets");
        /// How tickets become the fair-share factor.
        fair_share_scale = "FairShareScale": choice(FairShareScale {
            /// In proportion: half the tickets of the best user are a factor of 0.5.
            Linear = "linear",
            /// By orders of magnitude: a tenth of the best user's tickets are 0.83, a millionth or less is 0.
            Log = "log",
        }) default("linear");
        /// What users with `Fairshare=parent` draw of their account's tickets. Only `Distribution=tickets` can divide them.
        parent_users = "ParentUsers": choice(ParentUsers {
            /// Each draws all of them.
            Each = "each",
            /// Those with waiting jobs divide them equally.
            Split = "split",
        }) default("each");
        /// How many tickets are divided by shares and usage. Only the ratio to functional and override tickets matters.
        /// 0 means that shares give no tickets. `PolicyHierarchy` names these tickets S.
        tickets_share = "TicketsShare": integer(0 ..= 1_000_000_000) default("10000");
        /// How many tickets are divided by the functional shares of the users, accounts and departments that jobs
        /// belong to, whatever was used before. 0 switches this off. `PolicyHierarchy` names these tickets F.
        tickets_functional = "TicketsFunctional": integer(0 ..= 1_000_000_000) default("0");
        /// The order in which three kinds of tickets are given out: O are override tickets, F functional tickets, S
        /// those of `TicketsShare`. The tickets of a kind decide which jobs come first when the kinds behind it are
        /// given out. A kind that is left out is given out all the same, but has no influence on the others and they
        /// have none on it. With `NONE` this holds for all three. A job has the sum of the three.
        policy_hierarchy = "PolicyHierarchy": text(
            "NONE, or some of the letters O, F and S, each once, in any order",
            hierarchy
        ) default("OFS");
        /// A brake on how fast those catch up who used little. A user or account with more of the tickets than this
        /// multiple of its long-term share has its shares times `LevelFS` divided by how many times more. This is done
        /// once, so it may still have more than the multiple. The long-term share is that among the users and accounts
        /// with waiting jobs. 1 brakes most, 0 not at all. Grid Engine's default is 5. Only `Distribution=tickets` has
        /// this brake.
        compensation_factor = "CompensationFactor": zero_or_decimal(1.0 ..) default("0");
        /// How many waiting jobs a calculation ranks one by one for functional tickets. A job beyond them gets what the
        /// next one with the same functional shares would get. A calculation takes longer with more.
        max_functional_jobs = "MaxFunctionalJobs": integer(1 ..= 1_000_000) default("200");
        /// Whether the jobs of an object divide its override tickets. With `yes` the first gets all, the second half of
        /// them, the third a third and so on. Running jobs come first. With `no` each job gets all. `Shared` on an
        /// `Override` line holds for that line instead.
        share_override_tickets = "ShareOverrideTickets": yes_no() default("yes");
        /// Whether the jobs of an object divide its functional shares. With `no` each job brings the whole shares of
        /// its user, account and department, so those with many jobs get more.
        share_functional_shares = "ShareFunctionalShares": yes_no() default("yes");
        /// The part of the functional tickets that is divided by the shares of users. The four weights are divided by their
        /// sum. Waiting jobs do not get the part of a kind that has no shares: it is not divided among the others.
        functional_weight_user = "FunctionalWeightUser": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part of the functional tickets that is divided by the shares of accounts, which are Grid Engine's projects.
        functional_weight_account = "FunctionalWeightAccount": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part of the functional tickets that is divided by the shares of departments, which are top-level accounts.
        functional_weight_department = "FunctionalWeightDepartment": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part of the functional tickets that all jobs divide equally.
        functional_weight_job = "FunctionalWeightJob": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// Whether a job gets override tickets by its `AdminComment`. The word is `tickets=N`, with N a whole number
        /// from 0 to 1,000,000. It stands once, between blanks, commas or semicolons. Another number is ignored, and
        /// logged once. The tickets add to those of `Override=Job`. The tasks of a job array inherit them. Only administrators can set `AdminComment`, but a
        /// `job_submit` script may copy text of users into it. Such users could then give themselves tickets. So look
        /// into that script before you write `yes`.
        admin_comment_tickets = "AdminCommentTickets": yes_no() default("no");
        /// Gives override tickets to users, accounts and other objects, for a time or without an end, such as `Override=User
        /// Name=alice Tickets=1000 Until=2027-01-31`. It stands alone on a line, in multifactor2.conf only. There may be any number of such lines, and those that name the same object add up. slurmctld warns of
        /// a name that it does not know, and looks for it again in each calculation.
        overrides = "Override": block(Override, kind: choice(OverrideKind {
            /// All jobs of a user. A user is one object in all accounts.
            User = "User",
            /// The jobs of users directly in an account: the leaf account, which is Grid Engine's project.
            Account = "Account",
            /// The jobs of an account and of all accounts below it. A top-level account is Grid Engine's department.
            Parent = "Parent",
            /// The jobs of a quality of service.
            Qos = "QOS",
            /// The jobs of a partition. Of a job in several partitions only its entry for this one gets the tickets.
            Partition = "Partition",
            /// The jobs of a workload characterization key. The default key is written without its star. Without `wckeys` in
            /// `AccountingStorageEnforce` any user may name any key, so such a line has no effect there.
            WcKey = "WCKey",
            /// A single job by its id, `123`, a job array as a whole by its id, or one task of it, `123_4`.
            Job = "Job",
        }), {
            /// Who or what gets the tickets. Each of several names gets all of them.
            names = "Name": names() required("alice,bob");
            /// How many tickets. Compare them with `TicketsShare` and `TicketsFunctional`: with `TicketsShare=10000`,
            /// 10 tickets change the order of jobs that are alike, and 10000 put a job before all others or level with
            /// the best.
            tickets = "Tickets": integer(0 ..= 1_000_000_000) required("1000");
            /// When the line begins to hold, by the clock of the controller. It does so at the next calculation. A date
            /// without a time means the beginning of that day. Without `From` the line holds at once.
            from = "From": date() unset("2027-01-18");
            /// When the line ends, by the clock of the controller. It does so at the next calculation. Without `Until` the line holds without an end.
            until = "Until": end_date() unset("2027-01-31");
            /// Whether the jobs of an object divide the tickets. Without `Shared` it is as `ShareOverrideTickets` says.
            shared = "Shared": yes_no() unset("yes");
        }) unset("User");
        /// Gives functional shares to users, accounts or departments, such as `Functional=User Name=*
        /// Shares=RawShares`. It stands alone on a line, in multifactor2.conf only. There may be any
        /// number of such lines. Who is on none of them has 0 shares. The shares have an effect if `TicketsFunctional`
        /// is more than 0. slurmctld warns of a name that it does not know, and looks for it again in each calculation.
        functional = "Functional": block(Functional, kind: choice(FunctionalKind {
            /// Users. A user is one object in all accounts.
            User = "User",
            /// Accounts that users are directly in: leaf accounts, which are Grid Engine's projects.
            Account = "Account",
            /// Top-level accounts, which are Grid Engine's departments. A job in such an account itself belongs to it, too.
            Department = "Department",
        }), {
            /// Who gets the shares. Each of several names gets all of them. Of each kind a name may stand on one
            /// line only. `*` alone means everybody of this kind who is on no other line.
            names = "Name": names() required("*");
            /// How many shares, or `RawShares` for those of the association, which `sshare` shows. `parent` counts as 1
            /// there. With `User` it is the association that the job runs under.
            shares = "Shares": text("a whole number from 0 to 2147483646, or RawShares", shares) required("RawShares");
        }) unset("User");
        /// Whether the tickets by shares and usage become fewer with each job of a user, so that jobs of several users
        /// start in turn. This works within one pass of the scheduler, too, when many nodes are free. Override and
        /// functional tickets are not diluted. With `Distribution=standing` and `strict`, the jobs of a user with more
        /// tickets count less, so that usage settles on the shares.
        dilution = "Dilution": choice(Dilution {
            /// All jobs of a user have the same tickets.
            None = "none",
            /// The tickets of a job are divided by what the user has running and what of the user waits before it: the
            /// first job has all, the second one half, the third one third. The user of two accounts is two users here.
            User = "user",
            /// As `user`, and the same for each account up to the top level. This is Grid Engine's share tree. It is
            /// not allowed with `Distribution=strict`.
            Tree = "tree",
        }) default("none");
        /// What `Dilution` counts.
        dilution_unit = "DilutionUnit": choice(DilutionUnit {
            /// Jobs, and tasks of job arrays, each as 1. This is Grid Engine's rule.
            Job = "job",
            /// CPUs: those that a running job has, and that a waiting job requests.
            Cpu = "cpu",
            /// Billing, as `TRESBillingWeights` of the partition says.
            Billing = "billing",
            /// Billing times the minutes of the requested time that are left. `DilutionCap` limits them.
            Committed = "committed",
        }) default("job");
        /// The amount that halves the tickets, in units of `DilutionUnit`. With `DilutionUnit=cpu` and
        /// `DilutionQuantum=64`, a user with 64 CPUs has half the tickets for the next job, and a user with 128 CPUs a
        /// third.
        dilution_quantum = "DilutionQuantum": positive_decimal() default("1");
        /// How strong the dilution is. With 2 the second job has a quarter of the tickets, with 0.5 seven tenths, with
        /// 0 all of them. In the long run usage settles on the shares only with `DilutionExponent=1` and
        /// `DilutionRunning=yes`.
        dilution_exponent = "DilutionExponent": decimal(0.0 ..= 10.0) default("1.0");
        /// Whether running jobs count in the dilution. With `no` only waiting jobs count. In the long run usage settles
        /// on the shares only with `DilutionExponent=1` and `DilutionRunning=yes`.
        dilution_running = "DilutionRunning": yes_no() default("yes");
        /// The most time for which a job counts with `DilutionUnit=committed`. A job without a time limit counts for
        /// this time.
        dilution_cap = "DilutionCap": positive_duration() default("7-0");
        /// Gives points by one component of Maui's priority function, such as `Component=SERV QueueTime=1 XFactor=100`.
        /// It stands alone on a line, in multifactor2.conf only. The points of a job are the sum over all
        /// components of `Weight` times the smaller of `Cap` and the component. A component is the sum over its parts of
        /// weight times the smaller of cap and value. A part is written as its name and weight. Its cap has the same
        /// name with `Cap` behind it, such as `XFactorCap=50`. A weight that is not written is 0. A cap of 0 or less is
        /// no limit. The points are added to the site factor of the job, in the column SITE of `sprio`.
        components = "Component": declared(Component) unset("SERV");
        /// Gives a priority to a user, group, account, QOS or partition, such as `Credential=User Name=john
        /// Priority=2000`. `Component=CRED` says how it is weighted. It stands alone on a line, in multifactor2.conf only. slurmctld warns of a name that it does not know, and looks for it again in each
        /// calculation.
        credentials = "Credential": declared(Credential) unset("User");
        /// Says how long jobs of a QOS or partition should wait at most, such as `Service=QOS Name=short
        /// TargetQueueTime=00:15:00`. `Component=TARGET` says how it is weighted. It stands alone on a line, in multifactor2.conf only. Where a line for the QOS of a job and one for its partition match, that
        /// for the QOS holds.
        services = "Service": declared(Service) unset("QOS");
        /// Sets the part of all usage that a user, group, account, QOS or partition should have, such as `Target=User
        /// Name=john Percent=16.5 Type=floor`. `Component=FS` says how the distance from it is weighted. It stands alone on a line, in multifactor2.conf only. slurmctld warns of a name that it does not know, and
        /// looks for it again in each calculation.
        targets = "Target": declared(Target) unset("User");
        /// What the sum of all points is multiplied with before it is rounded. A priority is at least 1, and jobs whose points
        /// take more than the rest gives are all there, without an order. So see to an offset that all jobs have: a
        /// `PriorityWeight` parameter, or `Credential=User Name=* Priority=N`, where N is the most that points take.
        points_weight = "PointsWeight": decimal(-1e9 ..= 1e9) default("1");
        /// The most points that a job can have, and with a minus the fewest. The site factor of the job itself does not
        /// count here.
        points_cap = "PointsCap": integer(0 ..= 2_147_483_647) default("1000000");
        /// Which usage targets are compared with. `Window` on a `Target` line holds for that line instead.
        target_usage = "TargetUsage": choice(TargetUsage {
            /// Usage that decays with `PriorityDecayHalfLife`, as `sshare` shows it.
            HalfLife = "halflife",
            /// Usage of the last `TargetDepth` windows of `TargetWindow` each.
            Window = "window",
        }) default("halflife");
        /// The length of a window. Windows begin at multiples of it since 1970, in UTC.
        target_window = "TargetWindow": positive_duration() default("12:00:00");
        /// How many windows count, with the current one.
        target_depth = "TargetDepth": integer(1 ..= 1000) default("14");
        /// What a window counts, as a part of what the next younger one does.
        target_decay = "TargetDecay": decimal(0.0 ..= 1.0) default("0.8");
        /// Which usage targets count: `billing`, as the partition's `TRESBillingWeights` say, or a TRES such as `cpu`,
        /// `node`, `mem` or `gres/gpu`. After a change usage is counted anew.
        target_metric = "TargetMetric": text("billing or the name of a TRES such as cpu, node or gres/gpu", metric) default("billing");
        /// Whether in `Target=Parent` an account or user cannot be further from its target, in the same direction, than the
        /// account above it is.
        cap_tiers = "CapTiers": yes_no() default("no");
        /// How strongly the levels of the tree count in `Target=Parent`. With a number m of more than 0 each level counts
        /// 1 + m times less than the one above it, and with one below 0 each level 1 - m times less than the one below
        /// it. With 0 all levels count the same.
        tier_multiplier = "TierMultiplier": decimal(-1000.0 ..= 1000.0) default("0");
        /// Multiplies the usage that some jobs are charged, such as `Charge=Partition Name=scavenger Factor=0.1`. It stands alone on a line, in multifactor2.conf only. There may be any number of such lines. A change holds
        /// for the seconds that jobs run after it. slurmctld warns of a name that it does not know, and looks for it again in
        /// each calculation.
        charges = "Charge": declared(Charge) unset("Partition");
        /// A job that ends earlier is charged as if it had run that long, once, at its end. So splitting work into tiny jobs gains nothing.
        /// This is usage for fair-share, and `Charge` lines multiply it. Time in which a job was suspended is not
        /// run. It is charged for a run that is requeued, too, whether or not its user asked. Runs are excepted that were preempted, lost a node
        /// or could not be launched. Without `limits` in `AccountingStorageEnforce` runs are missed that are requeued, and jobs that
        /// slurmctld forgets before the next calculation: let `MinJobAge` be longer than `PriorityCalcPeriod`. 0 switches it off.
        minimum_charge = "MinimumCharge": duration() default("0");
        /// Which usage the share tree uses: what tickets are divided by, and `sshare` shows as normalised and effective usage and
        /// `LevelFS`. `RawUsage` is billing with both.
        usage_measure = "UsageMeasure": choice(UsageMeasure {
            /// Billing, as the partition's `TRESBillingWeights` say.
            Billing = "billing",
            /// The dominant share: of the TRES in `DominantTRES` the one of which the largest part of the cluster was used. What the users of
            /// an account have used is added up for each TRES before the largest is taken, so that work that needs CPUs and work that
            /// needs GPUs are no burden to each other. The plugin counts this usage itself, from its first start with this setting on.
            Dominant = "dominant",
        }) default("billing");
        /// The TRES that `UsageMeasure=dominant` compares, such as `cpu,mem,gres/gpu=2`. The number is what the used part of that TRES is
        /// multiplied with, 1 where there is none. In `PriorityParameters`, where commas separate settings, only one TRES can be given.
        dominant_tres = "DominantTRES": text(
            "names of TRES separated by commas, each once, with =weight of more than 0 behind it or without",
            lists_tres
        ) default("cpu,mem");
        /// Keeps the usage of some partitions apart, such as `Book=gpu Partitions=gpu,gpu-long`. It stands alone on a line, in multifactor2.conf only, up to 31 times. The tickets of a job, and so its fair-share factor, come from the book
        /// of its partition: from what was used in the partitions of that book alone, and who waits for these. The best job of each
        /// book has 1.0. A job in several partitions has a factor in each. All other partitions are the default book, which `sshare`
        /// shows; `RawUsage` there stays the usage of all partitions. A new book starts empty. The usage of one that was removed is
        /// kept for a `PriorityDecayHalfLife`, or without that until usage is reset the next time. slurmctld warns of a name that it
        /// does not know, and looks for it again in each calculation.
        books = "Book": declared(Book) unset("gpu");
        /// The file to which the plugin writes what priorities are made of, such as `/var/lib/slurm-multifactor2/snapshot`: associations, waiting jobs with
        /// every addend, weights and settings. The command `multifactor2` reads it. Nobody but the owner and root may be able to write the
        /// directory, which belongs to `SlurmUser` or root and is no symbolic link. The file has no names of jobs and no comments. With
        /// `none` nothing is written.
        snapshot = "Snapshot": text("none, or an absolute path of a file", is_file) default("none");
        /// After how many seconds the plugin writes `Snapshot` again: with the first calculation then.
        snapshot_period = "SnapshotPeriod": integer(1 ..= 31_536_000) default("300");
        /// Who can read the file of `Snapshot`. While `PrivateData` hides jobs, usage, users, accounts, partitions or reservations, `0644` writes nothing.
        snapshot_mode = "SnapshotMode": choice(SnapshotMode {
            /// `SlurmUser` only.
            Owner = "0600",
            /// `SlurmUser`, and the group that `SnapshotGroup` names.
            Group = "0640",
            /// Everybody on the host of slurmctld.
            All = "0644",
        }) default("0600");
        /// The Unix group that can read the file of `Snapshot` with `SnapshotMode=0640`, by name or number. `SlurmUser` is a member of it,
        /// or root.
        snapshot_group = "SnapshotGroup": text("none, or the name or number of a Unix group", is_group) default("none");
        /// A file that everybody on the host of slurmctld can read, such as `/var/lib/slurm-multifactor2/public`: the size of the cluster, its TRES, partitions,
        /// QOS without usage, the parameters of priorities and these settings. It has no job, no user and no association, and of the
        /// settings no line that names users, accounts, Unix groups, wckeys, jobs or reservations: only how many there are. While
        /// `PrivateData` hides partitions, these are not in it. The command `multifactor2` reads it where Slurm does not tell who asks.
        /// It is written with `Snapshot`, or as often without. The same holds for its directory.
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

    /// The TRES of `DominantTRES` in small letters, and the weight of each; `None` where the share tree does not go by them.
    pub fn dominant_weights(&self) -> Option<Vec<(String, f64)>> {
        (self.usage_measure == UsageMeasure::Dominant)
            .then(|| dominant::weights(&self.dominant_tres).unwrap_or_default())
    }
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
