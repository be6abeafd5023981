//! What programs read stays: a field of an answer goes away, or changes its type, only with a new version of its schema.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

use multifactor2_command::answers::Question;
use serde_json::Value;

/// Set to a version of ours, it writes the fields of that version.
const WRITE: &str = "MULTIFACTOR2_WRITE_FIELDS";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/command/fields")
}

/// The fields of a schema, as "way: type"; below a definition that is open already it is not gone again.
fn fields(schema: &Value, root: &Value, way: &str, open: &mut Vec<String>, found: &mut BTreeSet<String>) {
    let Some(rules) = schema.as_object() else { return };
    if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap().to_owned();
        if !open.contains(&name) {
            let definition = &root["$defs"][&name];
            open.push(name);
            fields(definition, root, way, open, found);
            open.pop();
        }
    }
    if let Some(kind) = rules.get("type") {
        let kinds = match kind {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => vec![kind.as_str().unwrap()],
        };
        found.extend(kinds.iter().map(|kind| format!("{way}: {kind}")));
    }
    for value in rules
        .get("const")
        .into_iter()
        .chain(rules.get("enum").and_then(Value::as_array).into_iter().flatten())
    {
        found.insert(format!("{way}: {value}"));
    }
    for word in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for part in rules.get(word).and_then(Value::as_array).into_iter().flatten() {
            fields(part, root, way, open, found);
        }
    }
    for (name, part) in rules.get("properties").and_then(Value::as_object).into_iter().flatten() {
        fields(part, root, &format!("{way}.{name}"), open, found);
    }
    for (word, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(part) = rules.get(word) {
            fields(part, root, &format!("{way}{mark}"), open, found);
        }
    }
}

/// Of each answer: its version and its fields.
fn now() -> BTreeMap<String, (u32, BTreeSet<String>)> {
    let of = |schema: &multifactor2_command::output::Schema| {
        let root: Value = serde_json::from_str(&schema.text).unwrap();
        let mut found = BTreeSet::new();
        fields(&root, &root, "", &mut Vec::new(), &mut found);
        (schema.name.to_owned(), (schema.version, found))
    };
    Question::schemas().iter().map(of).collect()
}

fn written(answers: &BTreeMap<String, (u32, BTreeSet<String>)>) -> String {
    let lines = answers.iter().flat_map(|(name, (version, fields))| {
        [format!("{name} {version}\n")].into_iter().chain(fields.iter().map(|field| format!("  {field}\n")))
    });
    lines.collect()
}

fn read(text: &str) -> BTreeMap<String, (u32, BTreeSet<String>)> {
    let mut answers = BTreeMap::<String, (u32, BTreeSet<String>)>::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(field) = line.strip_prefix("  ") {
            answers.get_mut(&name).unwrap().1.insert(field.to_owned());
        } else {
            let (answer, version) = line.split_once(' ').unwrap();
            answer.clone_into(&mut name);
            answers.insert(name.clone(), (version.parse().unwrap(), BTreeSet::new()));
        }
    }
    answers
}

#[test]
fn a_field_goes_away_with_a_new_version_of_the_schema_alone() {
    let now = now();
    if let Ok(version) = env::var(WRITE) {
        fs::write(directory().join(version + ".txt"), written(&now)).unwrap();
    }
    let mut versions = 0;
    for file in fs::read_dir(directory()).unwrap() {
        let path = file.unwrap().path();
        let before = read(&fs::read_to_string(&path).unwrap());
        for (name, (version, fields)) in &before {
            let (is, has) = now.get(name).unwrap_or_else(|| panic!("{}: {name} is gone", path.display()));
            assert!(is >= version, "{name}");
            let gone: Vec<&String> =
                if is == version { fields.difference(has).collect() } else { Vec::new() };
            assert!(
                gone.is_empty(),
                "{}: {name} {version} had {gone:#?}: give its answer another VERSION",
                path.display()
            );
        }
        versions += 1;
    }
    assert!(versions > 0);
    assert_eq!(read(&written(&now)), now);
}
