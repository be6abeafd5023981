//! The settings of `priority/multifactor2`: each declared once, loading, and keeping the last good ones.

use super::files;
use super::report::{Errors, Warning};
use super::schema;
use super::text::{self, Document};
use std::path::Path;

/// How messages name `PriorityParameters=` of slurm.conf.
pub const PARAMETERS: &str = "PriorityParameters";

crate::settings! {
    /// The settings in force.
    pub struct Settings in SETTINGS {
        /// Which waiting jobs make their user active, so that tickets flow to the user.
        active_jobs = "ActiveJobs": choice(ActiveJobs {
            /// Pending jobs that are not held, whose begin time has come and whose dependencies are met.
            Eligible = "eligible",
            /// Every job in state PENDING. Held jobs and jobs that are not yet eligible then also draw tickets away from others.
            Pending = "pending",
        }) default("eligible");
        /// How the tickets of an account are divided among those of its users and accounts that have waiting jobs.
        distribution = "Distribution": choice(Distribution {
            /// In proportion to shares times `LevelFS`, as `priority/multifactor2` was documented. Usage settles beside the shares:
            /// large shares get more than they are, small ones less, and an account with many active users gets less for each.
            Tickets = "tickets",
            /// By `LevelFS` over the best `LevelFS` beside it. Usage settles on the shares, however many users an account has.
            Standing = "standing",
            /// As `standing`, and nobody below one account comes before somebody below an account that is further below its share.
            Strict = "strict",
        }) default("tickets");
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
        /// The tickets that all waiting jobs have together by their shares and usage. Only the ratio to the other tickets
        /// matters: with functional or override tickets beside them, it says how much shares count. 0 means that shares give
        /// no tickets. `PolicyHierarchy` names these tickets S.
        tickets_share = "TicketsShare": integer(0 ..= 1_000_000_000) default("10000");
        /// The tickets that all jobs have together by the functional shares of their user, account and department, whatever
        /// was used before. 0 switches this off. `PolicyHierarchy` names these tickets F.
        tickets_functional = "TicketsFunctional": integer(0 ..= 1_000_000_000) default("0");
        /// The order in which tickets of three kinds are given out: O are override tickets, F functional tickets, S those of
        /// `TicketsShare`. A kind that comes earlier decides which job of a user comes first in the kinds behind it. A kind
        /// that is not in it is given out all the same, by itself: it neither sees other tickets nor is seen. With `NONE` all
        /// three are by themselves. The tickets of a job are the sum of the three.
        policy_hierarchy = "PolicyHierarchy": text(
            "NONE, or some of the letters O, F and S, each once, in any order",
            hierarchy
        ) default("OFS");
        /// How many times their long-term share those may get who used little so far. The long-term share is that among the
        /// users and accounts with waiting jobs. 1 holds them to it, larger numbers let them catch up faster, 0 sets no
        /// limit. Grid Engine's default is 5. Only `Distribution=tickets` has this limit.
        compensation_factor = "CompensationFactor": zero_or_decimal(1.0 ..) default("0");
        /// How many waiting jobs are ranked one by one for functional tickets in a calculation. A job beyond has what the next
        /// job of its kind would get. More jobs take more time.
        max_functional_jobs = "MaxFunctionalJobs": integer(1 ..= 1_000_000) default("200");
        /// Whether the jobs of an object divide its override tickets. With `yes` the second job gets half of what the first
        /// gets, the third a third. With `no` each job gets all. `Shared` on an `Override` line holds for that line instead.
        share_override_tickets = "ShareOverrideTickets": yes_no() default("yes");
        /// Whether the jobs of an object divide its functional shares. With `no` each job brings the whole shares of its user,
        /// account and department, so those with many jobs get more.
        share_functional_shares = "ShareFunctionalShares": yes_no() default("yes");
        /// The part of the functional tickets that goes by the shares of users. The four weights are divided by their sum.
        /// The part of a kind in which no waiting job has shares is given to nobody.
        functional_weight_user = "FunctionalWeightUser": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part of the functional tickets that goes by the shares of accounts, which are Grid Engine's projects.
        functional_weight_account = "FunctionalWeightAccount": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part of the functional tickets that goes by the shares of departments, which are top-level accounts.
        functional_weight_department = "FunctionalWeightDepartment": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// The part of the functional tickets that all jobs divide equally.
        functional_weight_job = "FunctionalWeightJob": decimal(0.0 ..= 1_000_000.0) default("0.25");
        /// Whether a job gets override tickets by its AdminComment: one word `tickets=N` between blanks, commas or
        /// semicolons, N a whole number from 0 to 1,000,000. They add to those of `Override=Job`. The tasks of a job array
        /// inherit them. Only administrators can set AdminComment. But a job_submit script may copy what users write into it:
        /// then users could give themselves tickets. Read the script before you say `yes`.
        admin_comment_tickets = "AdminCommentTickets": yes_no() default("no");
        /// Override tickets for users, accounts and other objects, for a time or for good. Such a line stands in
        /// multifactor2.conf only, and begins with this key. Each name gets the tickets of the line. Lines that name the same
        /// object add up. A name that does not exist is a warning.
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
            /// The jobs of a workload characterization key. The default key is written without its star.
            WcKey = "WCKey",
            /// A single job by its id, `123`, a job array as a whole by its id, or one task of it, `123_4`.
            Job = "Job",
        }), {
            /// Who or what gets the tickets. Each gets all of them.
            names = "Name": names() required("alice,bob");
            /// How many. Compare with `TicketsShare` and `TicketsFunctional`: 1000 beside `TicketsShare=10000` are a lot, 10
            /// decide little more than the order of jobs that are alike.
            tickets = "Tickets": integer(0 ..= 1_000_000_000) required("1000");
            /// When it begins, by the clock of the controller. Without it the line holds at once.
            from = "From": date() unset("2027-01-18");
            /// When it ends, by the clock of the controller. Without it the line holds for good.
            until = "Until": end_date() unset("2027-01-31");
            /// Whether the jobs of an object divide the tickets. Without it `ShareOverrideTickets` says so.
            shared = "Shared": yes_no() unset("yes");
        }) unset("User");
        /// The functional shares of users, accounts or departments. Such a line stands in multifactor2.conf only, and begins
        /// with this key. Who is on no line has 0 shares, and so no functional tickets. A name that does not exist is a
        /// warning.
        functional = "Functional": block(Functional, kind: choice(FunctionalKind {
            /// Users. A user is one object in all accounts.
            User = "User",
            /// Accounts that users are directly in: leaf accounts, which are Grid Engine's projects.
            Account = "Account",
            /// Top-level accounts, which are Grid Engine's departments. A job in such an account itself belongs to it, too.
            Department = "Department",
        }), {
            /// Who has the shares. Each has all of them. A name stands on one line only. `*` alone means everybody of this kind
            /// who is on no other line.
            names = "Name": names() required("*");
            /// How many, or `RawShares` for those that the association has, as `sshare` shows them. `parent` counts as 1. The
            /// shares of a user are then those of the job's association.
            shares = "Shares": text("a whole number from 0 to 2147483646, or RawShares", shares) required("RawShares");
        }) unset("User");
        /// Whether the tickets that a user has by shares become fewer with each job, so that jobs of several users start in
        /// turn. It does so within one pass of the scheduler, even when a whole cluster is free. Override and functional
        /// tickets are not diluted by it.
        dilution = "Dilution": choice(Dilution {
            /// All jobs of a user have the same tickets.
            None = "none",
            /// Each job of a user has what remains beside the user's running jobs and those that wait before it: one half, one
            /// third and so on. A user means one in one account here.
            User = "user",
            /// As `user`, and so at each account up to the top level: Grid Engine's share tree. It does not go with
            /// `Distribution=strict`.
            Tree = "tree",
        }) default("none");
        /// What `Dilution` counts.
        dilution_unit = "DilutionUnit": choice(DilutionUnit {
            /// Jobs, each as 1: the first job has the tickets, the second one half, the third one third. This is Grid Engine's
            /// rule. A task of a job array is a job.
            Job = "job",
            /// CPUs: those that a running job has, and those that a waiting job requests.
            Cpu = "cpu",
            /// Billing, as `TRESBillingWeights` of the partition says.
            Billing = "billing",
            /// Billing times the minutes of requested time that are left.
            Committed = "committed",
        }) default("job");
        /// How much, in units of `DilutionUnit`, halves the tickets. With `DilutionUnit=cpu DilutionQuantum=64` a user with 64
        /// CPUs gets half for the next job, one with 128 CPUs a third.
        dilution_quantum = "DilutionQuantum": positive_decimal() default("1");
        /// How strong `Dilution` is. With 2 the second job has a quarter, with 0.5 about 0.7, with 0 as much as the first. In
        /// the long run usage settles on the shares with 1 only.
        dilution_exponent = "DilutionExponent": decimal(0.0 ..= 10.0) default("1.0");
        /// Whether `Dilution` counts running jobs, or waiting ones only. In the long run usage settles on the shares with
        /// `yes` only.
        dilution_running = "DilutionRunning": yes_no() default("yes");
        /// The longest time that a job counts with `DilutionUnit=committed`. A job without a time limit counts this time.
        dilution_cap = "DilutionCap": positive_duration() default("7-0");
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

