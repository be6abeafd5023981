//! The kinds of records of a [`Snapshot`](super::Snapshot). Each is one declaration: the struct, its columns in the file, and how a line is
//! written and read. A column that a file lacks keeps its default, and an unknown column is skipped. So older and newer files can be read
//! as long as [`VERSION`](super::format::VERSION) is the same.
//!
//! A row ends with its last value that is not the default, so columns that mostly have the default come last.

use serde::de::{IgnoredAny, SeqAccess};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::record::record;
pub use super::record::Record;

record! {
    /// Of what a snapshot is, when it was taken, and by whom.
    About, "about" {
        /// When priorities were computed last, where that is known; else when Slurm was asked.
        time: i64,
        /// When it was taken.
        taken: i64,
        /// `ClusterName`
        cluster: String,
        /// The release of slurmctld, such as `24.11.5`.
        release: String,
        /// `PriorityType`, such as `priority/multifactor2`.
        priority_type: String,
        /// The version of our plugin, where it is what computed.
        plugin: String,
        /// `plugin`, `commands` or `files`: where all this came from.
        source: String,
        /// What is hidden from who asked, one sentence each; empty where everything was seen.
        hidden: Vec<String>,
        /// CPUs of all nodes, as job sizes are measured against them; 0 where not known.
        cpus: u32,
        /// Nodes, counted as the release counts them; 0 where not known.
        nodes: u32,
        /// Not all associations are here: what is computed over the tree cannot be.
        partial_tree: bool,
        /// Not all waiting jobs are here: places in the queue cannot be known.
        partial_queue: bool,
        /// Why places are not known: `hidden`, `not_asked` or `not_answered`; empty where they are.
        queue_unknown: String,
        /// The same as a sentence.
        queue_because: String,
        /// The QOS say which others they may preempt.
        knows_preemption: bool,
        /// When a question read this snapshot of the plugin, where it found it by itself; 0 else.
        asked: i64,
        /// Only some jobs were asked for, and of associations what belongs to them: nothing is computed over the tree.
        only_jobs: bool,
        /// Lines of the settings that are left out of a file that everybody may read, as they name somebody.
        withheld: u32,
    }
}

impl About {
    /// Not all waiting jobs are here, and why: the first reason stays.
    pub fn lack_queue(&mut self, unknown: &str, because: &str) {
        self.doubt_queue(unknown, because);
        self.partial_queue = true;
    }

    /// Places are not known, though all jobs are here, and why: the first reason stays.
    pub fn doubt_queue(&mut self, unknown: &str, because: &str) {
        if self.queue_unknown.is_empty() && !self.partial_queue {
            (self.queue_unknown, self.queue_because) = (unknown.to_owned(), because.to_owned());
        }
    }
}

record! {
    /// A parameter of slurm.conf in force, as `scontrol show config` has it.
    Parameter, "parameter" {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    }
}

record! {
    /// One of our own settings in force.
    Setting, "setting" {
        /// As a line of multifactor2.conf.
        line: String,
        /// Where it was written: a file and a line, or `PriorityParameters`.
        from: String,
    }
}

record! {
    /// A TRES that is accounted.
    Tres, "tres" {
        /// Such as `cpu`, `mem` or `gres/gpu`.
        name: String,
        /// How much the cluster has; memory in MB.
        count: u64,
        /// `PriorityWeightTRES`, where it has one.
        weight: Option<f64>,
    }
}

record! {
    /// A partition.
    Partition, "partition" {
        /// Its name.
        name: String,
        /// `PriorityTier`
        tier: u32,
        /// `PriorityJobFactor`
        job_factor: u32,
        /// The same in parts of the highest one, from 0 to 1.
        job_factor_norm: f64,
        /// `MaxTime` in minutes; `None` for no limit.
        max_time: Option<u32>,
        /// `State`, such as `UP`.
        state: String,
        /// What it has of each TRES, by their positions.
        tres: Vec<u64>,
        /// `TRESBillingWeights` as written; empty for none.
        billing_weights: String,
        /// `QOS` of the partition; empty for none.
        qos: String,
        /// `Default=YES`; a snapshot of the plugin does not say so.
        is_default: bool,
        /// `DefaultTime` in minutes, where it is known and there is one.
        default_time: Option<u32>,
        /// `Nodes`, as Slurm writes many names at once; empty where they are not told, as in a snapshot of the plugin.
        nodes: String,
    }
}

