//! docs/coming-from.md: our lines are settings, and nothing that the schedulers before name is missing. `tests/daemons` has
//! Slurm's lines, `tests/command` those of the command.

use multifactor2_core::settings::Settings;
use multifactor2_fixtures::coming_from::{rows, Whose};

/// Parameters and commands of Maui, Moab and Grid Engine, and what the page of UMIACS speaks of.
const NAMES: &str = "
    CREDWEIGHT USERWEIGHT GROUPWEIGHT ACCOUNTWEIGHT QOSWEIGHT CLASSWEIGHT USERCFG GROUPCFG ACCOUNTCFG QOSCFG CLASSCFG PRIORITY
    FSWEIGHT FSCAP FSUSERWEIGHT FSGROUPWEIGHT FSACCOUNTWEIGHT FSQOSWEIGHT FSCLASSWEIGHT FSUSERCAP FSGROUPCAP FSACCOUNTCAP
    FSQOSCAP FSCLASSCAP RESWEIGHT RESCAP NODEWEIGHT PROCWEIGHT MEMWEIGHT SWAPWEIGHT DISKWEIGHT PSWEIGHT PEWEIGHT
    WALLTIMEWEIGHT SERVWEIGHT SERVCAP QUEUETIMEWEIGHT QUEUETIMECAP XFACTORWEIGHT XFACTORCAP XFMINWCLIMIT QTWEIGHT XFWEIGHT BYPASSWEIGHT
    SPVIOLATIONWEIGHT JOBPRIOACCRUALPOLICY QUEUEPOLICY FULLPOLICY ALWAYS JOBPRIOEXCEPTIONS STARTCOUNTWEIGHT USERPRIO DEADLINE
    TARGWEIGHT TARGETQUEUETIMEWEIGHT TARGETXFACTORWEIGHT TARGETQUEUETIMECAP TARGETXFACTORCAP QTTARGET XFTARGET QOSQTTARGET QOSXFTARGET
    USAGEWEIGHT USAGECONSUMEDWEIGHT USAGEREMAININGWEIGHT USAGEPERCENTWEIGHT USAGEEXECUTIONTIMEWEIGHT ATTRWEIGHT JOBATTRPRIOF
    STATE ATTR GRES UPROC UJOB FSJPU FSPPU FSPSPU WCACCURACYWEIGHT FSGUSER FSGGROUP FSGACCOUNT
    setspri ENABLENEGJOBPRIORITY REJECTNEGPRIOJOBS
    FSPOLICY DEDICATEDPS DEDICATEDPES SDEDICATEDPES UTILIZEDPS FSINTERVAL FSDEPTH FSDECAY RMPOLLINTERVAL FSTARGET FSENABLECAPPRIORITY
    ENABLEFSVIOLATIONPREEMPTION FSTREE SHARES MEMBERLIST FSTREEISREQUIRED FSTREEUSERISREQUIRED FSTREEACLPOLICY
    FSTREETIERMULTIPLIER FSTREECAP FSTREEISPROPORTIONAL FSMOSTSPECIFICLIMIT MAXJOB MAXSUBMITJOBS MAXPROC MAXWC MAXIJOB qlist adef fstree
    identity EPOCHTIME showfs mdiag showstats showq checkjob showstart showconfig mcredctl mschedctl changeparam
    diagnose mjobctl resetstats
    policy_hierarchy ticket_policy_hierarchy weight_tickets_functional weight_tickets_share weight_user weight_project
    weight_department weight_job share_override_tickets share_functional_shares max_functional_jobs_to_schedule
    max_pending_tasks_per_job halftime halflife_decay_list finished_jobs compensation_factor usage_weight_list weight_ticket weight_urgency
    weight_priority weight_waiting_time weight_deadline rrcontr report_pjob_tickets oticket fshare acl xacl default qsub qalter
    qconf qstat qacct qmon sge_share_mon
    age partitions scavenger fair-share sshare billing RawUsage --nice";

#[test]
fn every_line_of_ours_is_read_without_a_warning() {
    let mut lines = 0;
    for row in rows().iter().filter(|row| row.whose == Whose::Ours) {
        lines += row.lines.len();
        let text = row.lines.join("\n") + "\n";
        let loaded =
            Settings::parse(&text, "docs/coming-from.md").unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(loaded.warnings, [], "{text}");
    }
    assert_eq!(lines, 151);
}

#[test]
fn every_name_is_on_the_page() {
    let there: Vec<String> = rows().into_iter().map(|row| row.there).collect();
    let word = |text: &str, name: &str| {
        text.split(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)))
            .any(|word| word == name)
    };
    let missing: Vec<&str> =
        NAMES.split_whitespace().filter(|name| !there.iter().any(|text| word(text, name))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
