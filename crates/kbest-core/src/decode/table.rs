//! The code that the table of decoders in `catalogue.rs` expands to, so that each fact is written down once.

/// Makes from the table: the catalogue, the enum of all decoders with its names, the scratch with the memory of each
/// decoder, and the catalogue entry of each decoder.
///
/// A row is `Type: memory MODULE, of LATTICES, page "PAGE" { "name" => value, ...; }`, with a name for each value of the type that
/// has its own; other values use the first name. `memory` is left out if the decoder has none of its own. Decoders of
/// segments follow: their searches are in `segment`, so a row has no type, only a variant and perhaps its option.
macro_rules! decoders {
    (@entry $name:literal, $lattices:ident, $answers:ident, $exact:literal, $cost:literal, $advice:literal, $page:literal) => {
        Entry {
            name: $name,
            lattices: Lattices::$lattices,
            answers: Answers::$answers,
            exact: $exact,
            cost: $cost,
            advice: $advice,
            page: $page,
        }
    };
    ($(
        $type:ident: $(memory $module:ident,)? of $lattices:ident, page $page:literal {
            $(
                $name:literal => $value:expr,
                answers: $answers:ident, exact: $exact:literal,
                cost: $cost:literal,
                advice: $advice:literal;
            )+
        }
    )+
    @segments page $segments_page:literal {
        $(
            $segments_name:literal => $variant:ident $(($option:ident))?,
            answers: $segments_answers:ident, exact: $segments_exact:literal,
            cost: $segments_cost:literal,
            advice: $segments_advice:literal;
        )+
    }) => {
        /// All decoders, `auto` first.
        pub const CATALOGUE: &[Entry] = &[
            $($(decoders!(@entry $name, $lattices, $answers, $exact, $cost, $advice, $page),)+)+
            $(decoders!(@entry $segments_name, Segments, $segments_answers, $segments_exact, $segments_cost, $segments_advice, $segments_page),)+
        ];

        /// Any decoder, chosen at run time.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Decoder {
            $(
                $(#[doc = concat!("`", $name, "`: ", $advice, ".\n")])+
                $type($type),
            )+
            $(
                #[doc = concat!("`", $segments_name, "`: ", $segments_advice, ".\n")]
                $variant $(($option))?,
            )+
        }

        impl Decoder {
            /// This decoder's entry in the catalogue.
            pub fn entry(&self) -> &'static Entry {
                match self {
                    $(Decoder::$type(decoder) => decoder.entry(),)+
                    $(Decoder::$variant { .. } => {
                        const ENTRY: &Entry = &decoders!(@entry $segments_name, Segments, $segments_answers, $segments_exact, $segments_cost, $segments_advice, $segments_page);
                        ENTRY
                    })+
                }
            }

            /// The decoder of that name, with default options.
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some(Decoder::$type($value)),)+)+
                    $($segments_name => Some(Decoder::$variant $(($option::default()))?),)+
                    _ => None,
                }
            }
        }

        impl Decoder {
            fn with_option(self, option: &str) -> Result<Self> {
                match self {
                    $(Decoder::$type(decoder) => decoder.with_option(option).map(Decoder::$type),)+
                    Decoder::SemiAstar(_) => option.parse().map(Decoder::SemiAstar),
                    other => Err(no_option(other.name(), option)),
                }
            }

            fn option(&self) -> Option<String> {
                match self {
                    $(Decoder::$type(decoder) => decoder.option(),)+
                    Decoder::SemiAstar(estimate) => {
                        (*estimate != Estimate::default()).then(|| estimate.name().to_owned())
                    }
                    _ => None,
                }
            }

            /// Calls the decoder.
            pub(super) fn start<S: Float>(call: Call<'_, S>) -> Result<()> {
                match call.decoder {
                    $(Decoder::$type(decoder) => start(decoder, call),)+
                    other => Err(other.unfit(Lattices::Positions)),
                }
            }
        }

        impl Decode for Decoder {
            fn entry(&self) -> &'static Entry {
                Decoder::entry(self)
            }

            fn supports(&self, k: usize) -> Result<()> {
                self.supports_on(Lattices::Positions, k)
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
                        &[$(decoders!(@entry $name, $lattices, $answers, $exact, $cost, $advice, $page)),+];
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
