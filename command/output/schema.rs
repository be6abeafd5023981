//! Schemas of what `--json` prints.

use schemars::JsonSchema;

/// A JSON Schema with the name of its answer.
#[derive(Clone, Debug)]
pub struct Schema {
    /// What the answer is called.
    pub name: &'static str,
    /// Its version, which is in the answer, too.
    pub version: u32,
    /// The schema.
    pub text: String,
}

impl Schema {
    /// Of a value that `--json` prints.
    pub fn of<D: JsonSchema>(name: &'static str, version: u32) -> Self {
        let schema = schemars::schema_for!(D);
        Self { name, version, text: serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n" }
    }
}
