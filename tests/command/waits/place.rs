//! A host with a tree, a slurmdbd and a sacct that prints what a test gives it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use multifactor2_snapshot::records::Association;
use serde_json::Value;

use crate::live::{Said, Site};
use crate::outputs::{conforms, schema};

/// Prints all jobs whatever the time is, as no border of months may count one twice. What the users' environment says is kept.
pub const SACCT: &str = r#"#!/bin/sh
echo "sacct $*" >> "$SITE/calls"
env > "$SITE/environment"
for word in "$@"; do case $word in --delimiter=*) d=${word#--delimiter=};; esac; done
case "$*" in
*"-o JobIDRaw,AssocID,Eligible,Start,End,ElapsedRaw,CPUTimeRAW,TimelimitRaw,User,Account,AllocTRES") ;;
*) echo "sacct: other columns: $*" >&2; exit 1;;
esac
[ ! -f "$SITE/silent" ] || exit 0
printf 'JobIDRaw\036AssocID\036Eligible\036Start\036End\036ElapsedRaw\036CPUTimeRAW\036TimelimitRaw\036User\036Account\036AllocTRES\n' |
cat - "$SITE/jobs" | sed "s/\x1e/$d/g"
[ ! -f "$SITE/fails" ] || { echo "sacct: error: slurmdbd went away" >&2; exit 1; }
"#;

/// What sacctmgr says of slurmdbd and of who asks.
const SACCTMGR: &str = r#"#!/bin/sh
case "$*" in
"show config") cat "$SITE/slurmdbd" 2>/dev/null || { echo "sacctmgr: error: no slurmdbd" >&2; exit 1; };;
*AdminLevel,Coordinators) cat "$SITE/level" 2>/dev/null || exit 1;;
*) exit 1;;
esac
"#;

pub fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

/// A record of sacct.
#[derive(Clone, Debug)]
pub struct Job {
    pub association: u32,
    pub user: String,
    pub account: String,
    pub eligible: i64,
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub run: i64,
    pub cpus: i64,
    /// Minutes, or a word.
    pub limit: String,
    pub allocated: bool,
}

impl Job {
    pub fn cells(&self, id: usize) -> Vec<String> {
        let time = |at: Option<i64>| at.map_or_else(|| "Unknown".to_owned(), |at| at.to_string());
        vec![
            id.to_string(),
            self.association.to_string(),
            self.eligible.to_string(),
            time(self.start),
            time(self.end),
            self.run.to_string(),
            (self.run * self.cpus).to_string(),
            self.limit.clone(),
            self.user.clone(),
            self.account.clone(),
            if self.allocated { format!("cpu={}", self.cpus) } else { String::new() },
        ]
    }

    pub fn has_finished(&self, since: i64) -> bool {
        self.start.is_some() && self.allocated && self.end.is_some_and(|end| end >= since)
    }
}

/// A host with a tree, jobs and a slurmdbd.
pub struct WaitsHost {
    pub site: Site,
    pub tree: Vec<Association>,
}

impl WaitsHost {
    pub fn new(tree: Vec<Association>) -> Self {
        let site = Site::new();
        for (name, script) in [("sacct", SACCT), ("sacctmgr", SACCTMGR)] {
            site.write(name, script);
            fs::set_permissions(site.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        site.write("slurmdbd", "PrivateData = jobs\n\nSlurmDBD configuration:\nPrivateData            = none\nPurgeJobAfter = NONE\nStorageType = accounting_storage/mysql\n");
        let place = Self { site, tree };
        place.save(false);
        place.jobs(&[]);
        place
    }

    pub fn save(&self, partial_tree: bool) {
        self.site.save(5, |snapshot| {
            snapshot.associations.clone_from(&self.tree);
            snapshot.about.partial_tree = partial_tree;
            snapshot.jobs.clear();
            snapshot.running.clear();
            snapshot.entries.clear();
        });
    }

    pub fn jobs(&self, jobs: &[Job]) {
        let lines = (1..).zip(jobs).map(|(id, job)| job.cells(id).join("\u{1e}") + "\n");
        self.site.write("jobs", &lines.collect::<String>());
    }

    pub fn ask(&self, since: i64, more: &str) -> Said {
        self.site.ask(format!("tree --waits --since {since} {more}").trim_end())
    }

    pub fn answer(&self, since: i64, more: &str) -> Value {
        let said = self.ask(since, format!("--json {more}").trim_end());
        let answer: Value = serde_json::from_str(&said.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", said.out, said.err));
        let schema = schema("waits");
        conforms(&answer, &schema, &schema, "waits").unwrap();
        assert_eq!(answer["schema"], "multifactor2/waits");
        answer["answer"].clone()
    }

    /// The ids of an association and of all above it.
    pub fn path(&self, id: u32) -> Vec<u32> {
        let mut path = vec![id];
        while let Some(above) =
            self.tree.iter().find(|row| row.id == *path.last().unwrap() && row.parent != 0)
        {
            path.push(above.parent);
        }
        path
    }
}

pub fn association(id: u32, parent: u32, account: &str, user: &str) -> Association {
    Association {
        id,
        parent,
        account: account.to_owned(),
        user: user.to_owned(),
        shares: 1,
        ..Association::default()
    }
}

/// Root, a and b below it, c below a; users u in a, v in c, v in b for a partition and for all.
pub fn small() -> Vec<Association> {
    let mut tree = vec![
        association(1, 0, "root", ""),
        association(2, 1, "a", ""),
        association(3, 2, "a", "u"),
        association(4, 2, "c", ""),
        association(5, 4, "c", "v"),
        association(6, 1, "b", ""),
        association(7, 6, "b", "v"),
        association(8, 6, "b", "v"),
    ];
    "gpu".clone_into(&mut tree[6].partition);
    tree
}

/// A job of an association of the small tree, or of names, that waited and ran so many seconds, a day ago.
pub fn job(association: u32, user: &str, account: &str, wait: i64, run: i64) -> Job {
    let start = now() - 86_400;
    Job {
        association,
        user: user.to_owned(),
        account: account.to_owned(),
        eligible: start - wait,
        start: Some(start),
        end: Some(start + run),
        run,
        cpus: 2,
        limit: "60".to_owned(),
        allocated: true,
    }
}
