//! Rust source for the plugin: one struct per record, one constant per group.
//!
//! The generated text expects `Field<T>`, `LongDouble`, `Ptr`, `StepId` and `Group` in scope
//! (`src/host/layout.rs` defines them).

use std::fmt::Write as _;

use crate::table::{Field, Kind, Record, Table};

/// The structs `Layout`, `JobLayout`, … and `LAYOUTS`, the groups oldest first.
pub fn rust_source(table: &Table) -> String {
    let mut text = String::from("// Generated from slurm-headers/layouts.tsv by build.rs.\n");
    for record in &table.records {
        let _ = writeln!(
            text,
            "/// Offsets within Slurm's `{}`.\n#[derive(Debug)]\npub struct {} {{",
            record.c_types[0],
            type_name(record)
        );
        for field in &record.fields {
            let _ = writeln!(
                text,
                "    /// `{}`\n    pub {}: {},",
                field.c_names.join("` or `"),
                field.rust_name(),
                field_type(field)
            );
        }
        text.push_str("}\n");
    }
    text.push_str("/// Where the fields of Slurm's records are in one group of releases.\n");
    text.push_str("#[derive(Debug)]\npub struct Layout {\n    /// The releases.\n    pub group: Group,\n");
    for record in &table.records {
        let _ = writeln!(
            text,
            "    /// `{}`\n    pub {}: {},",
            record.c_types[0],
            record.name,
            type_name(record)
        );
    }
    text.push_str("}\n/// Every known layout, oldest first.\npub static LAYOUTS: &[Layout] = &[\n");
    for (at, group) in table.groups.iter().enumerate() {
        let _ = writeln!(
            text,
            "    Layout {{\n        group: Group {{ first: {:#x}, verified: {:#x} }},",
            group.first.number(),
            group.verified.number()
        );
        for record in &table.records {
            let _ = writeln!(text, "        {}: {} {{", record.name, type_name(record));
            for field in &record.fields {
                let _ = writeln!(text, "            {}: {},", field.rust_name(), value(field, at));
            }
            text.push_str("        },\n");
        }
        text.push_str("    },\n");
    }
    text.push_str("];\n");
    text
}

fn type_name(record: &Record) -> String {
    let camel: String = record.name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    format!("{camel}Layout")
}

fn field_type(field: &Field) -> String {
    let plain = match field.kind {
        Kind::Size => "usize".to_owned(),
        kind => format!("Field<{}>", kind.rust_type()),
    };
    if field.optional {
        format!("Option<{plain}>")
    } else {
        plain
    }
}

fn value(field: &Field, group: usize) -> String {
    let plain = |at: usize| match field.kind {
        Kind::Size => at.to_string(),
        _ => format!("Field::at({at})"),
    };
    match (field.offsets[group], field.optional) {
        (Some(at), false) => plain(at),
        (Some(at), true) => format!("Some({})", plain(at)),
        (None, _) => "None".to_owned(),
    }
}
