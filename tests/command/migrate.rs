//! `multifactor2 migrate`: it says what docs/coming-from.md says, every line of ours can be read, nothing of the input is lost, and no name
//! does anything to a shell.

#[path = "support/migrated.rs"]
mod migrated;
#[path = "recorded.rs"]
mod recorded;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use migrated::{check, read};
use multifactor2_command::answers::migrate::{
    of_grid_engine, of_maui, run, Arguments, MigrateAnswer, Use, Why,
};
use multifactor2_command::answers::what_if::{self, Changes, Plugin, Settings as OtherSettings};
use multifactor2_fixtures::coming_from::{rows, ComingRow, Whose};
use multifactor2_fixtures::{pick, random};
use multifactor2_snapshot::records::Setting;

/// What a case is given to.
#[derive(Clone, Copy)]
enum Origin {
    Maui,
    Moab,
    /// A file of qconf.
    Qconf(&'static str),
}
use Origin::{Maui, Moab, Qconf};

fn migrated(from: Origin, text: &str) -> MigrateAnswer {
    match from {
        Maui => of_maui("maui.cfg", text, false),
        Moab => of_maui("moab.cfg", text, true),
        Qconf(file) => of_grid_engine(&[(file, file.into(), text.into())]),
    }
}

/// Parameters as they are there, and lines of the page that must come of them.
const CASES: &[(Origin, &str, &[&str])] = &[
    (
        Maui,
        "CREDWEIGHT 1\nUSERWEIGHT 1\nGROUPWEIGHT 1\nACCOUNTWEIGHT 1\nQOSWEIGHT 1\nCLASSWEIGHT 1",
        &["Component=CRED Weight=1 User=1 Group=1 Account=1 QOS=1 Class=1"],
    ),
    (
        Maui,
        "USERWEIGHT 1\nUSERCAP 5000\nGROUPWEIGHT 1\nGROUPCAP 5000\nCREDCAP 8000",
        &["Component=CRED User=1 UserCap=5000 Group=1 GroupCap=5000 Cap=8000"],
    ),
    (
        Maui,
        "USERWEIGHT 1\nUSERWEIGHT[debug] 5",
        &["Component=CRED User=1", "Component=CRED Partition=debug User=5"],
    ),
    (Maui, "USERWEIGHT 1\nUSERCFG[john] PRIORITY=2000", &["Component=CRED User=1", "Credential=User Name=john Priority=2000"]),
    (Maui, "GROUPWEIGHT 1\nGROUPCFG[staff] PRIORITY=10000", &["Component=CRED Group=1", "Credential=Group Name=staff Priority=10000"]),
    (
        Maui,
        "ACCOUNTWEIGHT 1\nACCOUNTCFG[physics] PRIORITY=500",
        &["Component=CRED Account=1", "Credential=Account Name=physics Priority=500"],
    ),
    (Maui, "QOSWEIGHT 1\nQOSCFG[special] PRIORITY=1000", &["Component=CRED QOS=1", "Credential=QOS Name=special Priority=1000"]),
    (
        Maui,
        "CLASSWEIGHT 1\nCLASSCFG[debug] PRIORITY=100",
        &["Component=CRED Class=1", "Credential=Partition Name=debug Priority=100"],
    ),
    (Maui, "USERWEIGHT 1\nUSERCFG[DEFAULT] PRIORITY=10", &["Component=CRED User=1", "Credential=User Name=* Priority=10"]),
    (Moab, "ENABLENEGJOBPRIORITY TRUE", &["Component=CRED User=1", "Credential=User Name=* Priority=1000000"]),
    (
        Maui,
        "RESWEIGHT 1\nRESCAP 100000\nNODEWEIGHT 1\nPROCWEIGHT 10\nMEMWEIGHT 0.001\nDISKWEIGHT 0.001\nPSWEIGHT 0.0001\nPEWEIGHT 1\nWALLTIMEWEIGHT 0.01",
        &["Component=RES Weight=1 Cap=100000 Node=1 Proc=10 Mem=0.001 Disk=0.001 PS=0.0001 PE=1 WallTime=0.01"],
    ),
    (Moab, "FSPPUWEIGHT -1", &["Dilution=user", "DilutionUnit=cpu", "DilutionQuantum=64"]),
    (Moab, "FSPSPUWEIGHT -1", &["Dilution=user", "DilutionUnit=committed", "DilutionQuantum=92160"]),
    (Moab, "JOBATTRPRIOF GRES[gpu]=3000", &["PriorityWeightTRES=GRES/gpu=3000"]),
    (
        Maui,
        "SERVWEIGHT 1\nSERVCAP 100000\nQUEUETIMEWEIGHT 1\nQUEUETIMECAP 20160",
        &["Component=SERV Weight=1 Cap=100000 QueueTime=1 QueueTimeCap=20160"],
    ),
    (
        Maui,
        "QUEUETIMEWEIGHT 0\nXFACTORWEIGHT 100\nXFACTORCAP 50\nXFMINWCLIMIT 00:10:00",
        &["Component=SERV XFactor=100 XFactorCap=50 XFMinLimit=00:10:00"],
    ),
    (
        Maui,
        "QOSCFG[special] QTWEIGHT=5000 XFWEIGHT=5000",
        &["Component=SERV QueueTime=1", "Service=QOS Name=special QueueTimeWeight=5000 XFactorWeight=5000"],
    ),
    (Maui, "QUEUETIMEWEIGHT 0\nBYPASSWEIGHT 10", &["Component=SERV Bypass=10"]),
    (Moab, "QUEUETIMEWEIGHT 0\nSTARTCOUNTWEIGHT 100\nSTARTCOUNTCAP 3", &["Component=SERV StartCount=100 StartCountCap=3"]),
    (
        Moab,
        "ATTRWEIGHT 3\nATTRSTATEWEIGHT 2\nJOBATTRPRIOF STATE[Running]=100",
        &["Component=ATTR Weight=3 State=2 States=RUNNING:100", "PriorityFlags=CALCULATE_RUNNING"],
    ),
    (
        Maui,
        "FSWEIGHT 50%\nFSUSERWEIGHT 1\nUSERCFG[DEFAULT] FSTARGET=50",
        &["Component=FS WeightPercent=50 FSUser=1", "Target=User Name=* Percent=50"],
    ),
    (
        Maui,
        "CLASSWEIGHT 2\nCLASSCFG[debug] PRIORITY=100\nGROUPCFG[staff] PRIORITY=7 CLASSWEIGHT=50",
        &[
            "Component=CRED Class=2",
            "Credential=Partition Name=debug Priority=100",
            "Credential=Group Name=staff Priority=7 ClassWeight=50",
        ],
    ),
    (Moab, "WCACCURACYWEIGHT 60", &["Component=FS WCAccuracy=60"]),
    (Moab, "JOBPRIOEXCEPTIONS ALL", &["QueueTimeSince=submit"]),
    (
        Maui,
        "TARGWEIGHT 1\nTARGETQUEUETIMEWEIGHT 5000\nTARGETXFACTORWEIGHT 5000\nQOSCFG[short] QTTARGET=00:15:00 XFTARGET=3",
        &[
            "Component=TARGET Weight=1 TargetQueueTime=5000 TargetXFactor=5000",
            "Service=QOS Name=short TargetQueueTime=00:15:00 TargetXFactor=3",
        ],
    ),
    (
        Maui,
        "TARGETQUEUETIMEWEIGHT 1\nTARGETQUEUETIMECAP 5000\nQOSQTTARGET[short] 00:15:00",
        &["Component=TARGET TargetQueueTime=1 TargetQueueTimeCap=5000", "Service=QOS Name=short TargetQueueTime=00:15:00 Curve=maui"],
    ),
    (
        Maui,
        "USAGEWEIGHT 1\nUSAGECONSUMEDWEIGHT 0.001\nUSAGEREMAININGWEIGHT 0.001\nUSAGEPERCENTWEIGHT 10\nUSAGEEXECUTIONTIMEWEIGHT 0.01",
        &[
            "Component=USAGE Weight=1 Consumed=0.001 Remaining=0.001 Percent=10 ExecutionTime=0.01",
            "PriorityFlags=CALCULATE_RUNNING",
        ],
    ),
    (Maui, "JOBPRIOACCRUALPOLICY ALWAYS", &["PriorityFlags=ACCRUE_ALWAYS"]),
    (Maui, "USERCFG[john] MAXIJOB=2", &["sacctmgr modify user john set MaxJobsAccrue=2"]),
    (Moab, "QOSCFG[short] MAXIJOB[USER]=2", &["sacctmgr modify qos short set MaxJobsAccruePerUser=2"]),
    (
        Maui,
        "FSPOLICY DEDICATEDPS\nFSUSERWEIGHT 10\nUSERCFG[john] FSTARGET=50",
        &["TargetMetric=cpu", "Component=FS FSUser=10", "Target=User Name=john Percent=50"],
    ),
    (Maui, "FSPOLICY DEDICATEDPES", &["PriorityFlags=MAX_TRES", "PartitionName=pes Nodes=ALL TRESBillingWeights=\"CPU=1.0,Mem=0.25G\""]),
    (Moab, "FSPOLICY SDEDICATEDPES", &["PartitionName=fast Nodes=ALL TRESBillingWeights=\"CPU=2.0\""]),
    (
        Moab,
        "FSPOLICY DEDICATEDPS%\nFSUSERWEIGHT 10\nUSERCFG[john] FSTARGET=5",
        &["TargetMetric=cpu", "Component=FS FSUser=10", "Target=User Name=john Percent=5%available"],
    ),
    (
        Maui,
        "FSPOLICY DEDICATEDPS%\nFSUSERWEIGHT 10\nUSERCFG[john] FSTARGET=5",
        &["Component=FS FSUser=10", "Target=User Name=john Percent=5 Mode=ratio"],
    ),
    (
        Maui,
        "FSINTERVAL 12:00:00\nFSDEPTH 14\nFSDECAY 0.8\nFSUSERWEIGHT 10\nUSERCFG[john] FSTARGET=50",
        &[
            "TargetUsage=window",
            "TargetWindow=12:00:00",
            "TargetDepth=14",
            "TargetDecay=0.8",
            "Component=FS FSUser=10",
            "Target=User Name=john Percent=50",
        ],
    ),
    (
        Moab,
        "FSINTERVAL 12:00:00\nFSDEPTH 14\nFSDECAY 0.8\nFSTREE[physics] SHARES=40",
        &["TreeUsage=window", "TreeWindow=12:00:00", "TreeDepth=14", "TreeDecay=0.8"],
    ),
    (
        Moab,
        "FSINTERVAL 1:00:00:00\nFSDEPTH 7\nFSDECAY 1\nFSTREE[physics] SHARES=40",
        &["TreeUsage=window", "TreeWindow=1-00:00:00", "TreeDepth=7", "TreeDecay=1"],
    ),
    (Maui, "RMPOLLINTERVAL 00:05:00", &["PriorityCalcPeriod=5"]),
    (Moab, "CLASSCFG[scavenger] FSSCALINGFACTOR=0.1", &["Charge=Partition Name=scavenger Factor=0.1"]),
    (
        Maui,
        "FSWEIGHT 100\nFSUSERWEIGHT 10\nFSGROUPWEIGHT 20\nFSACCOUNTWEIGHT 30\nFSQOSWEIGHT 40\nFSCLASSWEIGHT 0",
        &["Component=FS Weight=100 FSUser=10 FSGroup=20 FSAccount=30 FSQOS=40 FSClass=0"],
    ),
    (Maui, "FSCAP 1000\nFSUSERWEIGHT 10\nFSUSERCAP 20", &["Component=FS Cap=1000 FSUser=10 FSUserCap=20"]),
    (
        Maui,
        "FSUSERWEIGHT 10\nUSERCFG[john] FSTARGET=16.5+\nUSERCFG[DEFAULT] FSTARGET=10.0",
        &["Component=FS FSUser=10", "Target=User Name=john Percent=16.5 Type=floor", "Target=User Name=* Percent=10"],
    ),
    (Maui, "FSGROUPWEIGHT 10\nGROUPCFG[staff] FSTARGET=20", &["Component=FS FSGroup=10", "Target=Group Name=staff Percent=20"]),
    (
        Maui,
        "FSACCOUNTWEIGHT 10\nACCOUNTCFG[support] FSTARGET=5-",
        &["Component=FS FSAccount=10", "Target=Account Name=support Percent=5 Type=ceiling"],
    ),
    (Maui, "FSQOSWEIGHT 10\nQOSCFG[long] FSTARGET=10", &["Component=FS FSQOS=10", "Target=QOS Name=long Percent=10"]),
    (Maui, "FSCLASSWEIGHT 10\nCLASSCFG[debug] FSTARGET=10", &["Component=FS FSClass=10", "Target=Partition Name=debug Percent=10"]),
    (
        Moab,
        "FSWEIGHT 100\nFSACCOUNTWEIGHT 30\nACCOUNTCFG[physics] FSTARGET=25 FSWEIGHT=50",
        &["Component=FS Weight=100 FSAccount=30", "Target=Account Name=physics Percent=25 Weight=50"],
    ),
    (
        Moab,
        "ACCOUNTCFG[marketing] FSCAP=16500^",
        &[
            "AccountingStorageEnforce=limits,safe",
            "sacctmgr modify account marketing set GrpTRESMins=cpu=275",
            "TargetMetric=cpu",
            "Target=Account Name=marketing Amount=4.583 Type=cap",
        ],
    ),
    (Moab, "ACCOUNTCFG[DEFAULT] FSCAP=10", &["TargetMetric=cpu", "Target=Account Name=* Percent=10 Type=cap"]),
    (
        Moab,
        "FSENABLECAPPRIORITY TRUE\nFSACCOUNTWEIGHT 10\nACCOUNTCFG[marketing] FSCAP=10%",
        &[
            "Component=FS FSAccount=10",
            "Target=Account Name=marketing Percent=10 Type=floor",
            "Target=Account Name=marketing Percent=10 Type=cap",
        ],
    ),
    (Moab, "FSTREE[physics] SHARES=40", &["sacctmgr modify account physics set Fairshare=40"]),
    (
        Moab,
        "FSTREE[physics] SHARES=40 MEMBERLIST=optics\nFSTREE[optics] SHARES=10 MEMBERLIST=user:john\nFSTREE[user:john] SHARES=1",
        &["sacctmgr add account optics Parent=physics Fairshare=10", "sacctmgr add user john Account=optics Fairshare=1"],
    ),
    (
        Moab,
        "FSTREE[physics] SHARES=40 MEMBERLIST=user:john\nFSTREE[user:john] SHARES=10@gpu",
        &["sacctmgr add user john Account=physics Partition=gpu Fairshare=10"],
    ),
    (
        Moab,
        "FSTREE[research] SHARES=30@p3\nFSTREE[sales] SHARES=70@p3",
        &["PartitionName=p3 Nodes=ALL AllowAccounts=research,sales"],
    ),
    (
        Moab,
        "FSACCOUNTWEIGHT 30\nFSTREETIERMULTIPLIER 1\nFSTREE[physics] SHARES=40\nFSTREE[others] SHARES=60",
        &["TierMultiplier=1", "Component=FS FSParent=30", "Target=Parent Name=physics Percent=40"],
    ),
    (
        Moab,
        "FSACCOUNTWEIGHT 30\nFSTREECAP TRUE\nFSTREE[physics] SHARES=40\nFSTREE[others] SHARES=60",
        &["CapTiers=yes", "Component=FS FSParent=30", "Target=Parent Name=physics Percent=40"],
    ),
    (
        Moab,
        "FSACCOUNTWEIGHT 30\nFSTREEISPROPORTIONAL TRUE\nFSTREE[physics] SHARES=40\nFSTREE[others] SHARES=60",
        &["Component=FS FSParent=30", "Target=Parent Name=physics Percent=40 Mode=ratio"],
    ),
    (
        Moab,
        "FSACCOUNTWEIGHT 30\nFSTREE[physics] SHARES=40 FSTARGET=40-",
        &["Component=FS FSParent=30", "Target=Parent Name=physics Percent=40 Type=ceiling"],
    ),
    (Moab, "FSTREEISREQUIRED TRUE", &["AccountingStorageEnforce=associations"]),
    (Moab, "FSTREEACLPOLICY PARENT", &["AccountingStorageEnforce=associations"]),
    (Moab, "FSTREE[physics] SHARES=1 MAXJOB=10 MAXSUBMITJOBS=50", &["sacctmgr modify account physics set GrpJobs=10 GrpSubmitJobs=50"]),
    (
        Moab,
        "FSTREE[physics] SHARES=1 MAXPROC=512 MAXNODE=16 MAXMEM=1048576",
        &["sacctmgr modify account physics set GrpTRES=cpu=512,node=16,mem=1T"],
    ),
    (Moab, "FSTREE[physics] SHARES=1 MAXPS=6000000", &["sacctmgr modify account physics set GrpTRESRunMins=cpu=100000"]),
    (Moab, "FSTREE[physics] SHARES=1 MAXWC=2:00:00:00", &["sacctmgr modify account physics set MaxWall=2-0"]),
    (Moab, "FSTREE[physics] SHARES=1 MAXIJOB=5", &["sacctmgr modify account physics set GrpJobsAccrue=5"]),
    (Maui, "USERCFG[paul] MAXJOB=5 MAXPROC=64", &["sacctmgr modify user paul set MaxJobs=5 GrpTRES=cpu=64"]),
    (
        Moab,
        "QOSCFG[long] MAXJOB[USER]=5 MAXPROC[USER]=64",
        &["sacctmgr modify qos long set MaxJobsPerUser=5 MaxTRESPerUser=cpu=64"],
    ),
    (Maui, "CLASSCFG[lab] MAXJOB=20", &["sacctmgr add qos lab GrpJobs=20"]),
    (Moab, "ACCOUNTCFG[physics] QLIST=normal,short,long", &["sacctmgr modify account physics set QOS=normal,short,long"]),
    (Moab, "USERCFG[john] ADEF=physics", &["sacctmgr modify user john set DefaultAccount=physics"]),
    (Qconf("ssconf"), "weight_ticket 1.000000", &["PriorityWeightFairshare=100000"]),
    (
        Qconf("ssconf"),
        "weight_tickets_functional 100000\nweight_tickets_share 0",
        &["TicketsFunctional=100000", "TicketsShare=0"],
    ),
    (
        Qconf("ssconf"),
        "weight_user 0.250000\nweight_project 0.250000\nweight_department 0.250000\nweight_job 0.250000",
        &["FunctionalWeightUser=0.25", "FunctionalWeightAccount=0.25", "FunctionalWeightDepartment=0.25", "FunctionalWeightJob=0.25"],
    ),
    (Qconf("ssconf"), "policy_hierarchy OFS", &["PolicyHierarchy=OFS"]),
    (
        Qconf("ssconf"),
        "share_override_tickets TRUE\nshare_functional_shares TRUE",
        &["ShareOverrideTickets=yes", "ShareFunctionalShares=yes"],
    ),
    (Qconf("ssconf"), "max_functional_jobs_to_schedule 200", &["MaxFunctionalJobs=200"]),
    (Qconf("ssconf"), "compensation_factor 5.000000", &["CompensationFactor=5"]),
    (Qconf("ssconf"), "halftime 168", &["PriorityDecayHalfLife=7-00:00:00"]),
    (Qconf("ssconf"), "halftime 0", &["PriorityDecayHalfLife=0", "PriorityUsageResetPeriod=YEARLY"]),
    (
        Qconf("ssconf"),
        "usage_weight_list cpu=0.800000,mem=0.200000,io=0.000000",
        &["PartitionName=mixed Nodes=ALL TRESBillingWeights=\"CPU=0.8,Mem=0.2G\""],
    ),
    (Qconf("ssconf"), "usage_weight_list cpu=1,finished_jobs=1", &["MinimumCharge=00:05:00"]),
    (Qconf("ssconf"), "weight_waiting_time 0.278000", &["Component=SERV QueueTime=16.68"]),
    (
        Qconf("ssconf"),
        "weight_urgency 0.500000\nweight_priority 0.100000\nweight_waiting_time 0.278000\nweight_deadline 3600000.000000",
        &["Component=URGENCY Urgency=50000 Priority=10000 WaitingTime=0.278 Deadline=3600000"],
    ),
    (Qconf("suser"), "name john\noticket 100\nfshare 0", &["Override=User Name=john Tickets=100"]),
    (
        Qconf("sprj"),
        "name prj1\noticket 10\nfshare 50\nacl NONE\nxacl NONE",
        &["Override=Account Name=prj1 Tickets=10", "Functional=Account Name=prj1 Shares=50"],
    ),
    (
        Qconf("su"),
        "name physics\ntype DEPT\nfshare 10\noticket 100\nentries NONE",
        &["Override=Parent Name=physics Tickets=100", "Functional=Department Name=physics Shares=10"],
    ),
    (Qconf("sconf"), "auto_user_fshare 100\nauto_user_oticket 0", &["Functional=User Name=* Shares=100"]),
    (
        Qconf("sstree"),
        "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1\nid=1\nname=physics\ntype=1\nshares=60\nchildnodes=2\nid=2\nname=john\ntype=0\nshares=100\nchildnodes=NONE",
        &["Dilution=tree", "sacctmgr modify user john where Account=physics set Fairshare=100"],
    ),
];

/// Lines of ours on the page that no parameter leads to: what they stand beside is a command, or a choice of the administrator.
const CHOSEN: [&str; 20] = [
    "Target=User Name=* Percent=25 Book=gpu",
    "Component=TARGET TargetQueueTime=5000",
    "Component=URGENCY Urgency=50000 Deadline=3600000",
    // A choice of what preempts whom.
    "Component=FS FSUser=1000",
    "Target=User Name=* Percent=50",
    "FSStep=5",
    // Moab's charging rates are in another file.
    "Charge=Partition Name=batch Factor=0.5 Days=Mon-Fri Hours=18:00-06:00",
    "Charge=Partition Name=batch Factor=0.5 Days=Sat,Sun",
    "Service=QOS Name=short TargetQueueTime=00:15:00 TargetGrowth=4",
    "Target=Account Name=* Percent=10 Type=cap Block=yes",
    "Override=Account Name=climate Tickets=20000 From=2027-01-18 Until=2027-01-24",
    "TicketsFunctional=10000",
    "Override=Job Name=7 Tickets=2000",
    "AdminCommentTickets=yes",
    "Charge=Account Name=scavenger Factor=0.1",
    // Other shares than those that the parameter beside it has: see below for what it becomes.
    "Book=gpu Partitions=gpu Shares=physics:10,chemistry:5,*:1",
    "Book=gpu Partitions=gpu",
    "Book=long Partitions=long",
    "UsageMeasure=dominant",
    "DominantTRES=cpu,mem,gres/gpu",
];

/// A line in a form that can be compared: the attributes of ours in order, and what the page needs to be tried in a cluster left out.
fn comparable(line: &str) -> String {
    let line = line.replace("sacctmgr -i ", "sacctmgr ");
    if line.starts_with("PartitionName=") {
        return line.split_once(' ').map_or("", |(_, rest)| rest).trim_start_matches("Nodes=ALL ").to_owned();
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    if line.starts_with("Component=") {
        words[1..].sort_unstable();
    }
    words.join(" ")
}

fn lines(answer: &MigrateAnswer) -> Vec<&str> {
    let all = answer.multifactor2_conf.iter().chain(&answer.slurm_conf).chain(&answer.sacctmgr);
    all.map(|line| line.text.as_str()).collect()
}

#[test]
fn the_lines_are_those_of_the_page_and_can_be_read() {
    let page: Vec<ComingRow> = rows();
    let of_page: BTreeSet<String> =
        page.iter().flat_map(|row| &row.lines).map(|line| comparable(line)).collect();
    for (from, text, expected) in CASES {
        let answer = migrated(*from, text);
        assert!(answer.notes.iter().all(|note| note.why != Why::Unreadable), "{text}\n{answer}");
        let found: Vec<String> = lines(&answer).into_iter().map(comparable).collect();
        for line in *expected {
            let line = comparable(line);
            assert!(of_page.contains(&line), "not on the page: {line}");
            assert!(found.contains(&line), "{text}\nmissing: {line}\n{answer}");
        }
        read(&answer);
    }
}

#[test]
fn no_line_of_ours_on_the_page_is_left_out() {
    let known: BTreeSet<String> =
        CASES.iter().flat_map(|(_, _, lines)| *lines).chain(&CHOSEN).map(|line| comparable(line)).collect();
    // What the page of UMIACS says is no configuration of another scheduler.
    let rows = rows();
    let umiacs = rows.iter().position(|row| row.there.starts_with("age, up to its limit")).unwrap();
    let ours = rows[..umiacs].iter().filter(|row| row.whose == Whose::Ours);
    let missing: Vec<&String> =
        ours.flat_map(|row| &row.lines).filter(|line| !known.contains(&comparable(line))).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Names in capitals that the page has between backquotes: parameters, and attributes of `*CFG` and `FSTREE`.
#[test]
fn every_parameter_of_the_page_is_known() {
    const VALUES: &str = "ALWAYS QUEUEPOLICY FULLPOLICY DEDICATEDPS DEDICATEDPES SDEDICATEDPES SDEDICATEDPS PDEDICATEDPS PSDEDICATED UTILIZEDPS FULL PARENT OFF FS EPOCHTIME GRES ATTR \
                          STATE DEFAULT USER ALL DEPENDS";
    const ATTRIBUTES: &str = "PRIORITY FSTARGET FSCAP FSWEIGHT QTWEIGHT XFWEIGHT QTTARGET XFTARGET FSSCALINGFACTOR MAXJOB MAXSUBMITJOBS MAXPROC \
                              MAXNODE MAXMEM MAXPS MAXWC MAXIJOB";
    let rows = rows();
    let grid_engine = rows.iter().position(|row| row.there == "`weight_ticket`").unwrap();
    let mut count = 0;
    for row in &rows[..grid_engine] {
        let words = row.there.split('`').skip(1).step_by(2).flat_map(|code| {
            code.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).map(str::to_owned)
        });
        let is_name = |word: &String| {
            word.len() > 1
                && word.chars().all(|letter| letter.is_ascii_uppercase())
                && !VALUES.split_whitespace().any(|value| value == word)
        };
        for word in words.filter(is_name) {
            count += 1;
            let text = match word.as_str() {
                "SHARES" | "MEMBERLIST" => format!("FSTREE[physics] {word}=1"),
                _ if ATTRIBUTES.split_whitespace().any(|attribute| attribute == word) => {
                    format!("QOSCFG[x] {word}=1")
                }
                _ if word.ends_with("CFG") => format!("{word}[x] PRIORITY=1"),
                _ => format!("{word} 1"),
            };
            // What refuses a value knows the name.
            let answer = of_maui("maui.cfg", &text, false);
            let unknown: Vec<_> = answer.notes.iter().filter(|note| note.why == Why::Unknown).collect();
            assert!(unknown.is_empty(), "{text}: {unknown:?}");
        }
    }
    assert!(count > 100, "{count}");
    for row in &rows[grid_engine..] {
        let first = row.there.trim_start_matches('`');
        let name = first
            .split(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'))
            .next()
            .unwrap_or_default();
        if name.contains('_') && row.there.starts_with('`') && name != "sge_share_mon" {
            let answer = migrated(Qconf("ssconf"), &format!("{name} 1"));
            assert!(answer.notes.iter().all(|note| note.why != Why::Unknown), "{name}\n{answer}");
        }
    }
}

/// Every line of docs/public-configurations.md becomes what stands beside it.
#[test]
fn public_configurations() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/public-configurations.md"))
            .unwrap();
    let mut lines_seen = 0;
    for part in page.split("\n## ").skip(1) {
        let (title, table) = part.split_once('\n').unwrap();
        let rows: Vec<(&str, &str)> = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "))
            .collect();
        let text = rows.iter().fold(String::new(), |text, (line, _)| text + line + "\n");
        let is_qconf = text.contains("\nweight_ticket ");
        let name = if is_qconf { "ssconf" } else { "maui.cfg" };
        let answer =
            if is_qconf { of_grid_engine(&[(name, name.into(), text)]) } else { of_maui(name, &text, false) };
        read(&answer);
        let all = || answer.multifactor2_conf.iter().chain(&answer.slurm_conf).chain(&answer.sacctmgr);
        for ((line, becomes), number) in rows.iter().zip(1..) {
            let place = format!("{name} line {number}: ");
            let from_here = |from: &String| from.starts_with(&place);
            let texts: Vec<String> = all()
                .filter(|line| line.from.iter().any(from_here))
                .map(|line| format!("`{}`", line.text))
                .collect();
            let expected = if texts.is_empty() {
                let note = answer
                    .notes
                    .iter()
                    .find(|note| note.from.split(", ").any(|from| from.starts_with(&place)));
                let why = serde_json::to_value(note.unwrap_or_else(|| panic!("{title}: {line} is lost")).why)
                    .unwrap();
                why.as_str().unwrap().replace('_', " ")
            } else {
                texts.join("<br>")
            };
            assert_eq!(becomes, &expected, "{title}: {line}");
            lines_seen += 1;
        }
    }
    assert!(lines_seen > 260, "{lines_seen}");
}

/// A file that qconf printed is no maui.cfg, of which it would make nonsense.
#[test]
fn one_output_of_qconf_is_known_by_its_lines() {
    let directory = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("# saved\nalgorithm default\npolicy_hierarchy OFS\nweight_tickets_share 10000\n", "PolicyHierarchy=OFS"),
        (
            "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1\nid=1\nname=lab\ntype=0\nshares=40\nchildnodes=2\n\
             id=2\nname=ann\ntype=0\nshares=1\nchildnodes=NONE\n",
            "sacctmgr -i add account lab Fairshare=40",
        ),
        ("name ann\noticket 5\nfshare 0\ndefault_project NONE\n", "Override=User Name=ann Tickets=5"),
        ("name PRJ1\noticket 10\nfshare 0\nacl NONE\nxacl NONE\n", "Override=Account Name=prj1 Tickets=10"),
        ("name dept1\ntype ACL DEPT\nfshare 0\noticket 7\nentries ann\n", "Override=Parent Name=dept1 Tickets=7"),
    ] {
        let path = directory.path().join("saved.txt");
        fs::write(&path, text).unwrap();
        let answer = run(&Arguments { from: path, ..Arguments::default() }).unwrap();
        assert_eq!(answer.scheduler, "Grid Engine", "{text}");
        assert!(lines(&answer).contains(&expected), "{text}\n{answer}");
        assert!(answer.notes.iter().all(|note| note.from.contains("saved.txt line ")), "{answer}");
    }
}

/// Each name of a weight or cap, by what it is here: releases of Maui and Moab have several for one thing.
#[test]
fn all_names_of_a_weight_are_one() {
    for (names, part) in [
        ("SERVICE SERV", "Component=SERV Weight=3"),
        ("TARGET TARG SERVICETARGET", "Component=TARGET Weight=3"),
        ("TARGETQUEUETIME QUEUETIMETARGET", "Component=TARGET TargetQueueTime=3"),
        ("TARGETXFACTOR XFACTORTARGET", "Component=TARGET TargetXFactor=3"),
        ("USAGEPERCENT PERCENT", "Component=USAGE Percent=3"),
        ("USAGEREMAINING REMAINING", "Component=USAGE Remaining=3"),
        ("USAGECONSUMED CONSUMED", "Component=USAGE Consumed=3"),
        ("USAGEEXECUTIONTIME EXECUTIONTIME", "Component=USAGE ExecutionTime=3"),
        ("FSUSER UFS", "Component=FS FSUser=3"),
        ("FSGROUP GFS", "Component=FS FSGroup=3"),
        ("FSACCOUNT AFS", "Component=FS FSAccount=3"),
        ("FS FAIRSHARE", "Component=FS Weight=3"),
        ("RES RESOURCE", "Component=RES Weight=3"),
        ("MEM MEMORY", "Component=RES Mem=3"),
    ] {
        for name in names.split(' ') {
            let parts = "QUEUETIMEWEIGHT 1\nTARGETXFACTORWEIGHT 1\nFSUSERWEIGHT 1\nNODEWEIGHT 1\n";
            let answer = of_maui("maui.cfg", &format!("{parts}{name}WEIGHT 3\n"), false);
            let (component, attribute) = part.split_once(' ').unwrap();
            let is_it = |line: &str| line.starts_with(component) && line.contains(attribute);
            assert!(answer.settings().lines().any(is_it), "{name}: {answer}");
            let capped = of_maui("maui.cfg", &format!("{parts}{name}WEIGHT 1\n{name}CAP 7\n"), false);
            assert!(capped.settings().contains("Cap=7"), "{name}: {capped}");
        }
    }
    assert!(of_maui("maui.cfg", "SERVICEWCAP 7", false).settings().contains("Component=SERV Cap=7"));
    // What neither table has is said to be unknown, and that it is a weight.
    let unknown = of_maui("maui.cfg", "HAIRWEIGHT 3", false);
    assert!(
        unknown.notes.iter().any(|note| note.why == Why::Unknown && note.remark.contains("neither table")),
        "{unknown}"
    );
}

/// From Slurm to Slurm: lines, what stays, the way back, and the first day by what was kept of a cluster.
#[test]
fn a_slurm_conf_of_stock() {
    let place = tempfile::tempdir().unwrap();
    let conf = place.path().join("slurm.conf");
    let with = |text: &str| {
        fs::write(
            &conf,
            format!(
                "ClusterName=c\nNodeName=n[1-9] CPUs=4\nPartitionName=a Nodes=ALL PriorityTier=3\n{text}"
            ),
        )
        .unwrap();
        run(&Arguments { from: conf.clone(), ..Arguments::default() }).unwrap()
    };
    let fair_tree = with(
        "PriorityType=priority/multifactor\nPriorityWeightFairshare=100000\nPriorityDecayHalfLife=7-0\n",
    );
    assert_eq!(fair_tree.settings(), "Distribution=strict\n");
    assert_eq!(lines(&fair_tree), ["Distribution=strict", "PriorityType=priority/multifactor2"]);
    let classic = with("PriorityType=priority/multifactor\nPriorityFlags=MAX_TRES,no_fair_tree\nFairShareDampeningFactor=3\n");
    assert_eq!(
        lines(&classic),
        ["Distribution=standing", "PriorityType=priority/multifactor2", "PriorityFlags=MAX_TRES"]
    );
    let said = format!("{fair_tree}{classic}");
    for part in [
        "line 6: PriorityDecayHalfLife 7-0: It stays, with the same effect",
        "PriorityWeightFairshare is not set: It is 0 by default",
        "the way back: In slurm.conf on all hosts: PriorityType=priority/multifactor, PriorityWeightFairshare=100000. Then restart slurmctld",
        "the way back: In slurm.conf on all hosts: PriorityType=priority/multifactor, PriorityFlags=MAX_TRES,no_fair_tree.",
        "FairShareDampeningFactor 3: Remove it",
        "under which usage settles on the squares of the shares",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("PriorityTier"), "{said}");
    assert_eq!(
        with("PriorityType=priority/basic\n").slurm_conf[0].text,
        "PriorityType=priority/multifactor2"
    );
    assert!(with("PriorityType=priority/multifactor2\n").slurm_conf.is_empty());
}

/// The numbers are those of `what-if` with the same change.
#[test]
fn the_first_day_after_stock() {
    let place = tempfile::tempdir().unwrap();
    let conf = place.path().join("slurm.conf");
    for (case, flags) in [("fair-tree-root", ""), ("classic-root", "PriorityFlags=NO_FAIR_TREE\n")] {
        let saved = place.path().join(case);
        recorded::texts("24.11.5", case).save(&saved).unwrap();
        fs::write(
            &conf,
            format!(
                "ClusterName=c\nPriorityType=priority/multifactor\nPriorityWeightFairshare=100000\n{flags}"
            ),
        )
        .unwrap();
        let arguments = Arguments { from: conf.clone(), snapshot: Some(saved), ..Arguments::default() };
        let output = Command::new(env!("CARGO_BIN_EXE_multifactor2"))
            .arg("migrate")
            .arg(&arguments.from)
            .arg("--snapshot")
            .arg(arguments.snapshot.as_ref().unwrap())
            .arg("--json")
            .output()
            .unwrap();
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let day = &said["answer"]["first_day"];
        let snapshot = recorded::snapshot("24.11.5", case);
        let weight = day["weight"].as_u64().unwrap();
        assert!((1..=100_000).contains(&weight), "{case}: {day}");
        let settings = run(&arguments).unwrap().settings();
        let lines =
            settings.lines().map(|line| Setting { line: line.to_owned(), from: String::new() }).collect();
        let changes = Changes {
            plugin: Some(Plugin::Multifactor2),
            settings: Some(OtherSettings { file: "f".to_owned(), lines }),
            weights: vec![format!("fairshare={weight}").parse().unwrap()],
            ..Changes::default()
        };
        let after = what_if::what_if(&snapshot, None, &changes).unwrap();
        assert_eq!(day["moved"].as_u64(), after.moved.map(|moved| moved as u64), "{case}");
        assert_eq!(day["jobs"].as_u64(), Some(after.rows.len() as u64), "{case}");
        let rising: Vec<&str> =
            after.users.iter().filter(|user| user.mean > 0.0).map(|user| user.name.as_str()).collect();
        let said: Vec<&str> =
            day["rise"].as_array().unwrap().iter().map(|user| user["name"].as_str().unwrap()).collect();
        assert!(
            said.len() == rising.len().min(5) && said.iter().all(|name| rising.contains(name)),
            "{case}: {said:?} {rising:?}"
        );
    }
    // Another scheduler has another queue.
    fs::write(place.path().join("maui.cfg"), "FSWEIGHT 1\n").unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_multifactor2"))
        .args(["migrate", "maui.cfg", "--snapshot", "fair-tree-root"])
        .current_dir(place.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
}

/// Bug: a weight of 0 turned `CALCULATE_RUNNING` on, and wrote a line that does nothing.
#[test]
fn usage_without_a_weight_writes_nothing() {
    for text in
        ["USAGEWEIGHT 0", "USAGEWEIGHT 0\nUSAGEPERCENTWEIGHT 5", "USAGEPERCENTWEIGHT 0", "USAGEWEIGHT 7"]
    {
        let answer = of_maui("maui.cfg", text, false);
        assert!(
            !answer.to_string().contains("CALCULATE_RUNNING") && !answer.settings().contains("USAGE"),
            "{text}: {answer}"
        );
        assert!(!answer.notes.is_empty(), "{text}");
    }
}

#[test]
fn what_cannot_be_done_has_the_reason_of_the_page() {
    let page = rows();
    let remark = |there: &str| {
        let row = page
            .iter()
            .find(|row| row.there.contains(there) && !matches!(row.whose, Whose::Ours | Whose::Slurm));
        row.unwrap_or_else(|| panic!("{there}")).remark.replace('`', "")
    };
    for (from, text, there, why) in [
        (Maui, "SWAPWEIGHT 10", "SWAPWEIGHT", Why::Impossible),
        (Maui, "SPVIOLATIONWEIGHT 5", "SPVIOLATIONWEIGHT", Why::Impossible),
        (Maui, "REJECTNEGPRIOJOBS TRUE", "REJECTNEGPRIOJOBS", Why::Impossible),
        (Maui, "FSPOLICY UTILIZEDPS", "UTILIZEDPS", Why::Impossible),
        (Maui, "DIRECTSPECWEIGHT 5", "DIRECTSPECWEIGHT", Why::Impossible),
        (Maui, "SPEEDCAP 5", "SPEEDWEIGHT", Why::Impossible),
        (Moab, "UPSWEIGHT 5", "UPSWEIGHT", Why::Impossible),
        (Moab, "FSGUSERWEIGHT 5", "FSGUSER", Why::NotYet),
        (Moab, "JOBIDWEIGHT 5", "ATTRJOBIDWEIGHT", Why::Nothing),
        (Moab, "ATTRJOBNAMEWEIGHT 5", "ATTRJOBNAMEWEIGHT", Why::Impossible),
        (Moab, "FSPOLICY PDEDICATEDPS", "PDEDICATEDPS", Why::Impossible),
        (Moab, "JOBPRIOEXCEPTIONS BATCHHOLD", "JOBPRIOEXCEPTIONS DEPENDS", Why::Impossible),
        (Moab, "GROUPCFG[staff] MAXJOB=3", "GROUPCFG[staff] MAXJOB=", Why::Impossible),
        (
            Moab,
            "FSTREE[a] SHARES=1 MEMBERLIST=group:staff",
            "groups, classes and QOS in the tree",
            Why::Impossible,
        ),
        (Qconf("ssconf"), "usage_weight_list cpu=1,io=1", "`io` in it", Why::Impossible),
        (Qconf("ssconf"), "max_pending_tasks_per_job 50", "max_pending_tasks_per_job", Why::Nothing),
    ] {
        let answer = migrated(from, text);
        let found = answer.notes.iter().find(|note| note.why == why && note.remark == remark(there));
        assert!(found.is_some(), "{text}\n{answer}");
    }
}

/// As sites have it: comments, an index, quotes, parameters of other matters.
const REAL: &str = r" maui.cfg 3.3.1
SERVERHOST            head.example
ADMIN1                maui root
RMCFG[base]           TYPE=PBS
RMPOLLINTERVAL        00:00:30
QUEUETIMEWEIGHT       10
XFACTORWEIGHT         0   # for now
FSPOLICY              DEDICATEDPS
FSDEPTH               7
FSINTERVAL            86400
FSDECAY               0.80
FSWEIGHT              10
FSUSERWEIGHT          5
BACKFILLPOLICY        FIRSTFIT
NODEALLOCATIONPOLICY  MINRESOURCE
QOSCFG[hi]  PRIORITY=100 XFTARGET=100 FLAGS=PREEMPTOR:IGNMAXJOB
USERCFG[DEFAULT]      FSTARGET=25.0 \
                      MAXJOB=10,20
USERCFG[john]         FSTARGET=37.5+
GROUPCFG[staff]       PRIORITY=1000 QDEF=hi QLIST=hi
CLASSCFG[batch]       FLAGS=PREEMPTEE
";

#[test]
fn nothing_of_a_real_file_is_lost() {
    let answer = of_maui("maui.cfg", REAL, false);
    let text = answer.to_string();
    let all = answer.multifactor2_conf.iter().chain(&answer.slurm_conf).chain(&answer.sacctmgr);
    let from: Vec<&String> =
        all.flat_map(|line| &line.from).chain(answer.notes.iter().map(|note| &note.from)).collect();
    for (number, line) in (1..).zip(REAL.lines()).filter(|(_, line)| !line.starts_with(['#', ' '])) {
        let place = format!("maui.cfg line {number}: ");
        assert!(from.iter().any(|from| from.contains(&place)), "lost: {number} {line}\n{text}");
    }
    assert!(text.contains("SERVERHOST head.example"), "{text}");
    assert!(text.contains("QOSCFG[hi] FLAGS PREEMPTOR:IGNMAXJOB"), "{text}");
    let settings = read(&answer);
    assert_eq!(settings.targets.len(), 2);
    assert_eq!(settings.target_window.as_secs(), 86_400);
    assert!(text.contains("sacctmgr -i modify qos normal set MaxJobsPerUser=20"), "{text}");
}

/// The half-life is what is taken. Windows are another way, which does not go with shares of partitions.
#[test]
fn windows_of_the_tree_are_offered() {
    let windows = "FSINTERVAL 12:00:00\nFSDEPTH 7\nFSDECAY 0.5\n";
    let answer =
        of_maui("moab.cfg", &format!("{windows}FSTREE[physics] SHARES=40\nFSTREE[others] SHARES=60"), true);
    let text = answer.to_string();
    for line in [
        "# or: TreeUsage=window\n# or: TreeWindow=12:00:00\n# or: TreeDepth=7\n# or: TreeDecay=0.5\n",
        "\nPriorityDecayHalfLife=",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(read(&answer).tree_windows(), None);
    let ours: String = answer.multifactor2_conf.iter().map(|line| line.text.clone() + "\n").collect();
    let taken = multifactor2_core::settings::Settings::parse(&ours, "test").unwrap();
    assert_eq!((taken.settings.tree_windows(), taken.warnings), (Some((43_200, 7, 0.5)), Vec::new()));
    let books = of_maui(
        "moab.cfg",
        &format!("{windows}FSTREE[physics] SHARES=40,10@gpu\nFSTREE[others] SHARES=60,90@gpu"),
        true,
    );
    let text = books.to_string();
    assert!(text.contains("Book=gpu") && !text.contains("TreeUsage"), "{text}");
    let points = of_maui("maui.cfg", &format!("{windows}FSUSERWEIGHT 1\nUSERCFG[ann] FSTARGET=5"), false);
    assert!(!points.to_string().contains("TreeUsage"));
}

/// The example of Maui's guide: -25000 points, which tests/core has for the lines of docs/points.md.
#[test]
fn the_documented_example_has_the_documented_lines() {
    let answer = of_maui(
        "maui.cfg",
        "FSPOLICY DEDICATEDPS\nFSWEIGHT 100\nFSUSERWEIGHT 10\nFSGROUPWEIGHT 20\nFSACCOUNTWEIGHT 30\nFSQOSWEIGHT 40\nFSCLASSWEIGHT 0\n\
         USERCFG[A] FSTARGET=50.0\nACCOUNTCFG[C] FSTARGET=25.0\nQOSCFG[D] FSTARGET=10.0+\n",
        false,
    );
    let ours = answer.settings();
    for line in [
        "Component=FS Weight=100 FSUser=10 FSGroup=20 FSAccount=30 FSQOS=40 FSClass=0",
        "Target=User Name=A Percent=50",
        "Target=Account Name=c Percent=25",
        "Target=QOS Name=d Percent=10 Type=floor",
    ] {
        assert!(ours.lines().any(|found| found == line), "{line}\n{ours}");
    }
}

/// The setup of seeds/n1ge6-ticket-policies, as a directory.
#[test]
fn a_directory_of_qconf_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write(
        "ssconf",
        "algorithm default\nticket_policy_hierarchy OFS\nweight_tickets_functional 100000\nweight_tickets_share 0\nweight_ticket 1.000000\n\
         weight_waiting_time 0.000000\nweight_deadline 3600000.000000\nweight_urgency 0.000000\nweight_priority 0.000000\n\
         halflife_decay_list none\n",
    );
    write("sprj", "name PRJ1\noticket 10\nfshare 0\nacl \\\n   dept1\nxacl NONE\n");
    write("suser", "name ann\noticket 0\nfshare 100\ndelete_time 0\ndefault_project NONE\nname bob\noticket 0\nfshare 100\n");
    write("su", "name dept1\ntype ACL DEPT\nfshare 0\noticket 0\nentries ann,@staff\n");
    let answer =
        run(&Arguments { from: directory.path().into(), moab: false, ..Arguments::default() }).unwrap();
    let all = lines(&answer);
    for line in [
        "PolicyHierarchy=OFS",
        "TicketsFunctional=100000",
        "TicketsShare=0",
        "Override=Account Name=prj1 Tickets=10",
        "Functional=User Name=ann,bob Shares=100",
        "PriorityWeightFairshare=100000",
        "sacctmgr -i add user ann Account=PRJ1",
    ] {
        assert!(all.contains(&line), "{line}\n{answer}");
    }
    assert!(!answer.settings().contains("QueueTime"), "a weight of 0 has no effect\n{answer}");
    read(&answer);
    let group = |note: &&multifactor2_command::answers::migrate::Note| note.from.contains("@staff");
    assert!(answer.notes.iter().any(|note| group(&note)), "{answer}");
    assert_eq!(serde_json::to_value(&answer).unwrap()["scheduler"], "Grid Engine");
}

#[test]
fn the_share_tree_keeps_its_shape() {
    let tree = "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1,2\n\
                id=1\nname=P1\ntype=1\nshares=60\nchildnodes=3,4\n\
                id=2\nname=lab\ntype=0\nshares=40\nchildnodes=5\n\
                id=3\nname=default\ntype=0\nshares=10\nchildnodes=NONE\n\
                id=4\nname=u1\ntype=0\nshares=50\nchildnodes=NONE\n\
                id=5\nname=u3\ntype=0\nshares=7\nchildnodes=NONE\n";
    let texts = [
        ("sprj", "sprj".to_owned(), "name P1\noticket 0\nfshare 0\nacl team\nxacl NONE\n".to_owned()),
        ("su", "su".to_owned(), "name team\ntype ACL\nfshare 0\noticket 0\nentries u1,u2\n".to_owned()),
        ("sstree", "sstree".to_owned(), tree.to_owned()),
    ];
    let answer = of_grid_engine(&texts);
    let commands: Vec<&str> =
        answer.sacctmgr.iter().map(|line| line.text.as_str()).filter(|text| text.contains(" add ")).collect();
    assert_eq!(
        commands,
        [
            "sacctmgr -i add account P1 Fairshare=60",
            "sacctmgr -i add account lab Fairshare=40",
            "sacctmgr -i add user u1 Account=P1 Fairshare=50",
            "sacctmgr -i add user u2 Account=P1 Fairshare=10",
            "sacctmgr -i add user u3 Account=lab Fairshare=7",
        ]
    );
}

#[test]
fn shares_of_a_partition_are_a_book() {
    let text = "FSTREE[root] MEMBERLIST=chem,bio\nFSTREE[chem] SHARES=50,3@gpu\nFSTREE[bio] SHARES=50,1@gpu";
    let answer = of_maui("moab.cfg", text, true);
    let all = lines(&answer);
    assert!(all.contains(&"Book=gpu Partitions=gpu Shares=chem:3,bio:1"), "{answer}");
    assert!(all.contains(&"sacctmgr -i add account chem Fairshare=50"), "{answer}");
    read(&answer);
}

#[test]
fn a_mistake_says_file_line_value_and_what_is_allowed() {
    for (from, text, expected) in [
        (
            Maui,
            "\nUSERWEIGHT ten",
            "maui.cfg line 2: USERWEIGHT ten: must be a number from -1000000000 to 1000000000",
        ),
        (Maui, "FSDEPTH 0", "maui.cfg line 1: FSDEPTH 0: must be a whole number from 1 to 1000"),
        (Maui, "FSPOLICY SOME", "maui.cfg line 1: FSPOLICY SOME: must be one of DEDICATEDPS, DEDICATEDPES"),
        (Maui, "USERCFG[a FSTARGET=1", "maui.cfg line 1: USERCFG[a FSTARGET=1: must be NAME VALUE"),
        (Maui, "USERCFG[a] FSTARGET", "maui.cfg line 1: USERCFG[a] FSTARGET: must be attributes"),
        (Maui, "USERCFG[a] FSTARGET=much", "maui.cfg line 1: USERCFG[a] FSTARGET much: must be a number"),
        (
            Moab,
            "FSTREE[a] MEMBERLIST=b\nFSTREE[b] MEMBERLIST=a",
            "moab.cfg line 2: FSTREE[b] MEMBERLIST a: must not be a node above",
        ),
        (Qconf("ssconf"), "halftime soon", "ssconf line 1: halftime soon: must be a whole number"),
        (
            Qconf("ssconf"),
            "policy_hierarchy OOF",
            "ssconf line 1: policy_hierarchy OOF: must be NONE, or some of the letters",
        ),
        (
            Qconf("sstree"),
            "id=0\nname=Root\nchildnodes=7",
            "sstree line 3: childnodes 7: must be the id of a node in the file",
        ),
        (Qconf("sstree"), "id=0\nname=Root\nchildnodes=0", "must be a tree"),
        (Qconf("suser"), "oticket 1", "suser line 1: oticket 1: an object must begin with name"),
    ] {
        let answer = migrated(from, text);
        let unreadable = answer.notes.iter().filter(|note| note.why == Why::Unreadable);
        let said: Vec<String> = unreadable.map(|note| format!("{}: {}", note.from, note.remark)).collect();
        assert!(said.iter().any(|said| said.contains(expected)), "{text}\n{said:?}");
        // All else is translated.
        let beside = match from {
            Maui | Moab => migrated(from, &format!("{text}\nGROUPWEIGHT 7\n")),
            Qconf(_) => continue,
        };
        assert!(beside.settings().contains("Group=7"), "{beside}");
    }
    let missing = run(&Arguments { from: "/nowhere/maui.cfg".into(), moab: false, ..Arguments::default() })
        .unwrap_err()
        .to_string();
    assert!(missing.starts_with("/nowhere/maui.cfg: "), "{missing}");
    let empty = tempfile::tempdir().unwrap();
    let empty = run(&Arguments { from: empty.path().into(), moab: false, ..Arguments::default() })
        .unwrap_err()
        .to_string();
    assert!(empty.contains("ssconf, sstree, suser"), "{empty}");
}

/// Names that would do something in a shell, in sacctmgr, in the settings, or at a terminal.
const HOSTILE: [&str; 12] = [
    "$(touch ran)",
    "`touch ran`",
    "a;touch ran",
    "a'b",
    "a\"b",
    "a' ; touch ran ; '",
    "my group",
    "-i",
    "a|touch ran",
    "a&touch ran",
    "<script>",
    "a\\",
];

#[test]
fn a_name_does_nothing_to_a_shell() {
    let directory = tempfile::tempdir().unwrap();
    // What stands for sacctmgr writes its words down.
    let stand_in = "sacctmgr() { printf '%s\\n' \"$@\" >>words; }\n";
    let mut text = String::new();
    for name in HOSTILE {
        let _ = write!(text, "FSTREE[{name}] SHARES=3 MAXJOB=2\nUSERCFG[{name}] MAXJOB=4 FSCAP=60^ QLIST={name} PRIORITY=5 FSTARGET=3 FSSCALINGFACTOR=2\n");
        let _ = write!(text, "CLASSCFG[{name}] MAXJOB=4\nFSTREE[top] SHARES=1@{name} MEMBERLIST={name},user:{name}\nUSERWEIGHT[{name}] 3\n");
        let _ = write!(text, "{name} 5\n{name}\n");
    }
    // A backslash at the end continues a line.
    let is_good = |line: &&str| !line.ends_with('\\');
    let good: String = text.lines().filter(is_good).fold(String::new(), |all, line| all + line + "\n");
    let answer = of_maui("moab.cfg", &good, true);
    read(&answer);
    let shown = answer.to_string();
    let commands = shown.split_once("# commands for an administrator").expect("commands are last").1;
    let script = format!("{stand_in}# {commands}");
    fs::write(directory.path().join("commands"), &script).unwrap();
    let done = Command::new("sh").arg("commands").current_dir(directory.path()).output().unwrap();
    assert!(
        done.status.success() && done.stderr.is_empty(),
        "{}\n{script}",
        String::from_utf8_lossy(&done.stderr)
    );
    let mut files: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["commands", "words"], "{script}");
    let words = fs::read_to_string(directory.path().join("words")).unwrap();
    assert!(words.lines().any(|word| word == "$(touch ran)"), "{words}");
    assert!(words.lines().any(|word| word == "my group"), "{words}");
    // Some shells have no comments at their prompt.
    for line in commands.lines().skip(1).filter(|line| line.starts_with('#') && !line.starts_with("# or: ")) {
        assert!(!line.contains(['$', '`', ';', '|', '&', '<', '>', '\'', '"', '\\', '(', '!']), "{line}");
    }
}

/// A name of ours that is `*` is everybody: one user of that name would have had everybody's tickets.
#[test]
fn a_name_is_not_everybody() {
    for (from, text) in [
        (Qconf("suser"), "name *\noticket 100\nfshare 100"),
        (Maui, "USERCFG[*] PRIORITY=1"),
        (Moab, "FSTREE[*] SHARES=1"),
    ] {
        let answer = migrated(from, text);
        assert!(answer.to_string().contains("must not be *"), "{answer}");
        assert!(!answer.multifactor2_conf.iter().any(|line| line.text.contains("Name=*")), "{answer}");
    }
}

#[test]
fn a_name_does_nothing_to_a_terminal() {
    for name in ["a\u{1b}]0;b", "a\u{202e}b", "a\u{7}"] {
        let refused = of_maui("maui.cfg", &format!("USERCFG[{name}] PRIORITY=1"), false).to_string();
        assert!(refused.contains("none of them a control or direction character"), "{refused}");
        assert!(!refused.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{refused:?}");
        let unknown = of_maui("maui.cfg", &format!("OTHERCFG[{name}] {name}"), false).to_string();
        assert!(!unknown.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{unknown:?}");
    }
}

/// In a file of settings a backslash at the end continues a line.
#[test]
fn a_comment_ends_with_its_line() {
    let answer = of_maui("maui.cfg", "USERWEIGHT 1\nUSERCFG[a\\] PRIORITY=1", false);
    for line in answer.to_string().lines().filter(|line| line.starts_with('#')) {
        assert!(!line.ends_with('\\'), "{line}");
    }
    assert_eq!(read(&answer).credentials[0].names, ["a\\"]);
}

#[test]
fn alternatives_and_parts_of_lines_are_not_taken_as_they_are() {
    let answer = of_maui("moab.cfg", "ACCOUNTCFG[m] FSCAP=16500^\nCLASSCFG[lab] MAXJOB=2", true);
    let how = |text: &str| {
        let mut all = answer.slurm_conf.iter().chain(&answer.sacctmgr);
        all.find(|line| line.text.contains(text)).map(|line| line.how)
    };
    assert_eq!(how("GrpTRESMins"), Some(Use::Instead));
    assert_eq!(how("PartitionName=lab"), Some(Use::AddTo));
    let text = answer.to_string();
    assert!(text.contains("# or: sacctmgr -i modify account m set GrpTRESMins=cpu=275"), "{text}");
    assert!(text.contains("# add to the existing line: PartitionName=lab QOS=lab"), "{text}");
}

/// Words that parameters are made of, so that random files are more than unknown parameters.
const WORDS: &[&str] = &[
    "USERWEIGHT",
    "FSWEIGHT",
    "FSUSERWEIGHT",
    "FSACCOUNTWEIGHT",
    "QUEUETIMEWEIGHT",
    "XFACTORCAP",
    "XFMINWCLIMIT",
    "TARGWEIGHT",
    "USERCFG",
    "GROUPCFG",
    "ACCOUNTCFG",
    "QOSCFG",
    "CLASSCFG",
    "FSTREE",
    "FSPOLICY",
    "FSINTERVAL",
    "FSDEPTH",
    "FSDECAY",
    "ENABLENEGJOBPRIORITY",
    "FSENABLECAPPRIORITY",
    "FSTREECAP",
    "FSTREETIERMULTIPLIER",
    "FSTREEISPROPORTIONAL",
    "JOBATTRPRIOF",
    "FSPPUWEIGHT",
    "QOSQTTARGET",
];

const ATTRIBUTES: &[&str] = &[
    "PRIORITY",
    "FSTARGET",
    "FSCAP",
    "FSWEIGHT",
    "QTWEIGHT",
    "XFWEIGHT",
    "QTTARGET",
    "XFTARGET",
    "FSSCALINGFACTOR",
    "MAXJOB",
    "MAXJOB[USER]",
    "MAXPROC",
    "MAXMEM",
    "MAXWC",
    "MAXPS",
    "QLIST",
    "ADEF",
    "SHARES",
    "MEMBERLIST",
    "OTHER",
];

const VALUES: &[&str] = &[
    "1",
    "0",
    "-1",
    "10",
    "0.5",
    "1e9",
    "1e300",
    "1e-300",
    "-0",
    "NaN",
    "inf",
    "10%",
    "10+",
    "5-",
    "16500^",
    "0^",
    "99999999999999",
    "TRUE",
    "OFF",
    "DEDICATEDPS%",
    "DEDICATEDPES",
    "NONE",
    "00:10:00",
    "1:00:00:00",
    "0:0",
    "4000000000:0:0",
    "10@gpu",
    "0.001,3@gpu",
    "a,b",
    "user:a",
    "user:b,c",
    "group:x",
    "GRES[gpu]=3",
    "ATTR[x]=1",
    "50%",
    "",
];

const NAMES: &[&str] = &[
    "a", "b", "c", "A", "DEFAULT", "*", "root", "a b", "a,b", "$(x)", "a'b", "#", "a\\", "gpu", "\u{fc}",
    "-i", "a=b", "user:a", "default", "\u{202e}",
];

#[test]
fn any_file_gives_lines_that_can_be_read_or_errors() {
    let mut random = random();
    let (mut good, mut all) = (0, 0);
    for _ in 0..4_000 {
        let mut text = String::new();
        for _ in 0..random.usize(1..8) {
            text += pick(&mut random, WORDS);
            if random.bool() {
                text = format!("{text}[{}]", pick(&mut random, NAMES));
            }
            for _ in 0..random.usize(1..3) {
                let value = pick(&mut random, VALUES);
                let attribute =
                    if random.bool() { format!("{}=", pick(&mut random, ATTRIBUTES)) } else { String::new() };
                text = format!("{text} {attribute}{value}");
            }
            text.push('\n');
        }
        // What is wrong alone is left out of most files.
        let is_moab = random.bool();
        let is_read =
            |line: &str| of_maui("f", line, is_moab).notes.iter().all(|note| note.why != Why::Unreadable);
        let is_taken = |line: &&str| random.u8(..20) == 0 || is_read(line);
        let lines = text.lines().filter(is_taken).collect::<Vec<_>>().join("\n");
        let answer = of_maui("f", &lines, is_moab);
        check(&answer);
        all += 1;
        good += usize::from(answer.notes.iter().all(|note| note.why != Why::Unreadable));
    }
    assert!(good > all / 4, "{good} of {all}");
}

#[test]
fn any_tree_gives_lines_that_can_be_read_or_errors() {
    let mut random = random();
    let mut good = 0;
    for _ in 0..1_000 {
        let mut tree = String::new();
        let nodes = random.usize(1..8);
        for id in 0..nodes {
            let children: Vec<String> =
                (id + 1..=nodes).filter(|_| random.u8(..4) == 0).map(|child| child.to_string()).collect();
            let children = if children.is_empty() { "NONE".into() } else { children.join(",") };
            let (name, shares) = (pick(&mut random, NAMES), random.u32(..100));
            let _ = write!(
                tree,
                "id={id}\nname={name}\ntype={}\nshares={shares}\nchildnodes={children}\n",
                random.u8(..2)
            );
        }
        let mut objects = String::new();
        for _ in 0..random.usize(1..6) {
            let (name, tickets, set) = (pick(&mut random, NAMES), random.u32(..4), pick(&mut random, NAMES));
            let _ = write!(
                objects,
                "name {name}\noticket {tickets}\nfshare {}\nacl {set}\nxacl NONE\n",
                random.u32(..4)
            );
        }
        let sets = objects.replace("acl ", "entries ").replace("xentries NONE\n", "type ACL DEPT\n");
        let texts = [
            ("sstree", "t".to_owned(), tree),
            ("sprj", "p".to_owned(), objects.clone()),
            ("suser", "u".to_owned(), objects),
            ("su", "s".to_owned(), sets),
        ];
        let all = of_grid_engine(&texts);
        check(&all);
        good += usize::from(all.notes.iter().all(|note| note.why != Why::Unreadable));
        check(&of_grid_engine(&texts[1..]));
        check(&of_grid_engine(&texts[..1]));
    }
    assert!(good > 50, "{good}");
}
