//! Numbers as C prints them: decimal, or hexadecimal (`%a`), as Wapiti writes its weights.

/// A weight: decimal or hexadecimal, finite as `f32`.
pub(super) fn weight(text: &str) -> Option<f64> {
    number(text).filter(|value| (*value as f32).is_finite())
}

fn number(text: &str) -> Option<f64> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = match unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits)?,
        None if unsigned.starts_with(['-', '+']) => return None,
        None => unsigned.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// Parses what follows `0x`: hexadecimal digits with or without a point, then the power of two. Exact if the value fits
/// a double, otherwise rounded to nearest (twice, if the result is subnormal).
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = match text.split_once(['p', 'P']) {
        Some((digits, power)) => (digits, parse_power(power)?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut mantissa = 0u64;
    let mut exponent = power.saturating_sub(4 * i64::try_from(fraction.len()).ok()?);
    for byte in whole.bytes().chain(fraction.bytes()) {
        let digit = u64::from(char::from(byte).to_digit(16)?);
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
        } else {
            mantissa |= u64::from(digit != 0); // far below the last bit of a double: it only matters whether it is 0
            exponent = exponent.saturating_add(4);
        }
    }
    Some(times_power_of_two(mantissa as f64, exponent))
}

fn parse_power(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX); // can only fail because of too many digits
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

/// `value * 2^exponent`, in steps whose factors are doubles.
fn times_power_of_two(mut value: f64, exponent: i64) -> f64 {
    const STEP: i64 = 1000; // 2^1000 and 2^-1000 are normal
    let mut left = exponent.clamp(-3 * STEP, 3 * STEP); // beyond that, the result is 0 or infinite anyway
    while left != 0 {
        let step = left.clamp(-STEP, STEP);
        value *= 2f64.powi(step as i32);
        left -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `printf("%a")` prints it.
    fn print(value: f64) -> String {
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52) as i64 & 0x7ff, bits & ((1 << 52) - 1));
        let (whole, exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
        let sign = if value.is_sign_negative() { "-" } else { "" };
        format!("{sign}0x{whole}.{fraction:013x}p{exponent:+}")
    }

    #[test]
    fn what_is_printed_reads_back() {
        let mut state = 7u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = f64::from_bits(state ^ state >> 31);
            if value.is_finite() {
                assert_eq!(number(&print(value)), Some(value), "{}", print(value));
            }
        }
        for value in [0.0, 1.0, -0.5, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::MIN] {
            assert_eq!(number(&print(value)), Some(value));
        }
    }

    #[test]
    fn other_spellings() {
        let cases = [
            ("0x1.8p+1", 3.0),
            ("0X1.8P1", 3.0),
            ("0x.8", 0.5),
            ("0x18", 24.0),
            ("-0x0p+0", 0.0),
            ("+0x1p-2", 0.25),
            ("0x0.0000000000001p-1022", 5e-324),
            ("0x1p-99999999999999999999", 0.0),
            ("0x10000000000000000000000p-92", 0.0625),
            ("0x1.00000000000008000001p0", 1.0 + f64::EPSILON),
            ("0x1.00000000000008p0", 1.0), // half way: to even
            ("-1.5", -1.5),
            ("2.5e-3", 0.0025),
        ];
        for (text, expected) in cases {
            assert_eq!(weight(text), Some(expected), "{text}");
        }
        let bad = [
            "",
            "-",
            "0x",
            "0x.",
            "0xp1",
            "0x1p",
            "0x1p+",
            "0x1px",
            "0x1p1.5",
            "0xg",
            "0x1..8",
            "--1",
            "+-1",
            "-+0x1",
            "1x",
            "nan",
            "inf",
            "-inf",
            "0x1p1024",
            "0x1p128",
            "1e39",
            "0x1p99999999999999999999",
            "1 ",
            "é",
        ];
        for text in bad {
            assert_eq!(weight(text), None, "{text}");
        }
    }
}
