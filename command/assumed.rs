//! Infers settings of multifactor2 that nobody gave.
//!
//! No command of Slurm shows them, but their effect shows: the fair-share factor of every user and job. If a set of settings reproduces all
//! these factors, it is used, and a sentence says so. Otherwise nothing is assumed.

use std::path::Path;

use multifactor2_core::settings::PARAMETERS;
use multifactor2_snapshot::records::Setting;
use multifactor2_snapshot::Snapshot;

use crate::algorithm::Algorithm;
use crate::input::{self, settings};
use crate::model::{Model, Options};

/// How far a factor may be from the one that sshare shows: usage goes on between its answer and sprio's.
const NEAR: f64 = 1e-4;

/// Finds settings that give what Slurm shows, for a snapshot of Slurm's commands: those of a file of this host, else those of
/// `PriorityParameters` with defaults for the rest. Says what was found.
pub fn find(snapshot: &mut Snapshot, file: Option<&Path>) {
    // The plugin itself has told them.
    if Algorithm::of(snapshot) != Algorithm::Multifactor2 || !snapshot.about.plugin.is_empty() {
        return;
    }
    let parameters = input::parameters(snapshot).trim().to_owned();
    let mut candidates: Vec<(String, Vec<Setting>)> = Vec::new();
    if let Some(file) = file.filter(|file| file.is_file()) {
        if let Ok(Some(lines)) = settings(Some(file), &parameters) {
            candidates.push((format!("Those of {} on this host", file.display()), lines));
        }
    }
    if parameters.is_empty() {
        candidates.push(("The defaults".to_owned(), Vec::new()));
    } else if let Ok(Some(lines)) = settings(None, &parameters) {
        candidates.push((format!("Those of {PARAMETERS}"), lines));
    }
    let known = snapshot.settings.take();
    for (name, lines) in candidates {
        snapshot.settings = Some(lines);
        if give_what_is_shown(snapshot) {
            snapshot.about.hidden.push(format!(
                "No command shows the settings of multifactor2. {name} give every FairShare that Slurm shows now, so answers use them. To be \
                 certain, give multifactor2.conf with --conf, or a snapshot of the plugin with --from."
            ));
            return;
        }
    }
    if known.is_some() {
        snapshot.about.hidden.push(format!(
            "Settings are those of {PARAMETERS}: multifactor2.conf on the controller may have others, and no command shows them (give it \
             with --conf, or a snapshot of the plugin with --from)."
        ));
    }
    snapshot.settings = known;
}

/// Whether all factors that Slurm shows are those that the settings of the snapshot give, and at least one of them could be another.
fn give_what_is_shown(snapshot: &Snapshot) -> bool {
    let model = Model::of(snapshot, Options::default());
    if !model.shares.is_computed() {
        return false;
    }
    let mut tells = false;
    for (association, standing) in snapshot.associations.iter().zip(&model.standings) {
        let Some(shown) = association.factor else { continue };
        if standing.factor.is_none_or(|computed| (computed - shown).abs() > NEAR) {
            return false;
        }
        tells |= shown > NEAR && shown < 1.0 - NEAR;
    }
    // Points are in SITE, as a plugin's site factor is.
    let has_site = snapshot.parameter("PrioritySiteFactorPlugin").is_some_and(|name| !name.is_empty());
    let is_as_shown = |at: usize| {
        let differs = model.differences(at).iter().any(|difference| difference.what == "FAIRSHARE");
        !differs && (has_site || snapshot.jobs[at].site == 0)
    };
    tells && (0..snapshot.jobs.len()).all(is_as_shown)
}
