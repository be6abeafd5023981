//! Rust source for the plugin: one struct per record, one constant per group.
//!
//! The generated text expects `Field<L, T>`, `LongDouble`, `Ptr`, `StepId` and `Group` in scope
//! (`src/host/layout.rs` defines them).

use std::fmt::Write as _;

use crate::column::Column;
use crate::table::{Field, FieldKind, Group, Record, Table};

/// The structs `Layout`, `JobLayout`, …, `LAYOUTS` (the groups, oldest first), and an empty
/// `BUILT_FOR`.
pub fn rust_source(table: &Table) -> String {
    rust_source_built_for(table, None)
}

/// As [`rust_source`], with the column of a source tree as `BUILT_FOR`.
pub fn rust_source_built_for(table: &Table, built_for: Option<&Column>) -> String {
    let mut text = String::from("// Generated from slurm-headers/layouts.tsv by build.rs.\n");
    for record in &table.records {
        let _ = writeln!(
            text,
            "/// Offsets within Slurm's `{}`.\n#[derive(Debug, Clone, Copy)]\npub struct {} {{",
            record.c_types[0],
            type_name(record)
        );
        for field in &record.fields {
            let _ = writeln!(
                text,
                "    /// `{}`\n    pub {}: {},",
                field.c_names.join("` or `"),
                field.rust_name(),
                field_type(record, field)
            );
        }
        text.push_str("}\n");
    }
    text.push_str("/// Where the fields of Slurm's records are in one group of releases.\n");
    text.push_str(
        "#[derive(Debug, Clone, Copy)]\npub struct Layout {\n    /// The releases.\n    pub group: Group,\n",
    );
    for record in &table.records {
        let _ = writeln!(
            text,
            "    /// `{}`\n    pub {}: {},",
            record.c_types[0],
            record.name,
            type_name(record)
        );
    }
    text.push_str("}\n/// Every known layout, oldest first.\npub(super) static LAYOUTS: &[Layout] = &[\n");
    for (at, group) in table.groups.iter().enumerate() {
        let _ = writeln!(text, "    {},", layout(table, &table.column(at), *group));
    }
    text.push_str(
        "];\n/// The layout of the source tree that this build was made for; it goes before `LAYOUTS` in \
         exactly\n/// that release.\n",
    );
    let built_for = built_for.map_or_else(
        || "None".to_owned(),
        |column| {
            let (version, candidate) = (column.version, column.candidate);
            let group = Group { first: version, verified: version, candidate };
            format!("Some({})", layout(table, column, group))
        },
    );
    let _ = writeln!(text, "pub(super) static BUILT_FOR: Option<Layout> = {built_for};");
    text
}

/// One `Layout` as an expression.
fn layout(table: &Table, column: &Column, group: Group) -> String {
    let mut text = format!(
        "Layout {{\n        group: Group {{ first: {:#x}, verified: {:#x}, candidate: {:?} }},\n",
        group.first.number(),
        group.verified.number(),
        group.candidate
    );
    for (record, offsets) in table.records.iter().zip(&column.offsets) {
        let _ = writeln!(text, "        {}: {} {{", record.name, type_name(record));
        for (field, &offset) in record.fields.iter().zip(offsets) {
            let _ = writeln!(text, "            {}: {},", field.rust_name(), value(field, offset));
        }
        text.push_str("        },\n");
    }
    text.push_str("    }");
    text
}

fn type_name(record: &Record) -> String {
    let camel: String = record.name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    format!("{camel}Layout")
}

fn field_type(record: &Record, field: &Field) -> String {
    let plain = match field.kind {
        FieldKind::Size => "usize".to_owned(),
        kind => format!("Field<{}, {}>", type_name(record), kind.rust_type()),
    };
    if field.optional {
        format!("Option<{plain}>")
    } else {
        plain
    }
}

fn value(field: &Field, offset: Option<usize>) -> String {
    let plain = |at: usize| match field.kind {
        FieldKind::Size => at.to_string(),
        _ => format!("Field::at({at})"),
    };
    match (offset, field.optional) {
        (Some(at), false) => plain(at),
        (Some(at), true) => format!("Some({})", plain(at)),
        (None, _) => "None".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_field_is_none_and_a_renamed_one_has_its_newest_name() {
        let text = rust_source(&Table::committed().unwrap());
        let oldest = text.split("LAYOUTS: &[Layout]").nth(1).unwrap();
        let job = &oldest[oldest.find("job: JobLayout {").unwrap()..];
        let job = &job[..job.find('}').unwrap()];
        assert!(job.contains("size: 1008,"), "{job}");
        assert!(job.contains("prio_mult: None,"), "{job}");
        assert!(job.contains("priority_array: Some(Field::at(632)),"), "{job}");
        assert!(text.contains("pub prio_mult: Option<Field<JobLayout, Ptr>>,"));
    }

    #[test]
    fn built_for_is_none_unless_a_tree_was_read() {
        let table = Table::committed().unwrap();
        assert!(rust_source(&table).ends_with("pub(super) static BUILT_FOR: Option<Layout> = None;\n"));
        let text = rust_source_built_for(&table, Some(&table.column(12)));
        let built_for =
            text.split("pub(super) static BUILT_FOR: Option<Layout> = Some(Layout {").nth(1).unwrap();
        assert!(
            built_for.contains("group: Group { first: 0x1a0500, verified: 0x1a0500, candidate: None }"),
            "{built_for}"
        );
        assert!(built_for.contains("size: 1288,"), "{built_for}");
    }
}
