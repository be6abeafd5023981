//! Explains the one word that Slurm gives as the reason why a job waits: what it means and what to do. The words are those that squeue
//! shows in Slurm 20.11 to 26.05. Words of limits are put together from parts, see [`limits`].

use multifactor2_core::facts::Obstacle;
use schemars::JsonSchema;
use serde::Serialize;
use slurm_text::limits::{self, word};

/// A reason in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// As squeue shows it.
    pub name: String,
    /// What it means.
    pub sentence: String,
    /// What to do.
    pub remedy: String,
    /// Free nodes alone do not remove it.
    pub is_obstacle: bool,
}

/// Translates what squeue shows, with or without details behind a comma. A word that is not known is said to be so.
pub fn explain(shown: &str) -> Reason {
    let name = word(shown);
    if let Some((_, sentence, remedy, is_obstacle)) = find(name) {
        let (sentence, remedy) = ((*sentence).to_owned(), (*remedy).to_owned());
        return Reason { name: name.to_owned(), sentence, remedy, is_obstacle: *is_obstacle };
    }
    if let Some((sentence, remedy)) = limits::explain(name) {
        return Reason { name: name.to_owned(), sentence, remedy, is_obstacle: true };
    }
    Reason {
        name: name.to_owned(),
        sentence: format!("Slurm's reason '{name}' is not known here."),
        remedy: "See JOB REASON CODES in squeue(1), or ask your administrator.".to_owned(),
        is_obstacle: false,
    }
}

/// The obstacle that a reason is.
pub fn obstacle(shown: &str) -> Option<Obstacle> {
    let name = word(shown);
    let is_obstacle = find(name).map_or_else(|| limits::explain(name).is_some(), |(.., known)| *known);
    is_obstacle.then(|| match name.to_ascii_lowercase().as_str() {
        "partitiondown" | "partitioninactive" => Obstacle::Partition,
        "reqnodenotavail" => Obstacle::Nodes,
        "reservation" => Obstacle::Reservation,
        "qosusagethreshold" => Obstacle::Threshold,
        _ => Obstacle::Other,
    })
}

type ReasonRow = (&'static str, &'static str, &'static str, bool);

fn find(name: &str) -> Option<&'static ReasonRow> {
    TABLE.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
}

const ASK: &str = "Ask your administrator.";
const WAIT: &str = "Nothing needs to be done.";
const RESUBMIT: &str = "Correct the request and submit the job again.";

