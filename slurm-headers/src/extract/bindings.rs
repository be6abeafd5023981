//! Reading sizes, offsets and types back from the Rust that bindgen writes.
//!
//! bindgen states every layout twice: as a struct, whose members have types, and as compile-time
//! assertions, which hold what clang computed. Offsets and sizes are taken from the assertions,
//! so they are right even where a struct could not be expressed in Rust.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use syn::visit::{self, Visit};

/// A record as the headers have it.
#[derive(Default)]
pub struct Found {
    /// Bytes.
    pub size: usize,
    /// Offset and type by name; no bit fields.
    pub members: HashMap<String, (usize, syn::Type)>,
}

/// What a member is, all type names resolved.
#[derive(PartialEq, Eq, Debug)]
pub enum CType {
    /// An integer or an enumeration.
    Integer {
        /// Width.
        bytes: usize,
        /// Whether it is signed.
        signed: bool,
    },
    /// `float`, `double` or `long double`.
    Float {
        /// Width.
        bytes: usize,
    },
    /// Any pointer.
    Pointer,
    /// An embedded record.
    Record {
        /// Its name.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// Anything else, such as an array.
    Other,
}

impl fmt::Display for CType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { bytes, signed: true } => write!(f, "a signed integer of {bytes} bytes"),
            Self::Integer { bytes, signed: false } => write!(f, "an unsigned integer of {bytes} bytes"),
            Self::Float { bytes } => write!(f, "a floating point number of {bytes} bytes"),
            Self::Pointer => write!(f, "a pointer"),
            Self::Record { name, bytes } => write!(f, "an embedded {name} of {bytes} bytes"),
            Self::Other => write!(f, "neither a number nor a pointer"),
        }
    }
}

/// All that bindgen wrote.
#[derive(Default)]
pub struct Bindings {
    records: HashMap<String, Found>,
    aliases: HashMap<String, syn::Type>,
    constants: HashMap<String, u64>,
}

impl Bindings {
    /// Reads bindgen's output.
    ///
    /// # Errors
    /// What could not be understood.
    pub fn parse(source: &str) -> Result<Self, String> {
        let file = syn::parse_file(source).map_err(|error| error.to_string())?;
        let mut layouts = Layouts::default();
        layouts.visit_file(&file);
        if layouts.sizes.is_empty() {
            return Err("it holds no layout assertions".to_owned());
        }
        let mut bindings = Self::default();
        for item in file.items {
            match item {
                syn::Item::Type(alias) => {
                    bindings.aliases.insert(alias.ident.to_string(), *alias.ty);
                }
                syn::Item::Const(item) => {
                    if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) = &*item.expr {
                        if let Ok(number) = number.base10_parse() {
                            bindings.constants.insert(item.ident.to_string(), number);
                        }
                    }
                }
                syn::Item::Struct(item) => {
                    let name = item.ident.to_string();
                    // Without assertion: a type that is only declared.
                    let Some(&size) = layouts.sizes.get(&name) else { continue };
                    let members = item
                        .fields
                        .into_iter()
                        .filter_map(|field| {
                            let member = field.ident?.to_string();
                            let offset = *layouts.offsets.get(&format!("{name}::{member}"))?;
                            Some((member, (offset, field.ty)))
                        })
                        .collect();
                    bindings.records.insert(name, Found { size, members });
                }
                syn::Item::Union(item) => {
                    let name = item.ident.to_string();
                    let size = layouts.sizes.get(&name).copied().unwrap_or_default();
                    bindings.records.insert(name, Found { size, members: HashMap::new() });
                }
                _ => {}
            }
        }
        Ok(bindings)
    }

    /// The value of an integer constant.
    pub fn constant(&self, name: &str) -> Option<u64> {
        self.constants.get(name).copied()
    }

    /// The names and numbers of an enumeration; none where there is no such.
    pub fn enumeration(&self, name: &str) -> BTreeMap<String, u32> {
        let prefix = format!("{name}_");
        let entries = self.constants.iter().filter_map(|(entry, value)| {
            Some((entry.strip_prefix(&prefix)?.to_owned(), u32::try_from(*value).ok()?))
        });
        entries.collect()
    }

    /// The record that a C type name or tag stands for, if the headers define it.
    pub fn record(&self, name: &str) -> Option<&Found> {
        match self.aliases.get(name) {
            Some(alias) => self.record(&last_segment(alias)?),
            None => self.records.get(name),
        }
    }

    /// What a member's type comes down to.
    pub fn resolve(&self, member: &syn::Type) -> CType {
        if matches!(member, syn::Type::Ptr(_)) {
            return CType::Pointer;
        }
        let Some(name) = last_segment(member) else { return CType::Other };
        if let Some(alias) = self.aliases.get(&name) {
            return self.resolve(alias);
        }
        if let Some(record) = self.records.get(&name) {
            return CType::Record { name, bytes: record.size };
        }
        let integer = |bytes, signed| CType::Integer { bytes, signed };
        match name.as_str() {
            "bool" | "u8" | "c_uchar" => integer(1, false),
            "i8" | "c_char" | "c_schar" => integer(1, true),
            "u16" | "c_ushort" => integer(2, false),
            "i16" | "c_short" => integer(2, true),
            "u32" | "c_uint" => integer(4, false),
            "i32" | "c_int" => integer(4, true),
            "u64" | "usize" | "c_ulong" | "c_ulonglong" => integer(8, false),
            "i64" | "isize" | "c_long" | "c_longlong" => integer(8, true),
            "f32" | "c_float" => CType::Float { bytes: 4 },
            "f64" | "c_double" => CType::Float { bytes: 8 },
            // bindgen's stand-in for `long double`, which Rust lacks.
            "u128" => CType::Float { bytes: 16 },
            // A pointer to a function.
            "Option" => CType::Pointer,
            _ => CType::Other,
        }
    }
}

fn last_segment(path: &syn::Type) -> Option<String> {
    match path {
        syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// The assertions: `["Size of T"][size_of::<T>() - 24usize]` and
/// `["Offset of field: T::member"][offset_of!(T, member) - 8usize]`.
#[derive(Default)]
struct Layouts {
    sizes: HashMap<String, usize>,
    offsets: HashMap<String, usize>,
}

impl Visit<'_> for Layouts {
    fn visit_expr_index(&mut self, index: &syn::ExprIndex) {
        if let (Some(label), Some(value)) = (only_string(&index.expr), subtrahend(&index.index)) {
            if let Some(record) = label.strip_prefix("Size of ") {
                self.sizes.insert(record.to_owned(), value);
            } else if let Some(member) = label.strip_prefix("Offset of field: ") {
                self.offsets.insert(member.to_owned(), value);
            }
        }
        visit::visit_expr_index(self, index);
    }
}

fn only_string(expr: &syn::Expr) -> Option<String> {
    let syn::Expr::Array(array) = expr else { return None };
    match array.elems.first()? {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

fn subtrahend(expr: &syn::Expr) -> Option<usize> {
    let syn::Expr::Binary(syn::ExprBinary { op: syn::BinOp::Sub(_), right, .. }) = expr else { return None };
    match &**right {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    }
}
