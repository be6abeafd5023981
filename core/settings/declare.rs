//! Declares each setting once.
//!
//! [`settings!`](crate::settings) turns the declarations into the table that the parser uses, the struct that the plugin reads, its
//! defaults, what the log shows, and the enums and blocks. `make docs` generates the pages for people from the same table.

use super::value::{clock, Date, Value};
use std::time::Duration;

/// A type that the values of one kind of setting have in the program.
pub trait Typed: Sized {
    /// Takes what the parser has read. `None` is a setting that is not written and has no default.
    fn of(value: Option<Value>) -> Self;

    /// The value as it is written in the file; `None` where there is none.
    fn text(&self) -> Option<String>;
}

impl<T: Typed> Typed for Option<T> {
    fn of(value: Option<Value>) -> Self {
        value.map(|value| T::of(Some(value)))
    }

    fn text(&self) -> Option<String> {
        self.as_ref().and_then(Typed::text)
    }
}

/// The types that have one kind of value each. The other kinds cannot come: the table names the kind, and the same
/// declaration names the type.
macro_rules! typed {
    ($($type:ty, $kind:ident, $value:ident => $text:expr;)+) => {$(
        impl Typed for $type {
            fn of(value: Option<Value>) -> Self {
                match value {
                    Some(Value::$kind($value)) => $value.into(),
                    _ => Default::default(),
                }
            }

            fn text(&self) -> Option<String> {
                let $value = self;
                Some($text)
            }
        }
    )+};
}

typed! {
    i64, Integer, number => number.to_string();
    f64, Decimal, number => number.to_string();
    bool, YesNo, switch => if *switch { "yes" } else { "no" }.into();
    Date, Date, date => date.to_string();
    Vec<String>, Names, names => names.join(",");
    Vec<(String, f64)>, Weights, weights => weights
        .iter()
        .map(|(name, number)| format!("{name}:{number}"))
        .collect::<Vec<_>>()
        .join(",");
    String, Text, text => text.clone();
}

impl Typed for Duration {
    fn of(value: Option<Value>) -> Self {
        match value {
            Some(Value::Duration(seconds)) => Duration::from_secs(seconds),
            _ => Duration::ZERO,
        }
    }

    fn text(&self) -> Option<String> {
        Some(clock(self.as_secs()))
    }
}

