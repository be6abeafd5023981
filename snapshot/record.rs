//! What a kind of record is, and how one declaration ([`records`](super::records)) writes and reads it: as an array whose columns the heading
//! of the file names. A column that a file lacks keeps its default, and an unknown column is skipped.

use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};

/// A kind of record: a line of the file is an array of its columns.
pub trait Record: Sized + Default + Serialize {
    /// What the file calls it.
    const KIND: &'static str;
    /// The names of its columns, in the order in which they are written.
    const COLUMNS: &'static [&'static str];

    /// Reads the column with this number.
    ///
    /// # Errors
    /// What is there is of another type.
    fn take<'de, A: SeqAccess<'de>>(&mut self, column: usize, values: &mut A) -> Result<bool, A::Error>;
}

/// Reads a record whose columns are in another order, or not all known: each with its number in [`Record::COLUMNS`].
pub(super) struct By<'c, R> {
    pub columns: &'c [Option<usize>],
    pub record: R,
}

impl<'de, R: Record> DeserializeSeed<'de> for By<'_, R> {
    type Value = R;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<R, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, R: Record> Visitor<'de> for By<'_, R> {
    type Value = R;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an array of at most {} values", self.columns.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut values: A) -> Result<R, A::Error> {
        for column in self.columns {
            let is_there = match column {
                Some(column) => self.record.take(*column, &mut values)?,
                None => values.next_element::<IgnoredAny>()?.is_some(),
            };
            if !is_there {
                return Ok(self.record);
            }
        }
        if values.next_element::<IgnoredAny>()?.is_some() {
            return Err(serde::de::Error::custom(format_args!(
                "there are more values than the {} columns of the heading",
                self.columns.len()
            )));
        }
        Ok(self.record)
    }
}

macro_rules! record {
    ($(#[$doc:meta])+ $name:ident, $kind:literal { $($(#[$about:meta])+ $column:ident: $type:ty,)+ }) => {
        $(#[$doc])+
        #[derive(Clone, Debug, Default, PartialEq)]
        #[allow(clippy::struct_excessive_bools)] // each is a column of its own
        pub struct $name { $($(#[$about])+ pub $column: $type,)+ }

        impl Serialize for $name {
            #[allow(clippy::float_cmp)] // exactly as by default, or not
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let none = Self::default();
                let (mut at, mut length) = (0, 0);
                $(
                    at += 1;
                    if self.$column != none.$column {
                        length = at;
                    }
                )+
                let mut row = serializer.serialize_seq(Some(length))?;
                let mut at = 0;
                $(
                    if at < length {
                        row.serialize_element(&self.$column)?;
                    }
                    at += 1;
                )+
                let _ = at;
                row.end()
            }
        }

        impl Record for $name {
            const KIND: &'static str = $kind;
            const COLUMNS: &'static [&'static str] = &[$(stringify!($column)),+];

            fn take<'de, A: SeqAccess<'de>>(
                &mut self,
                column: usize,
                values: &mut A,
            ) -> Result<bool, A::Error> {
                let mut at = 0;
                $(
                    if column == at {
                        let Some(value) = values.next_element::<Option<_>>()? else { return Ok(false) };
                        self.$column = value.unwrap_or_default();
                        return Ok(true);
                    }
                    at += 1;
                )+
                let _ = at;
                Ok(values.next_element::<IgnoredAny>()?.is_some())
            }
        }
    };
}

pub(super) use record;