/// The word, what it means, what to do, and whether it is an obstacle.
const TABLE: &[ReasonRow] = &[
    ("None", "The scheduler has not looked at the job yet.", WAIT, false),
    ("Priority", "Other jobs have a higher priority.", "See who is before it with 'multifactor2 queue'.", false),
    ("Resources", "The job is among the first and waits for nodes to become free.",
        "A shorter time limit or a smaller request can let it start in a gap.", false),
    ("Cleaning", "The job was requeued and its earlier run is still being cleaned up.", WAIT, false),
    ("Prolog", "The prolog of the job is running.", WAIT, false),
    ("BurstBufferResources", "The job waits for space in the burst buffer.", WAIT, false),
    ("BurstBufferStageIn", "Data of the job is being copied into the burst buffer.", WAIT, false),
    ("BurstBufferOperation", "An operation of the burst buffer has failed.",
        "See the reason with 'scontrol show job', correct it, and release the job.", true),
    ("FedJobLock", "Another cluster of the federation is about to start the job.", WAIT, false),
    ("MaxPoweredUpNodes", "The site's limit on powered-up nodes is reached (MaxPoweredUpNodes).", WAIT, false),
    ("MpiPortsBusy", "All ports reserved for MPI are in use.", WAIT, false),
    ("NvidiaImexChannels", "All IMEX channels for GPUs are in use.", WAIT, false),
    ("BlockFreeAction", "A block of nodes is being freed.", WAIT, false),
    ("BlockMaxError", "A block of nodes has had too many errors.", ASK, false),
    ("FrontEndDown", "No front-end node is up.", ASK, false),
    ("PowerNotAvail", "There is not enough electric power for the job.", WAIT, false),
    ("PowerReserved", "Electric power is reserved for other jobs.", WAIT, false),
    ("SchedDefer", "The site does not start jobs at submission, but this job asked to start immediately.",
        "Submit it without --immediate.", true),
    ("Dependency", "The job waits for other jobs to begin or to end.",
        "See which with 'squeue -o \"%i %E\" -j JOBID'.", true),
    ("DependencyNeverSatisfied", "The job depends on a job that did not end as required, so it will never start.",
        "Cancel it, or change it with 'scontrol update JobId=JOBID Dependency='.", true),
    ("BeginTime", "The begin time of the job has not come.",
        "To start it earlier: 'scontrol update JobId=JOBID StartTime=now'.", true),
    ("JobHeldUser", "The job is held by its user.", "Release it with 'scontrol release JOBID'.", true),
    ("JobHeldAdmin", "The job is held by an administrator.", "Only an administrator can release it: ask why it is held.", true),
    ("JobHoldMaxRequeue", "The job was requeued too often (MaxBatchRequeue) and is held.",
        "Find out why it failed, then release it with 'scontrol release JOBID'.", true),
    ("JobArrayTaskLimit", "The array runs as many tasks as its own limit allows (the number after %).",
        "Raise it with 'scontrol update JobId=JOBID ArrayTaskThrottle=N'.", true),
    ("Licenses", "The licences that the job asks for are in use.", "See them with 'scontrol show licenses'.", true),
    ("Reservation", "The job waits for its reservation to begin, or there is no room left in it.",
        "See it with 'scontrol show reservation'.", true),
    ("ReservationDeleted", "The reservation of the job was deleted.",
        "Remove it from the job with 'scontrol update JobId=JOBID ReservationName='.", true),
    ("ReservationInvalid", "The reservation of the job does not exist, or the job may not use it.",
        "Remove it from the job with 'scontrol update JobId=JOBID ReservationName='.", true),
    ("ReqNodeNotAvail", "Nodes that the job needs are down, drained or reserved.",
        "See them with 'sinfo -R' and 'scontrol show reservation'. If the job names nodes, it can be changed to name none.", true),
    ("PartitionDown", "The partition is down: it queues jobs but starts none.",
        "Use another partition, or ask when it comes back ('sinfo -p PARTITION').", true),
    ("PartitionInactive", "The partition is inactive: it starts no jobs.", "Use another partition, or ask when it comes back.", true),
    ("PartitionNodeLimit", "The job requests more nodes than its partition allows or has up, or fewer than its minimum.",
        "Change the number of nodes, or use another partition ('scontrol show partition').", true),
    ("PartitionTimeLimit", "The job asks for more time than its partition allows.",
        "Lower it with 'scontrol update JobId=JOBID TimeLimit=T', or use another partition.", true),
    ("PartitionConfig", "The job asks for something that its partition does not allow.",
        "Compare the job with 'scontrol show partition'.", true),
    ("MaxMemPerLimit", "The job asks for more memory for each node or CPU than allowed (MaxMemPerNode, MaxMemPerCPU).",
        "Ask for less memory, or for more CPUs or nodes.", true),
    ("AccountNotAllowed", "The partition does not allow the account of the job.",
        "Use another account or partition ('scontrol show partition').", true),
    ("AccountingPolicy", "A limit in accounting keeps the job from starting.",
        "See limits with 'sacctmgr show assoc' and 'sacctmgr show qos'.", true),
    ("QOSNotAllowed", "The partition or account does not allow the QOS of the job.", "Use another QOS ('sacctmgr show assoc').", true),
    ("QOSUsageThreshold", "The fair-share factor is below the UsageThreshold of the QOS.",
        "Wait until usage has decayed ('multifactor2 tree' shows it), or use another QOS.", true),
    ("InvalidAccount", "The account of the job does not exist or its user may not use it any more.",
        "Change it with 'scontrol update JobId=JOBID Account=NAME'.", true),
    ("InvalidQOS", "The QOS of the job does not exist or its user may not use it any more.",
        "Change it with 'scontrol update JobId=JOBID QOS=NAME'.", true),
    ("BadConstraints", "No set of nodes can ever satisfy the job's request.", RESUBMIT, true),
    ("Constraints", "No set of nodes can satisfy the job's request.", RESUBMIT, true),
    ("DeadLine", "The job cannot end before its deadline.", RESUBMIT, true),
    ("NodeDown", "A node that the job ran on went down.", WAIT, true),
    ("SystemFailure", "Something in Slurm or in the machine failed.", ASK, true),
    ("JobLaunchFailure", "The job could not be started on its nodes.",
        "Look at its output file; if it is held, release it with 'scontrol release JOBID'.", true),
    ("NonZeroExitCode", "An earlier run of the job ended with an error.", "Look at its output.", true),
    ("RaisedSignal", "An earlier run of the job was ended by a signal.", "Look at its output.", true),
    ("TimeLimit", "An earlier run of the job used all of its time.", "Ask for more time.", true),
    ("InactiveLimit", "An earlier run of the job was inactive for too long.", "Look at its output.", true),
    ("OutOfMemory", "An earlier run of the job used more memory than it asked for.", "Ask for more memory.", true),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_and_brackets_do_not_matter() {
        for shown in [
            "ReqNodeNotAvail",
            "(ReqNodeNotAvail, UnavailableNodes:n[1-4])",
            "ReqNodeNotAvail(Unavailable:n1)",
        ] {
            assert_eq!(explain(shown).name, "ReqNodeNotAvail");
            assert_eq!(obstacle(shown), Some(Obstacle::Nodes));
        }
        assert_eq!(obstacle("PartitionInactive"), Some(Obstacle::Partition));
        assert_eq!(obstacle("Reservation"), Some(Obstacle::Reservation));
        for other in ["ReservationDeleted", "PartitionNodeLimit", "AssocGrpCpuLimit", "JobHeldUser"] {
            assert_eq!(obstacle(other), Some(Obstacle::Other), "{other}");
        }
        assert_eq!((obstacle("Priority"), obstacle("something new")), (None, None));
    }
}
