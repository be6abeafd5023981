//! The Slurm source trees at hand, and copies of their headers that a test alters.

use std::fs;
use std::path::{Path, PathBuf};

/// Read in every release, and the home of the job record up to 23.11.
pub const SLURMCTLD_HEADER: &str = "src/slurmctld/slurmctld.h";

/// Where the job record is defined, older place first.
pub const JOB_HEADERS: [&str; 2] = [SLURMCTLD_HEADER, "src/common/job_record.h"];

/// The trees at hand; never none.
pub fn trees() -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let named = std::env::var("SLURM_SRC_DIRS").ok().filter(|value| !value.is_empty());
    let places: Vec<PathBuf> = match &named {
        Some(paths) => std::env::split_paths(paths).collect(),
        None => vec![workspace.join("target/slurm-src")],
    };
    let is_tree = |path: &PathBuf| path.join("META").is_file();
    let mut trees = Vec::new();
    for place in &places {
        if is_tree(place) {
            trees.push(place.clone());
        } else if let Ok(entries) = fs::read_dir(place) {
            trees.extend(entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_tree));
        }
    }
    trees.sort();
    assert!(
        !trees.is_empty(),
        "no Slurm source tree in {places:?}. On Debian, from the top directory:\n    \
         slurm-headers/fetch-source.sh target/slurm-src\nElsewhere unpack a Slurm source archive and set \
         SLURM_SRC_DIRS to its directory"
    );
    trees
}

/// A copy of a tree's headers, to be altered.
pub struct Copy {
    pub directory: tempfile::TempDir,
}

impl Copy {
    pub fn of(tree: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::copy(tree.join("META"), directory.path().join("META")).unwrap();
        for part in ["slurm", "src"] {
            copy_headers(&tree.join(part), &directory.path().join(part));
        }
        Self { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn replace(&self, file: &str, from: &str, to: &str) {
        let path = self.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no '{from}' to alter");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
    }

    /// Gives a reason for which jobs wait another name.
    pub fn rename_reason(&self, from: &str, to: &str) {
        let header =
            ["slurm/slurm.h", "slurm/slurm.h.in"].into_iter().find(|path| self.path().join(path).is_file());
        self.replace(header.expect("slurm.h"), &format!("\t{from},"), &format!("\t{to},"));
    }

    /// Replaces within the definition of the job record.
    pub fn replace_in_job(&self, from: &str, to: &str) {
        let (path, text, start) = JOB_HEADERS
            .iter()
            .find_map(|header| {
                let path = self.path().join(header);
                let text = fs::read_to_string(&path).ok()?;
                let start = text.find("struct job_record {")?;
                Some((path, text, start))
            })
            .unwrap_or_else(|| panic!("none of {JOB_HEADERS:?} defines job_record"));
        let at = start + text[start..].find(from).unwrap_or_else(|| panic!("no '{from}' in job_record"));
        fs::write(&path, [&text[..at], to, &text[at + from.len()..]].concat()).unwrap();
    }

    pub fn set_micro(&self, micro: u8) {
        self.set_meta("Micro:", &micro.to_string());
    }

    /// Writes a line of META anew.
    pub fn set_meta(&self, key: &str, value: &str) {
        let path = self.path().join("META");
        let lines = fs::read_to_string(&path).unwrap().lines().fold(String::new(), |text, line| {
            if line.trim_start().starts_with(key) {
                format!("{text}  {key} {value}\n")
            } else {
                format!("{text}{line}\n")
            }
        });
        fs::write(&path, lines).unwrap();
    }
}

pub fn copy_headers(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_headers(&path, &copy);
        } else if path.extension().is_some_and(|extension| extension == "h" || extension == "in") {
            fs::copy(&path, copy).unwrap();
        }
    }
}

/// A micro release number behind any that exists.
pub const FAR_MICRO: u8 = 250;
