//! Reasons that are limits of associations and QOS. Slurm builds their names from whose limit it is, over what, of what, and how that is
//! counted, so one reader understands all of them.

/// The word of a reason, without details and brackets.
pub fn word(shown: &str) -> &str {
    let shown = shown.trim().trim_matches(['(', ')']);
    shown.split([',', ' ', '(', ':']).next().unwrap_or(shown)
}

/// What a limit means, and what to do; `None` where a word is no limit's.
pub fn explain(name: &str) -> Option<(String, String)> {
    let (owner, rest) = owner(name)?;
    let whose = match owner {
        Owner::Association => "the association of the job (its user, or an account above)",
        Owner::Qos => "the QOS of the job or of its partition",
    };
    let rest = rest.strip_suffix("Limit").unwrap_or(rest);
    let (scope, rest) = scope(rest);
    let (counted, what) = counted(rest);
    let what = resource(what)?;
    let of_all = match scope {
        Scope::All => " for all its running jobs together",
        Scope::Least => {
            let sentence = format!("The job asks for less of {what} than {whose} demands.");
            return Some((sentence, format!("Ask for more. {}", see(owner))));
        }
        Scope::Most => match counted {
            Counted::PerJob | Counted::Minutes => " for one job",
            Counted::PerNode => " for one node of a job",
            Counted::PerUser | Counted::RunMinutesPerUser => " for one user's jobs",
            Counted::PerAccount | Counted::RunMinutesPerAccount => " for one account's jobs",
            Counted::Plain | Counted::RunMinutes => "",
        },
    };
    let over = match counted {
        Counted::Minutes => format!("the product of {what} and minutes"),
        Counted::RunMinutes | Counted::RunMinutesPerUser | Counted::RunMinutesPerAccount => {
            format!("the product of {what} and the minutes that running jobs may still take")
        }
        _ => what.to_owned(),
    };
    let sentence = format!("A limit of {whose} on {over}{of_all} would be exceeded.");
    let is_of_job = matches!(counted, Counted::PerJob | Counted::PerNode);
    let remedy = match (scope, counted) {
        (Scope::Most, _) if is_of_job => {
            format!("Ask for less: as it is, the job never starts. {}", see(owner))
        }
        (_, Counted::Minutes) => {
            format!("It is used up until usage decays, is reset, or the limit is raised; a shorter job may fit. {}", see(owner))
        }
        _ => format!("It starts when other jobs under the same limit have ended. {}", see(owner)),
    };
    Some((sentence, remedy))
}

/// Whose part of a QOS a limit is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// All together.
    All,
    /// Each user.
    User,
    /// Each account.
    Account,
}

/// The field of `scontrol show assoc_mgr` that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// It is one of the QOS of the job or its partition, not of its association.
    pub is_of_qos: bool,
    /// Whose part it is on.
    pub per: Per,
    name: &'static str,
    /// How the names of its TRES begin; `None` for a field without TRES.
    tres: Option<&'static str>,
}

impl Field {
    /// Whether a limit such as `MaxJobs` or `GrpTRES=cpu` is meant.
    pub fn has(&self, key: &str) -> bool {
        match (self.tres, key.split_once('=')) {
            (None, None) => key == self.name,
            (Some(begins), Some((name, tres))) => {
                let is_kind = begins.is_empty() || begins.ends_with('/');
                name == self.name && if is_kind { tres.starts_with(begins) } else { tres == begins }
            }
            _ => false,
        }
    }
}