/// Whether a text is a number of functional shares, or the word for those of the association.
fn shares(text: &str) -> bool {
    let number = text.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<u32>().is_ok_and(|shares| shares <= MAX_SHARES);
    number || text.eq_ignore_ascii_case("RawShares")
}

/// Good settings, as they are used and as they were written.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// What holds.
    pub settings: Settings,
    /// The merged result in the syntax of the file, one setting a line, each with its place in a comment.
    pub written: String,
    /// What is odd.
    pub warnings: Vec<Warning>,
}

impl Settings {
    /// Reads the value of `PriorityParameters=`, then `file` where it exists; the file wins.
    ///
    /// # Errors
    /// Everything wrong with both, and with what the file includes. A file that is there but unreadable is an error.
    pub fn load(priority_parameters: Option<&str>, file: &Path) -> Result<Loaded, Errors> {
        let mut document = text::parse_list(priority_parameters.unwrap_or_default(), PARAMETERS);
        if let Some(Document { statements, errors }) = files::read(file) {
            document.statements.extend(statements);
            document.errors.append(errors);
        }
        Settings::from_document(document)
    }

    /// Reads a configuration text without touching a file; `name` stands for it in messages.
    ///
    /// # Errors
    /// Everything wrong with the text; an `Include` too.
    pub fn parse(text: &str, name: &str) -> Result<Loaded, Errors> {
        Settings::from_document(text::parse(text, name))
    }

