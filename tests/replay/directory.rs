//! A directory with the outputs of sacct, sacctmgr and scontrol.

use std::fs;

use multifactor2_core::USE_PARENT;
use multifactor2_replay::trace::problems::Problems;
use multifactor2_replay::trace::{self, directory};
use multifactor2_replay::Workload;

const SACCT: &str = "JobIDRaw|User|Account|Partition|QOS|Submit|Eligible|Start|End|Timelimit|ReqTRES|AllocTRES|State|Priority\n\
     1|anna|bio|main|high|1706702400|1706702400|1706702500|1706702600|60|cpu=2|cpu=2|COMPLETED|1\n\
     2|bert|chem|main|normal|1706702400|1706702400|1706702500|1706702600|60|cpu=2|cpu=2|COMPLETED|1\n\
     3|dora|new|main|normal|1706702400|1706702400|1706702500|1706702600|60|cpu=2|cpu=2|COMPLETED|1\n";
const TABLE: &str = "Cluster|Account|User|Partition|Share|ParentName\nc|root|||1|\nc|root|root||1|\nc|science|||60|root\nc|bio|||20|science\nc|bio|anna||1|\nc|chem|||parent|science\nc|chem|bert||7|\n";
const DUMP: &str = "# To edit this file start with a cluster line for the new cluster\nCluster - 'c':Fairshare=1:QOS='normal'\nParent - 'root'\nUser - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1\nAccount - 'science':Description='s':Organization='s':Fairshare=60\nParent - 'science'\nAccount - 'bio':Fairshare=20\nAccount - 'chem':Fairshare=parent\nParent - 'bio'\nUser - 'anna':DefaultAccount='bio':Fairshare=1\nParent - 'chem'\nUser - 'bert':DefaultAccount='chem':Fairshare=7\n";

fn read(files: &[(&str, &str)]) -> Workload {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    trace::read(directory.path()).unwrap_or_else(|error| panic!("{error}"))
}

/// Name, parent's name, shares of every association.
fn tree(workload: &Workload) -> Vec<(String, String, u32)> {
    let all = 0..u32::try_from(workload.associations.len()).unwrap();
    let mut rows: Vec<_> = all
        .map(|place| {
            let of = workload.associations[place as usize];
            let parent = of.parent.map_or(String::new(), |parent| workload.association_name(parent));
            (workload.association_name(place), parent, of.shares)
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn shares_in_either_format() {
    let (table, dump) = (
        read(&[("sacct.txt", SACCT), ("associations.txt", TABLE)]),
        read(&[("sacct.txt", SACCT), ("sacctmgr-dump.txt", DUMP)]),
    );
    let expected = [
        ("bio", "science", 20),
        ("bio/anna", "bio", 1),
        ("chem", "science", USE_PARENT),
        ("chem/bert", "chem", 7),
        // Not listed.
        ("new", "root", 1),
        ("new/dora", "new", 1),
        ("root", "", 1),
        ("root/root", "root", 1),
        ("science", "root", 60),
    ];
    let expected = expected.map(|(name, parent, shares)| (name.to_owned(), parent.to_owned(), shares));
    assert_eq!(tree(&table), expected);
    assert_eq!(tree(&dump), expected);
    let names: Vec<String> = table.jobs.iter().map(|job| table.association_name(job.association)).collect();
    assert_eq!(names, ["bio/anna", "chem/bert", "new/dora"]);
    assert!(table
        .problems
        .to_string()
        .contains("associations of jobs that are missing from the list of associations"));
}

/// Shares may come later, as with `--shares`: every job stays with its user and account.
#[test]
fn shares_that_come_later() {
    let mut workload = read(&[("sacct.txt", SACCT)]);
    let names = |workload: &Workload| -> Vec<String> {
        workload.jobs.iter().map(|job| workload.association_name(job.association)).collect()
    };
    let (before, has_none) = (names(&workload), |workload: &Workload| {
        workload.missing.iter().any(|missing| missing.what == "shares")
    });
    assert!(has_none(&workload));
    let listed = trace::associations::parse(TABLE, "associations.txt", &mut Problems::default()).unwrap();
    workload.set_associations(listed);
    assert!(!has_none(&workload));
    assert_eq!(names(&workload), before);
    assert_eq!(tree(&workload), tree(&read(&[("sacct.txt", SACCT), ("associations.txt", TABLE)])));
}

#[test]
fn all_files_of_a_site() {
    let workload = read(&[
        ("sacct.txt", SACCT),
        ("associations.txt", TABLE),
        ("qos.txt", "Name|Priority|UsageFactor\nnormal|0|1.000000\nhigh|100|2.000000\n"),
        ("config.txt", "PriorityWeightFairShare = 1000\nSchedulerParameters = bf_window=10\n"),
        ("partitions.txt", "PartitionName=main\n Nodes=n1 MaxTime=01:00:00 TotalCPUs=8 TotalNodes=1\n"),
        ("nodes.txt", "NodeName=n1 CPUTot=8 Partitions=main\n"),
    ]);
    assert_eq!(workload.machine.as_ref().unwrap().cpus(), 8);
    let of_first = &workload.qos[usize::from(workload.jobs[0].qos)];
    assert_eq!((of_first.name.as_str(), of_first.priority), ("high", 100));
    assert_eq!(workload.config.number("PriorityWeightFairShare"), Some(1000));
    // Only what the site did not collect.
    let missing: Vec<&str> = workload.missing.iter().map(|missing| missing.what.as_str()).collect();
    assert_eq!(missing, ["the column JobID", "the column Reason", "the column Flags"]);
}

#[test]
fn a_parameter_that_cannot_be_read_is_told() {
    let workload = read(&[
        ("sacct.txt", SACCT),
        (
            "config.txt",
            "PriorityWeightFairShare = 1000\nPriorityMaxAge = a week\nPriorityWeightTRES = cpu=many\n",
        ),
    ]);
    let told = workload.missing.iter().filter(|missing| missing.what == "slurm.conf");
    let told: Vec<&str> = told.map(|missing| missing.so.as_str()).collect();
    assert_eq!(
        told,
        [
            "PriorityWeightTRES=cpu=many cannot be read: it counts as if it were not set.",
            "PriorityMaxAge=a week cannot be read: it counts as if it were not set."
        ]
    );
}

#[test]
fn what_is_not_there_is_told() {
    let workload = read(&[("sacct.txt", SACCT)]);
    let missing: Vec<&str> = workload.missing.iter().map(|missing| missing.what.as_str()).collect();
    for what in ["qos.txt", "config.txt", "partitions.txt", "shares"] {
        assert!(missing.contains(&what), "{what} is not in {missing:?}");
    }
    let empty = tempfile::tempdir().unwrap();
    let error = trace::read(empty.path()).unwrap_err().to_string();
    assert!(error.contains("neither sacct.txt nor"), "{error}");
}

#[test]
fn how_names_every_file_and_column() {
    let how = trace::how();
    for file in directory::FILES {
        assert!(how.contains(file.name) && how.contains(file.command), "{}", file.name);
    }
    let asked = trace::SACCT.split_once(" -o ").unwrap().1;
    for column in asked.split(',') {
        assert!(trace::COLUMNS.iter().any(|(name, _)| *name == column), "{column}");
    }
}