record! {
    /// A QOS.
    Qos, "qos" {
        /// Its id; 0 where not known.
        id: u32,
        /// Its name.
        name: String,
        /// Its priority.
        priority: u32,
        /// The same in parts of the highest one, from 0 to 1.
        priority_norm: f64,
        /// `UsageFactor`
        usage_factor: f64,
        /// `UsageThreshold`, where it is set.
        usage_threshold: Option<f64>,
        /// Raw usage, where it is known.
        usage: Option<f64>,
        /// Flags such as `NoDecay`.
        flags: Vec<String>,
        /// Names of the QOS whose jobs it may preempt.
        preempt: Vec<String>,
    }
}

record! {
    /// An association, as `sshare` shows it, and what it has in the competition.
    Association, "association" {
        /// Its id. Where Slurm's commands did not tell, a number of its own.
        id: u32,
        /// The id of its parent; 0 for the root.
        parent: u32,
        /// Its account.
        account: String,
        /// Its user; empty for an account.
        user: String,
        /// The partition that it is for; empty for all.
        partition: String,
        /// Raw shares; 2147483647 for `Fairshare=parent`.
        shares: u32,
        /// Its priority.
        priority: u32,
        /// The same in parts of the highest one, from 0 to 1.
        priority_norm: f64,
        /// Raw usage: seconds times billing, decayed, and charged with `Charge` rules.
        usage: f64,
        /// What the share tree goes by instead: dominant shares under `UsageMeasure=dominant`; where there are books, what was used in the
        /// default one.
        dominant: Option<f64>,
        /// S: normalised shares, from 0 to 1, of the algorithm in force.
        shares_norm: f64,
        /// U: normalised usage, from 0 to 1.
        usage_norm: f64,
        /// Effective usage.
        usage_effective: f64,
        /// F, which sshare shows as `LevelFS`; `None` for none, or no bound.
        level_fs: Option<f64>,
        /// The fair-share factor of its jobs, from 0 to 1, of users only.
        factor: Option<f64>,
        /// Its tickets, where the plugin told.
        tickets: Option<f64>,
        /// It, or something below it, has waiting jobs that compete, where the plugin told.
        active: Option<bool>,
        /// It is that of its user's default account; a snapshot of the plugin does not say so.
        is_default: bool,
    }
}

record! {
    /// A book: usage and shares of some partitions.
    Book, "book" {
        /// Its name.
        name: String,
        /// Its partitions.
        partitions: Vec<String>,
        /// Tickets of the best user in it.
        max_tickets: f64,
    }
}

record! {
    /// Where an association stands in a book. The default book, in [`Association`], is not among these.
    BookAssociation, "book_association" {
        /// The name of the book.
        book: String,
        /// The id of the association.
        association: u32,
        /// What the share tree of the book goes by: what was used in it, or dominant shares of that.
        usage: f64,
        /// S, by the shares of the book.
        shares_norm: f64,
        /// The fair-share factor of its jobs, of users only.
        factor: Option<f64>,
        /// Its tickets.
        tickets: f64,
        /// Whether it takes part.
        active: bool,
    }
}

