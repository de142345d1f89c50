//! Fields with names and units, walked in a fixed order.
//!
//! A recording stands alone because it opens with the names and units of its columns; a parser of
//! `/proc` finds the field for a line by the kernel's own name; a program reads a sample as a list
//! of numbers. All three use the one table that the macro `section!` makes beside each struct, so
//! that a new field is one line in one place.

use units::{Bytes, Micros, Pages, Percent};

/// A number that can stand in a column.
pub trait Quantity: Copy {
    /// The unit, as a recording's header names it.
    const UNIT: &'static str;
    /// The plain number.
    fn raw(self) -> u64;
    /// The number with its unit back.
    fn from_raw(raw: u64) -> Self;
}

macro_rules! quantity {
    ($type:ty, $unit:literal) => {
        impl Quantity for $type {
            const UNIT: &'static str = $unit;
            fn raw(self) -> u64 {
                self.get()
            }
            fn from_raw(raw: u64) -> Self {
                Self::new(raw)
            }
        }
    };
}

quantity!(Bytes, "bytes");
quantity!(Pages, "pages");
quantity!(Micros, "us");

impl Quantity for Percent {
    const UNIT: &'static str = "0.01%";
    fn raw(self) -> u64 {
        self.get()
    }
    fn from_raw(raw: u64) -> Self {
        Self::hundredths(raw)
    }
}

impl Quantity for u64 {
    const UNIT: &'static str = "count";
    fn raw(self) -> u64 {
        self
    }
    fn from_raw(raw: u64) -> Self {
        raw
    }
}

/// What a column is called and counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The kernel's own name where it has one.
    pub name: &'static str,
    /// One of `bytes`, `pages`, `us`, `0.01%`, `count`.
    pub unit: &'static str,
}

impl Field {
    /// Columns of these names, all counts.
    pub(crate) const fn counts<const NUMBER: usize>(
        names: [&'static str; NUMBER],
    ) -> [Self; NUMBER] {
        let mut fields = [Self {
            name: "",
            unit: u64::UNIT,
        }; NUMBER];
        let mut index = 0;
        while index < NUMBER {
            fields[index].name = names[index];
            index += 1;
        }
        fields
    }
}

/// A part of a sample: a list of fields, each a number or unknown.
pub trait Section {
    /// The columns, in order. The same for every value of the type.
    fn fields(&self) -> &'static [Field];
    /// The value of column `index`; `None` if unknown, or if there is no such column.
    fn get(&self, index: usize) -> Option<u64>;
    /// Sets column `index`; nothing happens if there is no such column.
    fn set(&mut self, index: usize, value: Option<u64>);
}

/// Declares a struct of optional quantities together with its table of names and units.
macro_rules! section {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $kernel:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: Option<$type>,)*
        }

        impl $name {
            /// The columns, in order.
            pub const FIELDS: &'static [$crate::section::Field] = &[
                $($crate::section::Field {
                    name: $kernel,
                    unit: <$type as $crate::section::Quantity>::UNIT,
                },)*
            ];
        }

        impl $crate::section::Section for $name {
            fn fields(&self) -> &'static [$crate::section::Field] {
                Self::FIELDS
            }

            #[allow(unused_assignments)]
            fn get(&self, index: usize) -> Option<u64> {
                let mut column = 0;
                $(if index == column {
                    return self.$field.map($crate::section::Quantity::raw);
                }
                column += 1;)*
                None
            }

            #[allow(unused_assignments)]
            fn set(&mut self, index: usize, value: Option<u64>) {
                let mut column = 0;
                $(if index == column {
                    self.$field = value.map($crate::section::Quantity::from_raw);
                    return;
                }
                column += 1;)*
            }
        }
    };
}

pub(crate) use section;