/// The field that a reason means, where it is a limit.
pub fn field(reason: &str) -> Option<Field> {
    let (owner, rest) = owner(word(reason))?;
    let rest = rest.strip_suffix("Limit").unwrap_or(rest);
    let (scope, rest) = scope(rest);
    let (counted, what) = counted(rest);
    resource(what)?;
    let tres = match what {
        "Cpu" | "CPU" => Some("cpu"),
        "Mem" | "Memory" => Some("mem"),
        "Node" => Some("node"),
        "Billing" => Some("billing"),
        "Energy" => Some("energy"),
        "GRES" => Some("gres/"),
        "License" => Some("license/"),
        "BB" => Some("bb/"),
        "Unknown" | "Resource" => Some(""),
        _ => None,
    };
    let per = match counted {
        Counted::PerUser | Counted::RunMinutesPerUser => Per::User,
        Counted::PerAccount | Counted::RunMinutesPerAccount => Per::Account,
        _ => Per::All,
    };
    let name = match (scope, counted, what) {
        (Scope::Least, ..) => "MinTRESPJ",
        (Scope::All, _, "Job" | "Jobs") => "GrpJobs",
        (Scope::All, _, "SubmitJob" | "SubmitJobs") => "GrpSubmitJobs",
        (Scope::All, _, "Wall" | "WallDuration" | "Time") => "GrpWall",
        (Scope::All, Counted::Minutes, _) => "GrpTRESMins",
        (Scope::All, Counted::RunMinutes, _) => "GrpTRESRunMins",
        (Scope::All, ..) => "GrpTRES",
        (Scope::Most, Counted::PerUser, "Job" | "Jobs") => "MaxJobsPU",
        (Scope::Most, Counted::PerAccount, "Job" | "Jobs") => "MaxJobsPA",
        (Scope::Most, _, "Job" | "Jobs") => "MaxJobs",
        (Scope::Most, Counted::PerUser, "SubmitJob" | "SubmitJobs") => "MaxSubmitJobsPU",
        (Scope::Most, Counted::PerAccount, "SubmitJob" | "SubmitJobs") => "MaxSubmitJobsPA",
        (Scope::Most, _, "SubmitJob" | "SubmitJobs") => "MaxSubmitJobs",
        (Scope::Most, _, "Wall" | "WallDuration" | "Time") => "MaxWallPJ",
        (Scope::Most, Counted::PerNode, _) => "MaxTRESPN",
        (Scope::Most, Counted::PerUser, _) => "MaxTRESPU",
        (Scope::Most, Counted::PerAccount, _) => "MaxTRESPA",
        (Scope::Most, Counted::RunMinutesPerUser, _) => "MaxTRESRunMinsPU",
        (Scope::Most, Counted::RunMinutesPerAccount, _) => "MaxTRESRunMinsPA",
        (Scope::Most, Counted::Minutes | Counted::RunMinutes, _) => "MaxTRESMinsPJ",
        (Scope::Most, Counted::PerJob | Counted::Plain, _) => "MaxTRESPJ",
    };
    Some(Field { is_of_qos: owner == Owner::Qos, per, name, tres })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Association,
    Qos,
}

fn see(owner: Owner) -> &'static str {
    match owner {
        Owner::Association => "See it with 'scontrol show assoc_mgr' or 'sacctmgr show assoc tree'.",
        Owner::Qos => "See it with 'sacctmgr show qos'.",
    }
}

fn owner(name: &str) -> Option<(Owner, &str)> {
    let of = |prefix, owner| name.strip_prefix(prefix).map(|rest| (owner, rest));
    of("Association", Owner::Association)
        .or_else(|| of("Assoc", Owner::Association))
        .or_else(|| of("QOS", Owner::Qos))
        // Those by account and user have no owner in their names.
        .or_else(|| {
            let is_qos =
                name.starts_with("Max") && (name.ends_with("PerAccount") || name.ends_with("PerUser"));
            is_qos.then_some((Owner::Qos, name))
        })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    Most,
    Least,
}

fn scope(name: &str) -> (Scope, &str) {
    let of = |prefix, scope| name.strip_prefix(prefix).map(|rest| (scope, rest));
    let found = of("Grp", Scope::All).or_else(|| of("Max", Scope::Most)).or_else(|| of("Min", Scope::Least));
    found.unwrap_or((Scope::Most, name))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Plain,
    Minutes,
    RunMinutes,
    PerJob,
    PerNode,
    PerUser,
    PerAccount,
    RunMinutesPerUser,
    RunMinutesPerAccount,
}

fn counted(name: &str) -> (Counted, &str) {
    const ENDINGS: &[(&str, Counted)] = &[
        ("RunMinsPerAccount", Counted::RunMinutesPerAccount),
        ("RunMinsPerUser", Counted::RunMinutesPerUser),
        ("MinutesPerJob", Counted::Minutes),
        ("RunMinutes", Counted::RunMinutes),
        ("Minutes", Counted::Minutes),
        ("PerJob", Counted::PerJob),
        ("PerNode", Counted::PerNode),
        ("PerUser", Counted::PerUser),
        ("PerAccount", Counted::PerAccount),
        ("NotSatisfied", Counted::Plain),
    ];
    let found = ENDINGS.iter().find_map(|(ending, counted)| Some((*counted, name.strip_suffix(ending)?)));
    found.unwrap_or((Counted::Plain, name))
}

fn resource(name: &str) -> Option<&'static str> {
    Some(match name {
        "Cpu" | "CPU" => "CPUs",
        "Mem" | "Memory" => "memory",
        "Node" => "nodes",
        "GRES" => "generic resources such as GPUs",
        "License" => "licences",
        "BB" => "burst buffer",
        "Billing" => "billing",
        "Energy" => "energy",
        "Unknown" => "some TRES",
        "Resource" => "resources",
        "Job" | "Jobs" => "the number of jobs that run at one time",
        "SubmitJob" | "SubmitJobs" => "the number of submitted jobs",
        "Wall" | "WallDuration" | "Time" => "run time",
        _ => return None,
    })
}