    fn from_document(document: Document) -> Result<Loaded, Errors> {
        let (entries, warnings) = schema::check(document, SETTINGS)?;
        Ok(Loaded { settings: Settings::from(&entries), written: entries.to_string(), warnings })
    }
}

/// What becomes of a load.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The new settings hold.
    Fresh(Loaded),
    /// The new ones are bad: the last good settings, given here, go on.
    Kept(Settings, Errors),
    /// The new ones are bad and there never were good ones: the daemon must not start.
    Refused(Errors),
}

/// Remembers the last good settings, over any number of init and fini.
///
/// A daemon that has once had good settings must live on when they become bad: from 23.11 on every reconfigure is a
/// start, and its refusal would end the controller. What an earlier process had is told with [`SettingsKeeper::remember`].
#[derive(Debug, Default)]
pub struct SettingsKeeper {
    good: Option<Settings>,
}

impl SettingsKeeper {
    /// A process that has not loaded anything yet.
    pub const fn new() -> Self {
        SettingsKeeper { good: None }
    }

    /// The last good settings.
    pub fn current(&self) -> Option<&Settings> {
        self.good.as_ref()
    }

    /// Takes over the last good settings of an earlier process.
    pub fn remember(&mut self, good: Settings) {
        self.good = Some(good);
    }

    /// Decides what becomes of a load, and remembers the settings if they are good.
    pub fn reload(&mut self, loaded: Result<Loaded, Errors>) -> Outcome {
        match (loaded, &self.good) {
            (Ok(loaded), _) => {
                self.good = Some(loaded.settings.clone());
                Outcome::Fresh(loaded)
            }
            (Err(errors), Some(good)) => Outcome::Kept(good.clone(), errors),
            (Err(errors), None) => Outcome::Refused(errors),
        }
    }
}
