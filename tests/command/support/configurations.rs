//! Configurations that are taken and odd: what `check` says of each, and what slurmctld writes to its log with it.

/// A configuration.
pub struct Case {
    /// `Name=Value` of slurm.conf, one a line, beside [`BASE`].
    pub slurm: &'static str,
    /// multifactor2.conf.
    pub ours: &'static str,
    /// What is found, each as grade and a part of the sentence; nothing else is.
    pub found: &'static [(&'static str, &'static str)],
    /// What is in slurmctld's log with it.
    #[allow(dead_code)] // where slurmctld is run
    pub logged: &'static [&'static str],
}

/// Nothing is odd about this.
pub const BASE: [(&str, &str); 18] = [
    ("PriorityType", "priority/multifactor2"),
    ("PriorityDecayHalfLife", "7-0"),
    ("PriorityCalcPeriod", "5"),
    ("PriorityMaxAge", "7-0"),
    ("PriorityUsageResetPeriod", "NONE"),
    ("PriorityFlags", ""),
    ("PriorityParameters", ""),
    ("PriorityWeightAge", "1000"),
    ("PriorityWeightAssoc", "0"),
    ("PriorityWeightFairshare", "100000"),
    ("PriorityWeightJobSize", "0"),
    ("PriorityWeightPartition", "0"),
    ("PriorityWeightQOS", "0"),
    ("AccountingStorageEnforce", "associations,limits,qos"),
    ("SchedulerType", "sched/backfill"),
    ("FairShareDampeningFactor", "1"),
    ("PrivateData", ""),
    ("PreemptType", ""),
];

const WRONG: &str = "wrong";
const IDLE: &str = "without effect";
const UNUSUAL: &str = "unusual";

/// A case that is not only seen by `check`, but by the plugin, in the same words.
macro_rules! both {
    ($slurm:literal, $ours:literal, $($grade:ident $text:literal),+) => {
        Case { slurm: $slurm, ours: $ours, found: &[$(($grade, $text)),+], logged: &[$($text),+] }
    };
}

/// A case that only `check` tells of.
macro_rules! check {
    ($slurm:literal, $ours:literal $(, $grade:ident $text:literal)*) => {
        Case { slurm: $slurm, ours: $ours, found: &[$(($grade, $text)),*], logged: &[] }
    };
}

