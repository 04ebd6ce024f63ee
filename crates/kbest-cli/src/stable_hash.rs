//! A hash that is the same on every machine and in every version. It detects change, not malice.

/// FNV-1a.
pub fn stable_hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_as_published() {
        assert_eq!(stable_hash([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash(*b"foobar"), 0x8594_4171_f739_67e8);
    }
}
