use std::fmt;

use indicatif::HumanCount;

/// Displays a number with thousands separators: `1,234,567`.
#[derive(Debug, Clone, Copy)]
pub struct Thousands(pub i64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = HumanCount(self.0.unsigned_abs()).to_string();
        f.pad_integral(self.0 >= 0, "", &digits)
    }
}

#[cfg(test)]
mod tests {
    use super::Thousands;

    #[test]
    fn digits_are_in_groups_of_three() {
        assert_eq!(Thousands(-1_234_567).to_string(), "-1,234,567");
        assert_eq!(format!("{:>6}", Thousands(1000)), " 1,000");
    }
}
