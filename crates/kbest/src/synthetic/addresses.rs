//! Made-up contact records, as at the end of letters and on web pages: names, companies, streets, phones.
//!
//! **What.** [`Addresses`] writes records of 24 kinds of segments ([`LABELS`]), the kinds of Druck, Narasimhan and Viola 2007,
//! section 5, and `OTHER` for what stands between them. Fields are missing, come in different orders, are abbreviated and
//! capitalised as people do it, and stand on lines of their own or on one line with commas, bars or dots between them. A
//! telephone number is one of home, office, fax, mobile or pager by the word before it; without one, it is the office's. So
//! neighbours, lines and whole segments say what a token alone does not.
//!
//! **Why.** For tests, examples and demonstrations of models of segments. **When not.** To judge accuracy on real records: these
//! have fewer surprises. **The same everywhere**: a seed gives the same records on every platform.
//!
//! Every position has two columns, the token and the number of its line; its label is that of its segment, and a segment is a run
//! of one label.
//!
//! ```
//! use kbest::synthetic::Addresses;
//! let records: Vec<_> = Addresses::new(7, 0).take(3).collect();
//! assert!(records.iter().all(|record| record.is_labelled() && record.columns() == Some(2)));
//! assert_eq!(records[0], Addresses::new(7, 0).next().unwrap());
//! assert_ne!(records[0], Addresses::new(7, 1).next().unwrap());
//! ```

use super::contacts::Contact;
use crate::sequence::Sequence;
use kbest_core::random::Random;

/// The kinds of segments.
pub const LABELS: [&str; 24] = [
    "FIRSTNAME",
    "MIDDLENAME",
    "LASTNAME",
    "NICKNAME",
    "SUFFIX",
    "TITLE",
    "JOBTITLE",
    "COMPANYNAME",
    "DEPARTMENT",
    "ADDRESSLINE",
    "CITY",
    "STATE",
    "COUNTRY",
    "POSTALCODE",
    "HOMEPHONE",
    "FAX",
    "COMPANYPHONE",
    "DIRECTCOMPANYPHONE",
    "MOBILEPHONE",
    "PAGER",
    "EMAIL",
    "INSTANTMESSAGE",
    "WEBPAGE",
    "OTHER",
];

/// Records without end.
#[derive(Debug, Clone)]
pub struct Addresses {
    random: Random,
}

impl Addresses {
    /// Records of a seed; different parts have different records.
    pub fn new(seed: u64, part: u64) -> Self {
        Addresses { random: Random::new(seed ^ part.rotate_left(40)) }
    }
}

impl Iterator for Addresses {
    type Item = Sequence;

    fn next(&mut self) -> Option<Sequence> {
        let contact = Contact::new(&mut self.random);
        Some(Page::new(&mut self.random).write(contact))
    }
}

/// Part of a field: text and its label.
pub(super) type Piece = (String, &'static str);

/// How a record is laid out.
struct Page<'r> {
    random: &'r mut Random,
    record: Sequence,
    line: usize,
    separator: Option<&'static str>, // between fields of a line; `None`: every field has a line of its own
    capitals: bool,
}

impl<'r> Page<'r> {
    fn new(random: &'r mut Random) -> Self {
        let separator = match random.unit() {
            x if x < 0.55 => None,
            x if x < 0.75 => Some(","),
            x if x < 0.87 => Some("|"),
            x if x < 0.94 => Some("•"),
            _ => Some(""),
        };
        let capitals = random.chance(0.06);
        Page { random, record: Sequence::new(), line: 1, separator, capitals }
    }

    fn write(mut self, mut contact: Contact) -> Sequence {
        contact.shuffle(self.random);
        let fields = contact.fields;
        for (i, field) in fields.iter().enumerate() {
            for (text, label) in field {
                self.tokens(text, label);
            }
            if i + 1 < fields.len() {
                self.separate();
            }
        }
        self.record
    }

    /// Writes one text, word by word.
    fn tokens(&mut self, text: &str, label: &str) {
        let shout = self.capitals && !text.contains('@');
        for word in text.split_whitespace() {
            let word = if shout { word.to_uppercase() } else { word.to_owned() };
            self.record.push([word.as_str(), &self.line.to_string()]);
            self.record.set_label(label);
        }
    }

    /// Ends a field: by a line, a comma at the last token, or a token between.
    fn separate(&mut self) {
        match self.separator {
            None => self.line += usize::from(!self.random.chance(0.08)),
            Some(",") => self.append(","),
            Some("") => {}
            Some(mark) => self.tokens(mark, "OTHER"),
        }
        if self.separator.is_some() && self.random.chance(0.15) {
            self.line += 1;
        }
    }

    /// Puts a mark at the end of the last token.
    fn append(&mut self, mark: &str) {
        let Some(last) = self.record.len().checked_sub(1) else { return };
        let cell = |column: usize| self.record.cell(last, column).unwrap_or_default().to_owned();
        let (word, line, label) = (cell(0), cell(1), self.record.label(last).unwrap_or_default().to_owned());
        self.record.pop();
        self.record.push([format!("{word}{mark}"), line]);
        self.record.set_label(&label);
    }
}

impl Contact {
    /// Puts fields in another order, now and then: the name stays first as a rule.
    fn shuffle(&mut self, random: &mut Random) {
        if random.chance(0.35) {
            let order = random.shuffled(self.fields.len().saturating_sub(1));
            let rest = self.fields.split_off(1.min(self.fields.len()));
            self.fields.extend(order.iter().map(|&i| rest[i as usize].clone()));
        }
        if random.chance(0.1) {
            self.fields.rotate_left(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_occur_and_no_other() {
        let mut seen = std::collections::BTreeSet::new();
        for record in Addresses::new(1, 0).take(2000) {
            assert!(!record.is_empty());
            for t in 0..record.len() {
                let token = record.cell(t, 0).unwrap();
                assert!(!token.is_empty() && !token.contains(char::is_whitespace));
                seen.insert(record.label(t).unwrap().to_owned());
            }
        }
        let all: std::collections::BTreeSet<String> = LABELS.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn lines_only_rise() {
        for record in Addresses::new(3, 0).take(200) {
            let lines: Vec<usize> =
                (0..record.len()).map(|t| record.cell(t, 1).unwrap().parse().unwrap()).collect();
            assert!(lines.is_sorted() && lines[0] == 1, "{lines:?}");
        }
    }
}
