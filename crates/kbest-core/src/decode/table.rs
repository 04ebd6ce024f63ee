//! The code that the table of decoders in `catalogue.rs` expands to, so that each fact is written down once.

/// Makes from the table: the catalogue, the enum of all decoders with its names, the scratch with the memory of each
/// decoder, and the catalogue entry of each decoder.
///
/// A row is `Type: memory MODULE, page "PAGE" { "name" => value, ...; }`, with a name for each value of the type that
/// has its own; other values use the first name. `memory` is left out if the decoder has none of its own.
macro_rules! decoders {
    (@entry $name:literal, $answers:ident, $exact:literal, $cost:literal, $advice:literal, $page:literal) => {
        Entry {
            name: $name,
            answers: Answers::$answers,
            exact: $exact,
            cost: $cost,
            advice: $advice,
            page: $page,
        }
    };
    ($(
        $type:ident: $(memory $module:ident,)? page $page:literal {
            $(
                $name:literal => $value:expr,
                answers: $answers:ident, exact: $exact:literal,
                cost: $cost:literal,
                advice: $advice:literal;
            )+
        }
    )+) => {
        /// All decoders, `auto` first.
        pub const CATALOGUE: &[Entry] = &[
            $($(decoders!(@entry $name, $answers, $exact, $cost, $advice, $page)),+),+
        ];

        /// Any decoder, chosen at run time.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Decoder {
            $(
                $(#[doc = concat!("`", $name, "`: ", $advice, ".\n")])+
                $type($type),
            )+
        }

        impl Decoder {
            /// This decoder's entry in the catalogue.
            pub fn entry(&self) -> &'static Entry {
                match self {
                    $(Decoder::$type(decoder) => decoder.entry(),)+
                }
            }

            /// The decoder of that name, with default options.
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some(Decoder::$type($value)),)+)+
                    _ => None,
                }
            }
        }

        impl Decoder {
            fn with_option(self, option: &str) -> Result<Self> {
                match self {
                    $(Decoder::$type(decoder) => decoder.with_option(option).map(Decoder::$type),)+
                }
            }

            fn option(&self) -> Option<String> {
                match self {
                    $(Decoder::$type(decoder) => decoder.option(),)+
                }
            }

            /// Calls the decoder.
            pub(super) fn start<S: Float>(call: Call<'_, S>) -> Result<()> {
                match call.decoder {
                    $(Decoder::$type(decoder) => start(decoder, call),)+
                }
            }
        }

        impl Decode for Decoder {
            fn entry(&self) -> &'static Entry {
                Decoder::entry(self)
            }
        }

        $(
            impl From<$type> for Decoder {
                fn from(decoder: $type) -> Self {
                    Decoder::$type(decoder)
                }
            }

            impl Decode for $type {
                fn entry(&self) -> &'static Entry {
                    const ENTRIES: &[Entry] =
                        &[$(decoders!(@entry $name, $answers, $exact, $cost, $advice, $page)),+];
                    let named = [$($value),+].iter().position(|decoder| decoder == self);
                    &ENTRIES[named.unwrap_or(0)]
                }
            }
        )+

        /// Working memory: make one per thread and pass it to every call. It grows to fit the largest sequence and is
        /// not freed between calls.
        #[derive(Debug, Default)]
        pub struct Scratch<S: Float> {
            /// Count the work ([`super::Counters`]) while decoding.
            pub counting: bool,
            /// Keep which vertices are opened ([`super::Trace`]) while decoding, and count.
            pub tracing: bool,
            /// Let [`super::Auto`] choose by its plan alone, so that the same engine answers in every run. Otherwise it also learns from
            /// the time that sequences take which of its engines is fastest on others like them, with the same edges. The paths are the
            /// same. While counting or tracing, nothing is learned, either.
            pub planned: bool,
            pub(crate) experience: super::auto::Experience,
            $($(pub(crate) $module: super::$module::Memory<S>,)?)+
        }
    };
}
pub(super) use decoders;
