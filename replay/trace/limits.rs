//! Reads limits on running jobs: columns of `sacctmgr -P show qos`, and of `sacctmgr -P show assoc`.

use slurm_text::lines::excerpt;
use slurm_text::tres;

use super::associations::cell;
use super::problems::{ProblemKind, Problems};
use crate::workload::{Limit, ListedLimits, QosLimits};

/// Of a QOS, by the names of its columns.
pub(super) fn of_qos<'t>(cell: impl Fn(&str) -> &'t str) -> QosLimits {
    let has_flag =
        |wanted: &str| cell("Flags").split(',').any(|flag| flag.trim().eq_ignore_ascii_case(wanted));
    QosLimits {
        all: limit(cell("GrpJobs"), cell("GrpTRES")),
        per_user: limit(cell("MaxJobsPU"), cell("MaxTRESPU")),
        per_account: limit(cell("MaxJobsPA"), cell("MaxTRESPA")),
        over_partition: has_flag("OverPartQOS"),
        factor: cell("LimitFactor").parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0),
        is_relative: has_flag("Relative"),
    }
}

/// Of associations. Rows without limits are left out.
pub fn associations(text: &str, file: &str, problems: &mut Problems) -> Vec<ListedLimits> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else { return Vec::new() };
    let names: Vec<&str> = header.split('|').map(str::trim).collect();
    let mut listed = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let cell = |wanted: &str| cell(&names, &cells, wanted);
        if cell("Account").is_empty() {
            problems.note(ProblemKind::BadLine, file, number, || format!("no account: {:?}", excerpt(line)));
            continue;
        }
        let limits = ListedLimits {
            account: cell("Account").to_owned(),
            user: cell("User").to_owned(),
            partition: cell("Partition").to_owned(),
            all: limit(cell("GrpJobs"), cell("GrpTRES")),
            max_jobs: cell("MaxJobs").parse().ok(),
        };
        if !limits.all.is_none() || limits.max_jobs.is_some() {
            listed.push(limits);
        }
    }
    listed
}

fn limit(jobs: &str, list: &str) -> Limit {
    let tres = tres::list(list).into_iter().map(|(name, most)| (name.to_ascii_lowercase(), most)).collect();
    Limit { jobs: jobs.parse().ok(), tres }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_by_the_names_of_their_columns() {
        let text = "Cluster|Account|User|Partition|GrpJobs|GrpTRES|MaxJobs|MaxTRES\nc|root||||||\n\
             c|physics|||5|cpu=10,mem=2G,gres/gpu:a100=1|7|cpu=4\nc|physics|ada||||3|\nc||ada||||3|\n";
        let mut problems = Problems::default();
        let listed = associations(text, "limits.txt", &mut problems);
        let tres =
            [("cpu", 10), ("mem", 2048), ("gres/gpu:a100", 1)].map(|(name, most)| (name.to_owned(), most));
        let physics = ListedLimits {
            account: "physics".to_owned(),
            all: Limit { jobs: Some(5), tres: tres.to_vec() },
            max_jobs: Some(7),
            ..ListedLimits::default()
        };
        let ada = ListedLimits { user: "ada".to_owned(), max_jobs: Some(3), ..physics.clone() };
        assert_eq!(listed, [physics, ListedLimits { all: Limit::default(), ..ada }]);
        assert_eq!(problems.iter().count(), 1);
    }
}
