//! Schemas of what `--json` prints.

use schemars::JsonSchema;

/// A JSON Schema with the name of its answer.
#[derive(Clone, Debug)]
pub struct Schema {
    /// What the answer is called.
    pub name: &'static str,
    /// The schema.
    pub text: String,
}

impl Schema {
    /// Of a value that `--json` prints.
    pub fn of<D: JsonSchema>(name: &'static str) -> Self {
        let schema = schemars::schema_for!(D);
        Self { name, text: serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n" }
    }
}
