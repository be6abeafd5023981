//! docs/coming-from.md: each line of the command on the page is run as it stands there, on a host with a Slurm of recorded answers. `tests/core` and
//! `tests/daemons` have the others.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use multifactor2_fixtures::coming_from::{lines, Whose};

use crate::live::Site;

/// What each line has to print, or the file that it has to write.
const LINES: &[(&str, &str)] = &[
    ("multifactor2 why 7 --long", "FAIRSHARE"),
    ("multifactor2 why 7", "Priority"),
    ("multifactor2 queue", "in the order in which the scheduler considers them"),
    ("multifactor2 queue -o position,job,user,account,priority,start", "Start"),
    ("multifactor2 queue -j 7", "Start"),
    ("multifactor2 queue -o job,user,addends,priority", "PartitionAddend"),
    ("multifactor2 queue -o job,user,tickets", "Tickets"),
    ("multifactor2 tree", "LevelFS"),
    ("multifactor2 tree --waits --since now-30days", "AvgXF"),
    ("multifactor2 tree --html tree.html", "tree.html"),
    ("multifactor2 settings", "PriorityWeightFairShare"),
    ("multifactor2 what-if --weight fairshare=5000", "PriorityWeightFairShare is 5000"),
    ("multifactor2 check multifactor2.conf", "multifactor2.conf"),
    ("multifactor2 sync tree.csv", "sacctmgr"),
    ("multifactor2 tree --windows", "The settings have no targets."),
    ("multifactor2 tree --targets", "The settings have no targets."),
];

/// A Slurm whose accounting has a job.
fn site() -> Site {
    let site = Site::new();
    let columns =
        "JobIDRaw,AssocID,Eligible,Start,End,ElapsedRaw,CPUTimeRAW,TimelimitRaw,User,Account,AllocTRES";
    site.write("sacct", &format!("#!/bin/sh\nfor word; do case $word in --delimiter=*) d=${{word#--delimiter=}};; esac; done\necho {columns} | sed \"s/,/$d/g\"\n"));
    fs::set_permissions(site.path("sacct"), fs::Permissions::from_mode(0o755)).unwrap();
    site.write("tree.csv", crate::options::TREE);
    site
}

#[test]
fn every_line_of_the_command_is_answered() {
    let on_page = lines(Whose::Command);
    for line in &on_page {
        let known = LINES.iter().any(|(known, _)| known == line);
        assert!(known, "no test knows what '{line}' prints");
    }
    let site = site();
    // The number of a job that waits there.
    let ask = |line: &str| {
        let words = line.split(' ').skip(1).map(|word| if word == "7" { "6" } else { word });
        site.said(site.command().current_dir(site.path("")).args(words))
    };
    for (line, due) in LINES {
        assert!(on_page.iter().any(|found| found == line), "the page has no '{line}'");
        let said = ask(line);
        if *due == "tree.html" {
            assert!(said.out.is_empty() && said.err.is_empty(), "{line}: {}{}", said.out, said.err);
            assert!(fs::read_to_string(site.path(due)).unwrap().contains("<html"), "{line}");
            continue;
        }
        assert!(said.err.is_empty() && said.out.contains(due), "{line}: {}{}", said.out, said.err);
    }
}