/// All of them.
pub const CASES: [Case; 61] = [
    check!("", ""),
    both!("PriorityWeightFairshare=0", "", IDLE "PriorityWeightFairshare=0: fair-share is computed"),
    both!("PriorityWeightFairshare=0\nPriorityWeightAge=0", "", WRONG "all PriorityWeight* are 0"),
    check!("PriorityWeightFairshare=0\nPriorityWeightAge=0", "Component=SERV QueueTime=1"),
    both!("PriorityFlags=NO_FAIR_TREE", "", IDLE "PriorityFlags=NO_FAIR_TREE or DEPTH_OBLIVIOUS changes nothing"),
    both!("PriorityFlags=DEPTH_OBLIVIOUS", "", IDLE "PriorityFlags=NO_FAIR_TREE or DEPTH_OBLIVIOUS changes nothing"),
    both!("PriorityDecayHalfLife=0", "", WRONG "PriorityDecayHalfLife=0 and PriorityUsageResetPeriod=NONE: usage is never forgotten"),
    check!("PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=MONTHLY", ""),
    both!("PriorityDecayHalfLife=1", "", WRONG "PriorityDecayHalfLife is 60 s: half of all usage"),
    both!("PriorityCalcPeriod=1440", "", WRONG "PriorityCalcPeriod is 86400 s"),
    both!("PriorityMaxAge=0", "", IDLE "PriorityMaxAge=0 gives every job the whole PriorityWeightAge"),
    check!("PriorityWeightAge=100000000", "", UNUSUAL "PriorityWeightAge=100000000 is 1000 times PriorityWeightFairshare: a job submitted 10 minutes earlier"),
    check!("AccountingStorageEnforce=", "", WRONG "AccountingStorageEnforce is not set: a job can name an account"),
    check!("AccountingStorageEnforce=associations", "", UNUSUAL "AccountingStorageEnforce has no 'limits'"),
    check!("SchedulerType=sched/builtin", "", UNUSUAL "SchedulerType=sched/builtin starts jobs"),
    both!("PriorityFlags=INCR_ONLY", "", WRONG "PriorityFlags=INCR_ONLY keeps each job"),
    both!(
        "PriorityFlags=INCR_ONLY",
        "Dilution=user",
        WRONG "PriorityFlags=INCR_ONLY keeps each job",
        WRONG "PriorityFlags=INCR_ONLY does not let a priority fall"
    ),
    check!("PriorityWeightFairshare=50\nPriorityWeightAge=5", "", WRONG "PriorityWeightFairshare=50 gives at most 50 different values"),
    check!(
        "PriorityWeightFairshare=4000000000\nPriorityWeightQOS=4000000000",
        "",
        WRONG "no priority can exceed 4294967295"
    ),
    check!("FairShareDampeningFactor=5", "", IDLE "FairShareDampeningFactor=5 affects only classic"),
    check!("PriorityType=priority/basic", "", WRONG "PriorityType=priority/basic: fair-share does not affect"),
    check!("PriorityType=priority/multifactor\nPriorityWeightFairshare=0", "", UNUSUAL "PriorityWeightFairshare=0: fair-share is computed"),
    check!("PriorityType=priority/multifactor\nPriorityFlags=NO_FAIR_TREE\nFairShareDampeningFactor=5", ""),
    check!("PriorityType=priority/multifactor\nPriorityMaxAge=0", "", IDLE "PriorityMaxAge=0 gives every job"),
    both!("", "Functional=User Name=* Shares=1", IDLE "Functional: has no effect with TicketsFunctional=0"),
    both!(
        "",
        "Component=CRED Account=1\nCredential=User Name=ada Priority=5",
        IDLE "Component=CRED Account=1 changes nothing: there is no Credential=Account line",
        IDLE "Credential=User lines change nothing"
    ),
    both!(
        "",
        "Component=FS FSAccount=1\nTarget=User Name=ada Percent=50",
        IDLE "Component=FS FSAccount=1 changes nothing: there is no Target=Account line",
        IDLE "Target=User lines change nothing: no Component=FS line gives FSUser a weight"
    ),
    both!("", "Component=FS FSUser=1", IDLE "Component=FS FSUser=1 changes nothing: there is no Target=User line"),
    both!("", "Component=TARGET TargetXFactor=1", IDLE "Component=TARGET TargetXFactor=1 changes nothing: no Service line"),
    both!("", "Component=SERV QueueTime=1\nPointsWeight=0", IDLE "Component lines change nothing with PointsWeight=0"),
    both!("", "Component=SERV QueueTime=1\nPointsCap=0", IDLE "Component lines change nothing with PointsCap=0"),
    both!("", "ParentUsers=split\nDistribution=standing", IDLE "ParentUsers=split changes nothing with Distribution=standing"),
    both!("", "TicketsShare=0", WRONG "TicketsShare=0 gives no tickets by shares"),
    check!("", "TicketsShare=0\nTicketsFunctional=1000\nFunctional=User Name=* Shares=1"),
    both!("", "DilutionQuantum=64", IDLE "DilutionQuantum: has no effect with Dilution=none"),
    both!("", "Dilution=user\nDilutionUnit=committed", WRONG "DilutionUnit=committed counts billing times minutes"),
    check!("", "Dilution=user\nDilutionUnit=committed\nDilutionQuantum=960"),
    both!("", "Component=USAGE Consumed=1", IDLE "Component=USAGE gives points to running jobs"),
    check!("PriorityFlags=CALCULATE_RUNNING", "Component=USAGE Consumed=1"),
    both!("", "Override=User Name=nobody Tickets=5", IDLE "Override=User Name=nobody: this name does not exist"),
    both!("", "Override=Parent Name=zoo Tickets=5", IDLE "Override=Parent Name=zoo: this name does not exist"),
    both!(
        "",
        "TicketsFunctional=10\nFunctional=Department Name=zoo Shares=5",
        IDLE "Functional=Department Name=zoo: this name does not exist"
    ),
    both!("", "Charge=Partition Name=zoo Factor=0.5", IDLE "Charge=Partition Name=zoo: this name does not exist"),
    both!("", "Charge=QOS Name=zoo Factor=0.5", IDLE "Charge=QOS Name=zoo: this name does not exist"),
    both!("", "Charge=Account Name=zoo Factor=0.5", IDLE "Charge=Account Name=zoo: this name does not exist"),
    both!("", "Book=animals Partitions=zoo", IDLE "Book=animals Partitions=zoo: this name does not exist"),
    both!(
        "",
        "Component=CRED QOS=1\nCredential=QOS Name=zoo Priority=5",
        IDLE "Credential=QOS Name=zoo: this name does not exist"
    ),
    both!(
        "",
        "Component=FS FSUser=1\nTarget=User Name=ada Percent=50\nTargetMetric=gres/zoo",
        IDLE "TargetMetric=gres/zoo: the cluster has no such TRES"
    ),
    both!("", "UsageMeasure=dominant\nDominantTRES=cpu,gres/zoo", IDLE "DominantTRES=gres/zoo: the cluster has no such TRES"),
    both!("", "Charge=WCKey Name=x Factor=0.5", IDLE "Charge=WCKey, Override=WCKey and Grant=WCKey do nothing, because without wckeys"),
    // Shares go by windows, which half-life has no part in.
    check!("PriorityDecayHalfLife=0", "TreeUsage=window"),
    check!("PriorityDecayHalfLife=1", "TreeUsage=window"),
    check!("PriorityUsageResetPeriod=MONTHLY", "TreeUsage=window", UNUSUAL "PriorityUsageResetPeriod empties the windows"),
    both!(
        "",
        "TreeUsage=window\nTreeWindow=5\nTreeDepth=2",
        WRONG "TreeWindow times TreeDepth is 300 s times 2: usage is forgotten after that time"
    ),
    // Other spellings of what is good.
    check!("AccountingStorageEnforce=limits\nPriorityDecayHalfLife=7-0:0\nPriorityUsageResetPeriod=none", ""),
    check!("AccountingStorageEnforce=Safe,QOS\nPrivateData=all\nPreemptType=preempt/none", ""),
    check!("AccountingStorageEnforce=2,wckeys\nPrivateData=job,Users\nPriorityCalcPeriod=0:5:0\nPriorityFlags=accrue_always,max_tres", ""),
    // slurmctld keeps what was good before bad ones.
    check!("", ""),
    both!(
        "",
        "ActiveJobs=never",
        WRONG "ActiveJobs=never: must be one of eligible, pending, startable"
    ),
    both!("", "TicketShare=5", WRONG "did you mean TicketsShare?"),
    both!("", "ActiveJobs=pending\nActiveJobs=eligible", IDLE "replaces the value of"),
];
