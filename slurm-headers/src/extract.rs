//! One release's column from the headers of its source tree.
//!
//! Nobody should have to configure Slurm to learn where a field is. The headers need from
//! `./configure` only a `config.h`, which may be empty because no option changes a layout, and a
//! file with the version macros; both are made in a scratch directory that comes before the tree
//! in the include path. libclang (through bindgen) then reads the very headers that slurmctld is
//! compiled from, and the answer is compared field by field with what the table expects.

mod bindings;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io, iter};

use crate::column::{Column, Headers};
use crate::constants::{self, Constant};
use crate::table::{Field, FieldKind, Record, Table, TableError, Version};
use bindings::{Bindings, CType};

/// Files without which a directory is not a Slurm source tree. All are read here.
const SENTINELS: &[&str] =
    &["META", "slurm/slurmdb.h", "src/common/assoc_mgr.h", "src/slurmctld/slurmctld.h"];

/// What the wanted records are declared in.
const PROBE: &str = "\
#include \"config.h\"
#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#include \"src/common/assoc_mgr.h\"
#include \"src/common/pack.h\"
#include \"src/common/slurm_protocol_defs.h\"
#include \"src/slurmctld/locks.h\"
#include \"src/slurmctld/slurmctld.h\"
";

/// What the name of a constant has before it in the probe.
const CONSTANT: &str = "multifactor2_";

/// The enumeration of the reasons for which a job waits, and what ends it in some releases, which is none.
const REASONS: &str = "job_state_reason";
const NO_MORE_REASONS: &str = "REASON_END";

/// The oldest compiler that we build with; it decides the form of bindgen's layout assertions.
const RUST_MINOR: u64 = 82;

/// The 64-bit Linux layouts are equal, and a cross build may lack the C library headers of its
/// target, so the headers are always read for the machine that reads them.
const HOST_TARGET: &str = if cfg!(target_arch = "aarch64") {
    "--target=aarch64-unknown-linux-gnu"
} else {
    "--target=x86_64-unknown-linux-gnu"
};

/// Why a tree gave no column.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// A sentinel file is missing.
    #[error(
        "{} is not a Slurm source tree: {missing} is missing there. Give the directory that holds META \
         and src/, as unpacked from slurm-<release>.tar.bz2 or by `apt-get source slurm-wlm`",
        root.display()
    )]
    NotSlurm {
        /// The directory.
        root: PathBuf,
        /// The file, relative to it.
        missing: &'static str,
    },
    /// META does not name the release.
    #[error("{}: no usable '{key}:' line (a number from 0 to 255 is expected)", path.display())]
    Meta {
        /// The file.
        path: PathBuf,
        /// Major, Minor, Micro or Release.
        key: &'static str,
    },
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// `constants.tsv` is damaged.
    #[error(transparent)]
    Constants(#[from] TableError),
    /// libclang is not installed.
    #[error(
        "libclang is needed to read Slurm's headers and was not found. Install libclang-dev (Debian, Ubuntu), \
         clang-devel (RHEL, Rocky, Fedora) or your system's package with libclang.so, or set LIBCLANG_PATH to \
         the directory that holds it ({0})"
    )]
    NoLibclang(String),
    /// The headers do not compile.
    #[error(
        "libclang cannot compile the headers of Slurm {version}:\n{diagnostics}\
         If a header of the C compiler such as stddef.h is missing, install libclang-dev (Debian, Ubuntu) or \
         clang-devel (RHEL), and the C library's headers (libc6-dev, glibc-devel). If one of Slurm's own is, \
         it has moved in this release: correct PROBE in slurm-headers/src/extract.rs"
    )]
    Headers {
        /// The release.
        version: Version,
        /// What clang said.
        diagnostics: String,
    },
    /// bindgen's output is not what this code can read.
    #[error(
        "cannot read the layouts from bindgen's output ({0}); is bindgen's version the one in Cargo.lock?"
    )]
    Bindgen(String),
    /// Fields that the table wants are not as it wants them.
    #[error("Slurm {version} does not have the records that the plugin uses:\n{}", list(mismatches))]
    Mismatches {
        /// The release.
        version: Version,
        /// One per record or field, never empty.
        mismatches: Vec<Mismatch>,
    },
}

