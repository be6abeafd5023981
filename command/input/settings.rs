//! Finds our own settings, which no command of Slurm shows: from `--conf`, else from `PriorityParameters`, else unknown.

use std::path::Path;

use multifactor2_core::settings::{Settings, PARAMETERS};
use multifactor2_snapshot::records::Setting;
use multifactor2_snapshot::Snapshot;

use super::Problem;

/// The value of `PriorityParameters`; empty for none.
pub fn parameters(snapshot: &Snapshot) -> &str {
    snapshot.parameter(PARAMETERS).filter(|text| *text != "(null)").unwrap_or_default()
}

/// The settings in force, as far as they can be known; `parameters` is the value of `PriorityParameters`.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn settings(conf: Option<&Path>, parameters: &str) -> Result<Option<Vec<Setting>>, Problem> {
    let parameters = Some(parameters.trim()).filter(|parameters| !parameters.is_empty());
    let loaded = match (conf, parameters) {
        (Some(file), parameters) => {
            std::fs::metadata(file).map_err(|error| Problem::of_file(file, &error))?;
            Settings::load(parameters, file).map_err(|errors| {
                Problem::new(
                    errors.to_string(),
                    format!("correct {} (see 'multifactor2 check')", file.display()),
                )
            })?
        }
        // slurmctld has taken them; a version of the plugin that knows others may run there.
        (None, Some(parameters)) => match Settings::load(Some(parameters), Path::new("")) {
            Ok(loaded) => loaded,
            Err(_) => return Ok(None),
        },
        (None, None) => return Ok(None),
    };
    Ok(Some(loaded.written.lines().filter_map(setting).collect()))
}

/// A line of settings as they were written, with its place in a comment.
fn setting(line: &str) -> Option<Setting> {
    let (line, from) = line.rsplit_once(" # ").unwrap_or((line, ""));
    let line = line.trim();
    let is_setting = !line.is_empty() && !line.starts_with('#');
    is_setting.then(|| Setting { line: line.to_owned(), from: from.trim().to_owned() })
}
