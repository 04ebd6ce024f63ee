//! Elements of any type and byte order, read without trusting what a header claims.
//!
//! The claimed number of elements decides only when to stop: memory grows chunk by chunk with the bytes actually
//! present, so a small file cannot cause a large allocation.

use super::array::Data;
use std::io::{self, Read};

/// Bytes read at once.
const CHUNK: usize = 1 << 18;

/// How an element is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
}

impl Kind {
    /// Bytes per element.
    pub(super) fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 | Kind::Bool => 1,
            Kind::F16 | Kind::Bf16 | Kind::I16 | Kind::U16 => 2,
            Kind::F32 | Kind::I32 | Kind::U32 => 4,
            Kind::F64 | Kind::I64 | Kind::U64 => 8,
        }
    }
}

/// Bytes that an array of this shape takes, unless the number overflows.
pub(super) fn bytes_of(shape: &[usize], kind: Kind) -> Option<usize> {
    let elements = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent))?;
    elements.checked_mul(kind.size()).filter(|&bytes| isize::try_from(bytes).is_ok())
}

/// Reads `bytes` bytes of elements.
pub(super) fn read(
    reader: &mut impl Read,
    kind: Kind,
    big_endian: bool,
    bytes: usize,
) -> Result<Data, String> {
    macro_rules! numbers {
        ($type:ty, $variant:ident, $convert:expr) => {{
            const SIZE: usize = size_of::<$type>();
            let mut values = Vec::new();
            chunks(reader, bytes, |chunk| {
                // Doubling bounds both the copies and the cost of a false claim.
                values.try_reserve(chunk.len() / SIZE).map_err(|_| String::from("not enough memory"))?;
                for element in chunk.chunks_exact(SIZE) {
                    let element: [u8; SIZE] = element.try_into().expect("chunks_exact gives whole elements");
                    let number = if big_endian {
                        <$type>::from_be_bytes(element)
                    } else {
                        <$type>::from_le_bytes(element)
                    };
                    values.push($convert(number)?);
                }
                Ok(())
            })?;
            Ok(Data::$variant(values))
        }};
    }
    match kind {
        Kind::F16 => numbers!(u16, Single, |bits| Ok::<_, String>(from_half(bits))),
        Kind::Bf16 => numbers!(u16, Single, |bits| Ok::<_, String>(f32::from_bits(u32::from(bits) << 16))),
        Kind::F32 => numbers!(f32, Single, Ok::<_, String>),
        Kind::F64 => numbers!(f64, Double, Ok::<_, String>),
        Kind::I8 => numbers!(i8, Whole, |n| Ok::<_, String>(i64::from(n))),
        Kind::I16 => numbers!(i16, Whole, |n| Ok::<_, String>(i64::from(n))),
        Kind::I32 => numbers!(i32, Whole, |n| Ok::<_, String>(i64::from(n))),
        Kind::I64 => numbers!(i64, Whole, Ok::<_, String>),
        Kind::U8 => numbers!(u8, Whole, |n| Ok::<_, String>(i64::from(n))),
        Kind::U16 => numbers!(u16, Whole, |n| Ok::<_, String>(i64::from(n))),
        Kind::U32 => numbers!(u32, Whole, |n| Ok::<_, String>(i64::from(n))),
        Kind::U64 => numbers!(u64, Whole, |n| {
            i64::try_from(n).map_err(|_| format!("expected integers below 2^63, got {n}"))
        }),
        Kind::Bool => numbers!(u8, Truth, |n| Ok::<_, String>(n != 0)),
    }
}

/// Calls `use_chunk` with whole elements until `bytes` bytes have been read.
fn chunks(
    reader: &mut impl Read,
    bytes: usize,
    mut use_chunk: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let mut buffer = vec![0; bytes.min(CHUNK)];
    let mut left = bytes;
    while left > 0 {
        let chunk = &mut buffer[..left.min(CHUNK)]; // CHUNK is a multiple of every element's size
        reader.read_exact(chunk).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                format!("expected {bytes} bytes of elements, got fewer: the file is cut short")
            }
            _ => format!("cannot be read: {error}"),
        })?;
        use_chunk(chunk)?;
        left -= chunk.len();
    }
    Ok(())
}

/// IEEE half precision to single; exact.
fn from_half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 != 0 { -1.0f32 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    let power = |exponent: i32| f32::from_bits(((exponent + 127) as u32) << 23);
    sign * match exponent {
        0 => fraction * power(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (fraction + 1024.0) * power(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_exact() {
        let known = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
        ];
        for (bits, value) in known {
            assert_eq!(from_half(bits), value);
        }
        assert_eq!(from_half(0xfc00), f32::NEG_INFINITY);
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn a_claim_without_bytes_costs_nothing() {
        let error = read(&mut io::empty(), Kind::F32, false, 1 << 60).unwrap_err();
        assert!(error.contains("cut short"), "{error}");
        assert_eq!(bytes_of(&[usize::MAX, 2], Kind::U8), None);
        assert_eq!(bytes_of(&[usize::MAX / 4, 2], Kind::F64), None);
        assert_eq!(bytes_of(&[], Kind::F64), Some(8));
    }

    #[test]
    fn both_byte_orders() {
        let Ok(Data::Whole(values)) = read(&mut &[1u8, 2][..], Kind::I16, true, 2) else { panic!() };
        assert_eq!(values, [258]);
        let Ok(Data::Whole(values)) = read(&mut &[1u8, 2][..], Kind::I16, false, 2) else { panic!() };
        assert_eq!(values, [513]);
    }
}
