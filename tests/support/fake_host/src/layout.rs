//! Where the host keeps the fields of its records: a column of the table, or one with a field elsewhere.

use std::collections::HashMap;

use slurm_headers::{FieldKind, Version};

use crate::release::table;

/// A field that the host keeps elsewhere than the table says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shift {
    /// The record's name in the table.
    pub record: &'static str,
    /// The field's name in the table, or `size` for the whole record.
    pub field: &'static str,
    /// By how many bytes.
    pub bytes: isize,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: FieldKind,
    /// Where the table says it is, which is where the plugin will look.
    pub offset: usize,
    /// Where the host has it.
    pub real: usize,
}

/// A record of one release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLayout {
    /// Its name in the table.
    pub name: String,
    /// What the host allocates.
    pub size: usize,
    /// The fields that the release has, by name.
    pub fields: HashMap<String, Field>,
}

/// The records of one release.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The release.
    pub release: Version,
    /// By name; a record that the release lacks is not there.
    pub records: HashMap<String, RecordLayout>,
}

impl Layout {
    /// The layout of a release, with one field elsewhere.
    ///
    /// # Panics
    /// For an unknown release, or a shift of what the release does not have.
    pub fn of(release: Version, shift: Option<&Shift>) -> Self {
        let table = table();
        let group = table.group_of(release).unwrap_or_else(|| panic!("no layout for {release}"));
        let mut records = HashMap::new();
        for record in &table.records {
            let Some(size) = record.fields[0].offsets[group] else { continue };
            let fields = record.fields[1..].iter().filter_map(|field| {
                let (name, offset) = (field.rust_name().to_owned(), field.offsets[group]?);
                Some((name.clone(), Field { name, kind: field.kind, offset, real: offset }))
            });
            let layout = RecordLayout { name: record.name.clone(), size, fields: fields.collect() };
            records.insert(record.name.clone(), layout);
        }
        if let Some(shift) = shift {
            let record: &mut RecordLayout =
                records.get_mut(shift.record).unwrap_or_else(|| panic!("{release} has no {}", shift.record));
            let moved =
                |offset: usize| offset.checked_add_signed(shift.bytes).expect("a shift into the record");
            if shift.field == "size" {
                record.size = moved(record.size);
            } else {
                let lacks = || panic!("{release} has no {}.{}", shift.record, shift.field);
                let field = record.fields.get_mut(shift.field).unwrap_or_else(lacks);
                field.real = moved(field.offset);
            }
        }
        Self { release, records }
    }

    /// A record.
    ///
    /// # Panics
    /// Where the release has none of that name.
    pub fn record(&self, name: &str) -> &RecordLayout {
        self.records.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.release))
    }

    /// A field, where the release has it.
    pub fn field(&self, record: &str, field: &str) -> Option<&Field> {
        self.records.get(record)?.fields.get(field)
    }
}

impl RecordLayout {
    /// What is at an offset, in words: a field, or the number.
    pub fn describe(&self, offset: usize) -> String {
        let inside = |field: &&Field| (field.offset..field.offset + field.kind.bytes()).contains(&offset);
        self.fields.values().find(inside).map_or_else(
            || format!("{}+{offset}", self.name),
            |field| format!("{}.{}", self.name, field.name),
        )
    }

    /// Whether some bytes belong to a field other than `except`.
    pub fn is_taken(&self, offset: usize, bytes: usize, except: &str) -> bool {
        self.fields.values().any(|field| {
            field.name != except
                && field.offset < offset + bytes
                && offset < field.offset + field.kind.bytes()
        })
    }
}