/// A record or field of the table that the headers do not have, or have otherwise.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Mismatch {
    /// No such type.
    #[error(
        "record '{record}': no type {types} in the headers. If it was renamed, add the new name in front in \
         column c_type of layouts.tsv ('new|old'); if it is gone for good, mark its rows with '?' and handle \
         its absence in the plugin"
    )]
    NoRecord {
        /// The record's name in the table.
        record: String,
        /// The names that were looked for.
        types: String,
    },
    /// No such member.
    #[error(
        "field '{record}.{field}': {c_type} has no member {names}. If it was renamed, add the new name in \
         front in column c_field of layouts.tsv ('new|old'); if it is gone for good, mark its kind with '?' \
         and handle its absence in the plugin"
    )]
    NoField {
        /// The record's name in the table.
        record: String,
        /// The field's newest name.
        field: String,
        /// The type that was found.
        c_type: String,
        /// The names that were looked for.
        names: String,
    },
    /// The member is of another width or sort.
    #[error(
        "field '{record}.{field}': the table reads kind {kind}, but in {c_type} it is {found}. An offset alone \
         does not describe this release: the plugin needs a row of the new kind for it (both rows with '?')"
    )]
    OtherKind {
        /// The record's name in the table.
        record: String,
        /// The field's newest name.
        field: String,
        /// The kind in the table, with its width.
        kind: String,
        /// The type that was found.
        c_type: String,
        /// What the headers say.
        found: String,
    },
    /// A constant has another value.
    #[error(
        "constant {name}: {expected:#x} in constants.tsv, {found:#x} in the headers. The plugin needs another number in \
         this release: read what it does with it, and choose by release"
    )]
    OtherConstant {
        /// Its name.
        name: String,
        /// The committed value.
        expected: u64,
        /// What the headers say.
        found: u64,
    },
    /// The enumeration of reasons is not in the headers.
    #[error("enum {REASONS}: not in the headers. If it was renamed, correct REASONS in slurm-headers/src/extract.rs")]
    NoReasons,
    /// A constant is not in bindgen's output, although the headers have the name.
    #[error("constant {name}: its value cannot be computed from the headers")]
    NoConstant {
        /// Its name.
        name: String,
    },
}

fn list(mismatches: &[Mismatch]) -> String {
    mismatches.iter().fold(String::new(), |mut text, one| {
        let _ = writeln!(text, "  {one}");
        text
    })
}

/// A Slurm source tree, configured or not.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    version: Version,
    release: String,
}