/// Declares settings. Each is one entry:
///
/// ```
/// # mod example {
/// multifactor2_core::settings! {
///     /// The settings of an example.
///     pub struct Settings in TABLE {
///         /// What the setting is for, in whole sentences for the administrator. All pages are made from this text;
///         /// `word` is printed bold there.
///         colour = "Colour": choice(Colour {
///             /// What this word means.
///             Red = "red",
///             /// What that one means.
///             Green = "green",
///         }) default("red");
///         /// The name of the field, the key, the kind with its range, and what holds where the key is not written.
///         weight = "Weight": decimal(0.0 ..) default("1");
///         /// Without a default the field is an `Option`. The text is then an example, for the pages.
///         until = "Until": date() unset("2027-01-31");
///         /// A block is a line of its own with attributes. The field is a `Vec`.
///         exceptions = "Exception": block(Exception, target: choice(Target {
///             /// What follows the key of the block is a value, too.
///             User = "User",
///             /// It has a kind.
///             Account = "Account",
///         }), {
///             /// An attribute that the block cannot do without.
///             names = "Name": names() required("alice,bob");
///             /// Attributes have kinds and defaults as settings have.
///             tickets = "Tickets": integer(0 ..= 1000) default("10");
///         }) unset("User");
///     }
/// }
/// # }
/// # use example::{Colour, Settings};
/// assert_eq!(Settings::default().colour, Colour::Red);
/// assert_eq!(Settings::default().to_string(), "");
/// assert_eq!(Settings { weight: 2.0, ..Settings::default() }.to_string(), "Weight=2");
/// ```
///
/// The kinds are those of [`Kind`](crate::settings::value::Kind): `choice`, `integer`, `decimal`, `positive_decimal`,
/// `zero_or_decimal`, `yes_no`, `duration`, `positive_duration`, `date`, `end_date`, `names`, `weights`, `text`, and `list` for a text
/// that lists names.
#[macro_export]
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        pub struct $settings:ident in $table:ident {$(
            $(#[doc = $meaning:literal])+
            $field:ident = $name:literal: $kind:ident $args:tt $absent:ident($given:literal);
        )+}
    ) => {
        /// All settings. The parser, the listings and the pages use this table.
        pub static $table: &[$crate::settings::schema::Setting] =
            &[$($crate::settings!(@row [$($meaning)+] $name $kind $args $absent $given)),+];

        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::struct_excessive_bools)] // each is a switch of its own
        pub struct $settings {$(
            $(#[doc = $meaning])+
            pub $field: $crate::settings!(@type $kind $args $absent),
        )+}

        impl From<&$crate::settings::schema::Entries> for $settings {
            fn from(entries: &$crate::settings::schema::Entries) -> Self {
                Self { $($field: $crate::settings!(@read entries $name $kind $args)),+ }
            }
        }

        impl Default for $settings {
            fn default() -> Self {
                Self::from(&$crate::settings::schema::Entries::none($table))
            }
        }

        impl $settings {
            /// The settings that are not as by default, each as a line of the file; blocks last.
            #[allow(clippy::float_cmp)] // exactly as by default, or not
            pub fn lines(&self) -> Vec<String> {
                let (mut plain, mut blocks) = (Vec::<String>::new(), Vec::<String>::new());
                let default = Self::default();
                $(if self.$field != default.$field {
                    $crate::settings!(@show (&self.$field) plain blocks $name $kind);
                })+
                plain.append(&mut blocks);
                plain
            }
        }

        impl ::std::fmt::Display for $settings {
            /// The settings that are not as by default on one line, for the log; blocks last.
            fn fmt(&self, f: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                f.write_str(&self.lines().join(" "))
            }
        }

        $($crate::settings! { @items [$($meaning)+] $kind $args })+
    };

    // A row of the table.
    (@row [$($meaning:literal)+] $name:literal block ($block:ident, $head:ident: $kind:ident $args:tt, {$(
        $(#[doc = $about:literal])+
        $field:ident = $attribute:literal: $of:ident $range:tt $absent:ident($given:literal);
    )+}) unset $example:literal) => {
        $crate::settings::schema::Setting {
            attributes: Some(&[$($crate::settings!(@row [$($about)+] $attribute $of $range $absent $given)),+]),
            ..$crate::settings!(@row [$($meaning)+] $name $kind $args unset $example)
        }
    };
    (@row [$($meaning:literal)+] $name:literal declared ($block:ident) unset $example:literal) => {
        $crate::settings::schema::Setting {
            name: $name,
            kind: $block::HEAD,
            absent: $crate::settings::schema::Absent::Unset,
            example: $example,
            meaning: concat!($($meaning),+).trim_ascii(),
            attributes: Some($block::ATTRIBUTES),
            with: None,
            is_described: true,
        }
    };
    (@row [$($meaning:literal)+] $name:literal $kind:ident $args:tt $absent:ident $given:literal) => {
        $crate::settings::schema::Setting {
            name: $name,
            kind: $crate::settings!(@kind $kind $args),
            absent: $crate::settings!(@absent $absent $given),
            example: $given,
            meaning: concat!($($meaning),+).trim_ascii(),
            attributes: None,
            with: None,
            is_described: true,
        }
    };

    (@absent default $given:literal) => { $crate::settings::schema::Absent::Default($given) };
    (@absent unset $given:literal) => { $crate::settings::schema::Absent::Unset };
    (@absent required $given:literal) => { $crate::settings::schema::Absent::Error };

    (@kind choice ($choice:ident {$($(#[doc = $meaning:literal])+ $variant:ident = $word:literal,)+})) => {
        $crate::settings::value::Kind::Choice(&[$(
            $crate::settings::value::Word { text: $word, meaning: concat!($($meaning),+).trim_ascii() },
        )+])
    };
    (@kind choice_of ($choice:ident)) => { $choice::KIND };
    (@kind integer ($min:literal ..= $max:literal)) => {
        $crate::settings::value::Kind::Integer { min: $min, max: $max }
    };
    (@kind decimal ($min:literal ..)) => {
        $crate::settings::value::Kind::Decimal { min: $min, max: f64::INFINITY }
    };
    (@kind decimal ($min:literal ..= $max:literal)) => {
        $crate::settings::value::Kind::Decimal { min: $min, max: $max }
    };
    (@kind weights ($min:literal ..)) => {
        $crate::settings::value::Kind::Weights { min: $min, max: f64::INFINITY }
    };
    (@kind weights ($min:literal ..= $max:literal)) => {
        $crate::settings::value::Kind::Weights { min: $min, max: $max }
    };
    (@kind positive_decimal ()) => { $crate::settings::value::Kind::PositiveDecimal };
    (@kind zero_or_decimal ($min:literal ..)) => { $crate::settings::value::Kind::ZeroOrDecimal { min: $min } };
    (@kind yes_no ()) => { $crate::settings::value::Kind::YesNo };
    (@kind duration ()) => { $crate::settings::value::Kind::Duration };
    (@kind positive_duration ()) => { $crate::settings::value::Kind::PositiveDuration };
    (@kind date ()) => { $crate::settings::value::Kind::Date };
    (@kind end_date ()) => { $crate::settings::value::Kind::EndDate };
    (@kind names ()) => { $crate::settings::value::Kind::Names };
    (@kind text ($allowed:literal, $accepts:expr)) => {
        $crate::settings::value::Kind::Text { allowed: $allowed, is_list: false, accepts: $accepts }
    };
    (@kind list ($allowed:literal, $accepts:expr)) => {
        $crate::settings::value::Kind::Text { allowed: $allowed, is_list: true, accepts: $accepts }
    };

    // The type of a field.
    (@type block ($block:ident, $($rest:tt)+) $absent:ident) => { Vec<$block> };
    (@type declared ($block:ident) $absent:ident) => { Vec<$block> };
    (@type $kind:ident $args:tt unset) => { Option<$crate::settings!(@plain $kind $args)> };
    (@type $kind:ident $args:tt $absent:ident) => { $crate::settings!(@plain $kind $args) };
    (@plain choice ($choice:ident $words:tt)) => { $choice };
    (@plain choice_of ($choice:ident)) => { $choice };
    (@plain integer $args:tt) => { i64 };
    (@plain decimal $args:tt) => { f64 };
    (@plain positive_decimal $args:tt) => { f64 };
    (@plain zero_or_decimal $args:tt) => { f64 };
    (@plain yes_no $args:tt) => { bool };
    (@plain duration $args:tt) => { ::std::time::Duration };
    (@plain positive_duration $args:tt) => { ::std::time::Duration };
    (@plain date $args:tt) => { $crate::settings::value::Date };
    (@plain end_date $args:tt) => { $crate::settings::value::Date };
    (@plain names $args:tt) => { Vec<String> };
    (@plain weights $args:tt) => { Vec<(String, f64)> };
    (@plain text $args:tt) => { String };
    (@plain list $args:tt) => { String };

    // What was read, as a field.
    (@read $entries:ident $name:literal block ($block:ident, $($rest:tt)+)) => {
        $entries.blocks($name).map($block::from).collect()
    };
    (@read $entries:ident $name:literal declared ($block:ident)) => {
        $entries.blocks($name).map($block::from).collect()
    };
    (@read $entries:ident $name:literal $kind:ident $args:tt) => {
        $crate::settings::declare::Typed::of($entries.value_of($name))
    };

    // A field, as it is written.
    (@show ($field:expr) $plain:ident $blocks:ident $name:literal block) => {
        $blocks.extend($field.iter().map(|block| format!("{}={block}", $name)))
    };
    (@show ($field:expr) $plain:ident $blocks:ident $name:literal declared) => {
        $crate::settings!(@show ($field) $plain $blocks $name block);
    };
    (@show ($field:expr) $plain:ident $blocks:ident $name:literal $kind:ident) => {
        let text = $crate::settings::declare::Typed::text($field);
        $plain.extend(text.map(|text| $crate::settings::text::written($name, &text)))
    };

    // The enum of a choice; the struct of a block.
    (@items [$($meaning:literal)+] choice ($choice:ident {$($(#[doc = $about:literal])+ $variant:ident = $word:literal,)+})) => {
        $(#[doc = $meaning])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $choice {$($(#[doc = $about])+ $variant,)+}

        impl $choice {
            /// The one of a word as it is written in the file.
            pub fn read(word: &str) -> Option<Self> {
                [$((Self::$variant, $word)),+].into_iter().find(|(_, known)| *known == word).map(|(one, _)| one)
            }

            /// What may be written.
            #[doc(hidden)]
            pub const KIND: $crate::settings::value::Kind = $crate::settings!(@kind choice ($choice {$($(#[doc = $about])+ $variant = $word,)+}));
        }

        impl ::std::fmt::Display for $choice {
            /// The word as it is written in the file.
            fn fmt(&self, f: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                f.write_str(match self { $($choice::$variant => $word,)+ })
            }
        }

        impl $crate::settings::declare::Typed for $choice {
            fn of(value: Option<$crate::settings::value::Value>) -> Self {
                match value {
                    Some($crate::settings::value::Value::Choice(word)) => Self::read(word),
                    _ => None,
                }
                .unwrap_or([$($choice::$variant),+][0])
            }

            fn text(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    };
    (@items [$($meaning:literal)+] block ($block:ident, $head:ident: $kind:ident $args:tt, {$(
        $(#[doc = $about:literal])+
        $field:ident = $attribute:literal: $of:ident $range:tt $absent:ident($given:literal);
    )+} $(, $variant:ident {$(
        $(#[doc = $of_term:literal])+
        $term:ident = $weight:literal;
    )+})*)) => {
        $(#[doc = $meaning])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $block {
            /// Where it is written.
            pub place: $crate::settings::report::WrittenAt,
            /// What follows the key of the block.
            pub $head: $crate::settings!(@plain $kind $args),
            $($(#[doc = $about])+ pub $field: $crate::settings!(@type $of $range $absent),)+
            $($($(#[doc = $of_term])+ pub $term: $crate::settings::Term,)+)*
        }

        impl From<&$crate::settings::schema::Entry> for $block {
            fn from(entry: &$crate::settings::schema::Entry) -> Self {
                Self {
                    place: $crate::settings::report::WrittenAt(entry.place.clone()),
                    $head: $crate::settings::declare::Typed::of(Some(entry.value.clone())),
                    $($field: $crate::settings!(@read entry $attribute $of $range),)+
                    $($($term: $crate::settings::Term {
                        weight: $crate::settings::declare::Typed::of(entry.value_of($weight)),
                        cap: $crate::settings::declare::Typed::of(entry.value_of(concat!($weight, "Cap"))),
                    },)+)*
                }
            }
        }

        impl ::std::fmt::Display for $block {
            /// The values on one line: the head, then each attribute with its key.
            fn fmt(&self, f: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                let (mut plain, mut blocks) = (Vec::<String>::new(), Vec::<String>::new());
                plain.extend($crate::settings::declare::Typed::text(&self.$head));
                $($crate::settings!(@show (&self.$field) plain blocks $attribute $of);)+
                $($(self.$term.show($weight, &mut plain);)+)*
                plain.append(&mut blocks);
                f.write_str(&plain.join(" "))
            }
        }

        $crate::settings! { @items ["What follows the key of the block."] $kind $args }
        $($crate::settings! { @items [$($about)+] $of $range })+
    };
    (@items [$($meaning:literal)+] $kind:ident $args:tt) => {};
}

/// What a part of a sum counts: `weight * min(cap, value)`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Term {
    /// The weight; 0 leaves the part out.
    pub weight: f64,
    /// The most that the value counts, before its weight; 0 or less for no limit.
    pub cap: f64,
}

impl Term {
    /// What is written of it.
    #[doc(hidden)]
    pub fn show(&self, name: &str, words: &mut Vec<String>) {
        for (suffix, number) in [("", self.weight), ("Cap", self.cap)] {
            if number != 0.0 {
                words.push(format!("{name}{suffix}={number}"));
            }
        }
    }
}

/// Declares a block by itself, for a table that names it with `declared(Block)`. Behind the attributes that all of its lines may
/// have come those that go with one word behind the key only, each a [`Term`]: two attributes, the second with `Cap` behind its name.
#[macro_export]
macro_rules! block {
    (
        $(#[doc = $meaning:literal])+
        pub struct $block:ident($head:ident: $kind:ident $args:tt) {$(
            $(#[doc = $about:literal])+
            $field:ident = $attribute:literal: $of:ident $range:tt $absent:ident($given:literal);
        )+} $($variant:ident as $word:literal {$(
            $(#[doc = $of_term:literal])+
            $term:ident = $weight:literal;
        )+})*
    ) => {
        $crate::settings! { @items [$($meaning)+] block ($block, $head: $kind $args, {$(
            $(#[doc = $about])+
            $field = $attribute: $of $range $absent($given);
        )+} $(, $variant {$(
            $(#[doc = $of_term])+
            $term = $weight;
        )+})*) }

        impl $block {
            /// What may follow the key of the block.
            pub(super) const HEAD: $crate::settings::value::Kind = $crate::settings!(@kind $kind $args);
            /// What may follow on the line.
            pub(super) const ATTRIBUTES: &'static [$crate::settings::schema::Setting] = &[
                $($crate::settings!(@row [$($about)+] $attribute $of $range $absent $given),)+
                $($(
                    $crate::settings::schema::Setting {
                        with: Some($word),
                        ..$crate::settings!(@row [$($of_term)+] $weight decimal (-1e9 ..= 1e9) default "0")
                    },
                    $crate::settings::schema::Setting {
                        with: Some($word),
                        is_described: false,
                        name: concat!($weight, "Cap"),
                        ..$crate::settings!(@row ["The most that it counts, before its weight. 0 or less is no limit."]
                            $weight decimal (-1e9 ..= 1e9) default "0")
                    },
                )+)*
            ];
        }
    };
}