record! {
    /// A job that waits, or is held, and what its priority is made of. All addends are weighted, as sprio shows them.
    Job, "job" {
        /// Its id.
        id: u32,
        /// Its priority; 0 for one that is held.
        priority: u32,
        /// It takes part in the competition.
        competes: bool,
        /// The addends are known. Not so where sprio does not show the job.
        is_computed: bool,
        /// The id of its association; 0 where that is not known.
        association: u32,
        /// Its user.
        user: String,
        /// Its account.
        account: String,
        /// The partition that its own priority goes by.
        partition: String,
        /// Its QOS.
        qos: String,
        /// Why it waits, as squeue shows it.
        reason: String,
        /// When it was submitted.
        submit: i64,
        /// Since when it is, or will be, eligible.
        eligible: i64,
        /// Since when it gains age.
        accrue: i64,
        /// Time limit in minutes; `None` where that of the partition holds.
        limit: Option<u32>,
        /// Nodes that it asks for at least.
        nodes: u32,
        /// CPUs that it asks for at least.
        cpus: u32,
        /// CPUs that the size of the job counts with (those of the record, see `JobSize` of the core).
        size_cpus: u32,
        /// What it asks for of each TRES, by their positions; memory in MB.
        tres: Vec<u64>,
        /// AGE
        age: f64,
        /// FAIRSHARE
        fair_share: f64,
        /// JOBSIZE
        job_size: f64,
        /// PARTITION
        partition_addend: f64,
        /// QOS
        qos_addend: f64,
        /// ASSOC
        assoc: f64,
        /// TRES
        tres_addend: f64,
        /// Its Unix group by number, where that is known.
        group: Option<u32>,
        /// The id of its array; 0 for none.
        array_job: u32,
        /// Nice value.
        nice: i64,
        /// Points by CRED, FS, RES, SERV, TARGET, USAGE, URGENCY and ATTR, and their sum; empty where the settings ask for none.
        points: Vec<f64>,
        /// Override, functional and share-tree tickets; empty where tickets are not by job.
        tickets: Vec<f64>,
        /// All of its partitions; empty where it has one.
        partitions: Vec<String>,
        /// When the backfill scheduler expects it to start.
        start: i64,
        /// MB of temporary disk on each node.
        tmp_disk: u32,
        /// Its own site factor, without points.
        site: i64,
        /// Its tasks as squeue shows them, such as `3` or `[5-9%2]`; empty for none.
        array_tasks: String,
        /// Its wckey; empty for none.
        wckey: String,
        /// Its reservation; empty for none.
        reservation: String,
        /// The id of the leader of its heterogeneous job; 0 for none.
        het_job: u32,
        /// Its priority was set directly.
        direct: bool,
        /// How often others have overtaken it, where that counts.
        bypass: u32,
        /// Tickets of `AdminComment`, where that counts.
        own_tickets: u32,
        /// It is beyond a cap that keeps it from starting: by the plugin's last calculation or its submission since.
        stopped: bool,
        /// How often it was requeued.
        restarts: u32,
        /// By when it has to end; 0 for none.
        deadline: i64,
    }
}

record! {
    /// What a job in several partitions or QOS has in one of them.
    Entry, "entry" {
        /// The id of the job.
        job: u32,
        /// The partition.
        partition: String,
        /// The QOS.
        qos: String,
        /// The priority of the job there.
        priority: u32,
        /// FAIRSHARE
        fair_share: f64,
        /// PARTITION
        partition_addend: f64,
        /// QOS
        qos_addend: f64,
        /// TRES
        tres_addend: f64,
        /// Points there. Where those of the job are not told, how many more than the job has.
        points: f64,
    }
}

record! {
    /// Jobs that run, of one association, partition, QOS, wckey and kind of extra tickets.
    Running, "running" {
        /// The id of their association.
        association: u32,
        /// Their partition.
        partition: String,
        /// Their QOS.
        qos: String,
        /// Their wckey.
        wckey: String,
        /// Tickets of `AdminComment`.
        own_tickets: u32,
        /// How many they are.
        count: u32,
        /// What they have together, in `DilutionUnit`.
        size: f64,
        /// What they have together of each TRES, by their positions.
        tres: Vec<u64>,
        /// What they are billed together.
        billing: f64,
    }
}

record! {
    /// Usage that targets go by (see docs/points.md), in seconds times `TargetMetric`.
    Usage, "usage" {
        /// `halflife`, `window` or `book NAME`. With `FSStep` also `step`, for the step that a distance from a target is in; with `Component=URGENCY` and
        /// `WeightPercent` `range`, for what all jobs had; with `WCAccuracy` `accuracy`, in percent.
        model: String,
        /// `association`, `qos`, `group`, `partition`, `all` or `available`; of a step the kind of target, such as `User`, or `User@gpu` in a book; of a range
        /// `urgency`, `priority` or a component; of an accuracy `user`.
        of: String,
        /// The id of the association, QOS or group, or the name of the partition; empty for `all` and `available`. Of a step the name, or the id of a QOS or
        /// group; with `Parent` an account, or account and user. Of a range `low`, `high` or `largest`.
        key: String,
        /// The amount.
        amount: f64,
    }
}