impl Tree {
    /// Looks whether a directory is a Slurm source tree, and of which release.
    ///
    /// # Errors
    /// [`ExtractError::Io`] if there is no such directory; [`ExtractError::NotSlurm`] names the file that should be there; [`ExtractError::Meta`] if
    /// META does not say the release.
    pub fn open(root: &Path) -> Result<Self, ExtractError> {
        fs::read_dir(root).map_err(|error| ExtractError::Io { path: root.to_owned(), error })?;
        if let Some(missing) = SENTINELS.iter().find(|path| !root.join(path).is_file()) {
            return Err(ExtractError::NotSlurm { root: root.to_owned(), missing });
        }
        let root = root.canonicalize().map_err(|error| ExtractError::Io { path: root.to_owned(), error })?;
        let path = root.join("META");
        let meta =
            fs::read_to_string(&path).map_err(|error| ExtractError::Io { path: path.clone(), error })?;
        let text = |key| meta_value(&meta, key).ok_or_else(|| ExtractError::Meta { path: path.clone(), key });
        let number = |key| text(key)?.parse().map_err(|_| ExtractError::Meta { path: path.clone(), key });
        let version = Version { year: number("Major")?, month: number("Minor")?, micro: number("Micro")? };
        let release = text("Release")?.to_owned();
        Ok(Self { root, version, release })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The release, from META.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether the tree is a development state or a release candidate, whose layouts may still
    /// move (those of 26.05.0-0rc1 did).
    pub fn is_prerelease(&self) -> bool {
        !self.release.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// The number of the release candidate that the tree is, 1 for `26.11.0-0rc1`; `None` for a release and for every other state.
    pub fn candidate(&self) -> Option<u8> {
        self.release.strip_prefix("0rc")?.parse().ok()
    }

    /// `24.11.4`, or with what META calls the release, `26.05.0-0rc1`, where that matters.
    pub fn name(&self) -> String {
        if self.is_prerelease() {
            format!("{}-{}", self.version, self.release)
        } else {
            self.version.to_string()
        }
    }

    /// The offsets of the table's fields in this tree.
    ///
    /// # Errors
    /// As [`Tree::headers`].
    pub fn column(&self, table: &Table) -> Result<Column, ExtractError> {
        self.headers(table).map(|headers| headers.column)
    }

    /// The offsets of the table's fields in this tree, and its reasons.
    ///
    /// # Errors
    /// No libclang, headers that do not compile, or wanted fields that are gone or have changed
    /// their width: all of these at once.
    pub fn headers(&self, table: &Table) -> Result<Headers, ExtractError> {
        let constants = constants::constants()?;
        let source = self.generate_bindings(table, &constants)?;
        let bindings = Bindings::parse(&source).map_err(ExtractError::Bindgen)?;
        let mut mismatches = Vec::new();
        let offsets =
            table.records.iter().map(|record| offsets(&bindings, record, &mut mismatches)).collect();
        mismatches.extend(constants.iter().filter_map(|constant| differs(&bindings, constant)));
        let mut reasons = bindings.enumeration(REASONS);
        reasons.remove(NO_MORE_REASONS);
        if reasons.is_empty() {
            mismatches.push(Mismatch::NoReasons);
        }
        if mismatches.is_empty() {
            let column = Column { version: self.version, candidate: self.candidate(), offsets };
            Ok(Headers { column, reasons })
        } else {
            Err(ExtractError::Mismatches { version: self.version, mismatches })
        }
    }

    /// bindgen's Rust for the wanted types.
    fn generate_bindings(&self, table: &Table, constants: &[Constant]) -> Result<String, ExtractError> {
        load_libclang()?;
        let scratch = self.write_generated_headers(constants)?;
        let include = |path: &Path| format!("-I{}", path.display());
        let builder = bindgen::Builder::default()
            .header(scratch.path().join("probe.h").to_string_lossy())
            .clang_args([include(scratch.path()), include(&self.root), "-w".to_owned()])
            .clang_arg(HOST_TARGET)
            .rust_target(
                bindgen::RustTarget::stable(RUST_MINOR, 0)
                    .map_err(|error| ExtractError::Bindgen(error.to_string()))?,
            )
            .formatter(bindgen::Formatter::None)
            .generate_comments(false)
            .allowlist_var(format!("{CONSTANT}.*"))
            .allowlist_type(REASONS)
            .layout_tests(true);
        let types = table.records.iter().flat_map(|record| &record.c_types);
        types
            .fold(builder, bindgen::Builder::allowlist_type)
            .generate()
            .map(|bindings| bindings.to_string())
            .map_err(|error| match error {
                bindgen::BindgenError::ClangDiagnostic(diagnostics) => {
                    ExtractError::Headers { version: self.version, diagnostics }
                }
                other => ExtractError::Bindgen(other.to_string()),
            })
    }

    /// What `./configure` would have made, as far as a layout is concerned.
    fn write_generated_headers(&self, constants: &[Constant]) -> Result<tempfile::TempDir, ExtractError> {
        let scratch =
            tempfile::tempdir().map_err(|error| ExtractError::Io { path: std::env::temp_dir(), error })?;
        let write = |name: &str, text: &str| {
            let path = scratch.path().join(name);
            fs::write(&path, text).map_err(|error| ExtractError::Io { path, error })
        };
        let slurm = scratch.path().join("slurm");
        fs::create_dir(&slurm).map_err(|error| ExtractError::Io { path: slurm, error })?;
        write("config.h", "")?;
        let probes = constants.iter().map(|Constant { name, .. }| {
            format!("static const unsigned long long {CONSTANT}{name} = (unsigned long long) ({name});\n")
        });
        write("probe.h", &iter::once(PROBE.to_owned()).chain(probes).collect::<String>())?;
        write("slurm/slurm_version.h", &version_macros(self.version))?;
        // Up to 21.08.0rc2 configure makes slurm.h itself, only to write the version into it.
        let template = self.root.join("slurm/slurm.h.in");
        if template.is_file() {
            let text =
                fs::read_to_string(&template).map_err(|error| ExtractError::Io { path: template, error })?;
            let define = format!("#define SLURM_VERSION_NUMBER {:#x}", self.version.number());
            write("slurm/slurm.h", &text.replace("#undef  SLURM_VERSION_NUMBER", &define))?;
        }
        Ok(scratch)
    }
}

/// The value of a `  Key:  value` line of META.
fn meta_value<'meta>(meta: &'meta str, key: &str) -> Option<&'meta str> {
    meta.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

fn version_macros(version: Version) -> String {
    format!(
        "#define SLURM_VERSION_NUMBER {:#x}\n\
         #define SLURM_VERSION_NUM(major, minor, micro) (((major) << 16) + ((minor) << 8) + (micro))\n\
         #define SLURM_VERSION_MAJOR(number) (((number) >> 16) & 0xff)\n\
         #define SLURM_VERSION_MINOR(number) (((number) >> 8) & 0xff)\n\
         #define SLURM_VERSION_MICRO(number) ((number) & 0xff)\n\
         #define SLURM_MAJOR \"{:02}.{:02}\"\n\
         #define SLURM_VERSION_STRING \"{version}\"\n",
        version.number(),
        version.year,
        version.month,
    )
}

/// Loads libclang for this thread before bindgen does, because bindgen panics where there is none.
fn load_libclang() -> Result<(), ExtractError> {
    if clang_sys::is_loaded() {
        return Ok(());
    }
    clang_sys::load().map_err(ExtractError::NoLibclang)
}

/// What is wrong with a constant, if anything.
fn differs(bindings: &Bindings, constant: &Constant) -> Option<Mismatch> {
    let name = constant.name.clone();
    match bindings.constant(&format!("{CONSTANT}{name}")) {
        Some(found) if found == constant.value => None,
        Some(found) => Some(Mismatch::OtherConstant { name, expected: constant.value, found }),
        None => Some(Mismatch::NoConstant { name }),
    }
}

/// The offsets of one record, in the order of its rows.
fn offsets(bindings: &Bindings, record: &Record, mismatches: &mut Vec<Mismatch>) -> Vec<Option<usize>> {
    let found = record.c_types.iter().find_map(|name| bindings.record(name).map(|found| (name, found)));
    let Some((c_type, found)) = found else {
        if !record.fields.iter().all(|field| field.optional) {
            let types = record.c_types.join(" or ");
            mismatches.push(Mismatch::NoRecord { record: record.name.clone(), types });
        }
        return vec![None; record.fields.len()];
    };
    let mut offset = |field: &Field| {
        if field.kind == FieldKind::Size {
            return Some(found.size);
        }
        let Some((offset, member)) = field.c_names.iter().find_map(|name| found.members.get(name)) else {
            if !field.optional {
                mismatches.push(Mismatch::NoField {
                    record: record.name.clone(),
                    field: field.rust_name().to_owned(),
                    c_type: c_type.clone(),
                    names: field.c_names.join(" or "),
                });
            }
            return None;
        };
        let member = bindings.resolve(member);
        if !fits(field.kind, &member) {
            mismatches.push(Mismatch::OtherKind {
                record: record.name.clone(),
                field: field.rust_name().to_owned(),
                kind: format!("{} ({} bytes)", field.kind.name(), field.kind.bytes()),
                c_type: c_type.clone(),
                found: member.to_string(),
            });
        }
        Some(*offset)
    };
    record.fields.iter().map(&mut offset).collect()
}

/// Whether a member can be read as the kind says. `u32` also serves `int` and enumerations.
fn fits(kind: FieldKind, member: &CType) -> bool {
    match kind {
        FieldKind::Size => false,
        FieldKind::U16 | FieldKind::U64 => *member == CType::Integer { bytes: kind.bytes(), signed: false },
        FieldKind::U32 => matches!(member, CType::Integer { bytes: 4, .. }),
        FieldKind::I64 => *member == CType::Integer { bytes: 8, signed: true },
        FieldKind::F64 | FieldKind::LongDouble => *member == CType::Float { bytes: kind.bytes() },
        FieldKind::Ptr => *member == CType::Pointer,
        FieldKind::Step => matches!(member, CType::Record { bytes, .. } if *bytes == kind.bytes()),
    }
}