record! {
    /// What was used in each of the latest windows, where usage is counted in windows, in seconds times `TargetMetric`. Who has used nothing in them has
    /// no record.
    Window, "window" {
        /// As in [`Usage`].
        of: String,
        /// As in [`Usage`].
        key: String,
        /// The current window first; those that are missing at the end are 0.
        amounts: Vec<f64>,
        /// When the current window begins; in the record of `all` only, as the next two, which is always there.
        begin: i64,
        /// Seconds of a window.
        length: i64,
        /// How many windows are told of at most: fewer than count where they are too many.
        told: u32,
    }
}

record! {
    /// What an association, with all below it, was billed in each of the latest windows, where the share tree goes by windows (`TreeUsage=window`), in
    /// seconds times billing. Who has used nothing in them has no record, but for the root.
    TreeWindow, "tree_window" {
        /// The id of the association.
        association: u32,
        /// The current window first; those that are missing at the end are 0.
        amounts: Vec<f64>,
        /// When the current window begins; in the record of the root only, as the next two.
        begin: i64,
        /// Seconds of a window.
        length: i64,
        /// How many windows are told of at most: fewer than count where they are too many.
        told: u32,
    }
}

record! {
    /// A Unix group that the settings name.
    Group, "group" {
        /// Its name.
        name: String,
        /// Its number.
        id: u32,
    }
}

record! {
    /// How a grant stands. Amounts are in seconds of the unit.
    Grant, "grant" {
        /// `Account`, `User`, `Group`, `QOS` or `WCKey`.
        kind: String,
        /// Its name.
        name: String,
        /// The TRES whose hours are granted.
        unit: String,
        /// The partitions that it is for; empty for all.
        partitions: Vec<String>,
        /// The book that these are of; empty for none.
        book: String,
        /// `within`, `beyond`, `unknown` where what was used is not known, `outside` where no line holds and jobs are as if beyond, `none` where they
        /// have no grant then.
        state: String,
        /// What happens to jobs beyond it: `low`, `share` or `block`.
        beyond: String,
        /// Points for jobs within it.
        within: f64,
        /// Since when it stands so; 0 where not known.
        changed: i64,
        /// When the standing may change next though nothing is used; 0 for never.
        next_change: i64,
        /// When the line begins that holds.
        first: i64,
        /// When it ends.
        end: i64,
        /// When the next line of its sequence begins; 0 for none.
        next_line: i64,
        /// The rule, or the preset.
        rule: String,
        /// Where the line is written.
        place: String,
        /// All that is granted.
        amount: f64,
        /// What was used of it.
        used_all: f64,
        /// What should have been used by now.
        should_be: f64,
        /// The number of the period, from 1 on.
        period: u32,
        /// How many there are.
        periods: u32,
        /// When the period begins.
        period_begin: i64,
        /// When it ends.
        period_end: i64,
        /// What is granted for it.
        granted: f64,
        /// What came from the period before; negative for a debt.
        carried: f64,
        /// What may be borrowed from the next one.
        borrowable: f64,
        /// What was used in the period.
        used: f64,
        /// What is left until jobs are beyond; negative where more was used.
        left: f64,
        /// What jobs that run use of it in a second.
        running: f64,
        /// From when on usage is counted.
        begun: i64,
        /// Until when.
        counted_until: i64,
        /// When each of the latest days begins.
        days: Vec<i64>,
        /// What was used in each.
        used_by_day: Vec<f64>,
        /// The number of the Unix group, where it is one and known.
        group: Option<u32>,
        /// What the accounting added to all that was used; negative where it took off.
        corrected: f64,
        /// Up to when the accounting was asked; 0 for never.
        corrected_until: i64,
        /// Usage is multiplied as slurmctld charges it.
        factors: bool,
    }
}
