//! Labels that are already in files: gold and predicted, side by side in one file or in two.

use super::counts::{Compared, Counts, Wanted};
use super::errors::Place;
use super::{Arguments, by_of, spans};
use crate::failure::{Failure, Result};
use crate::text::{Source, file_name};
use crate::warning::some_names;
use kbest::Sequence;
use kbest::text::{Format, Reader};
use std::collections::HashSet;
use std::path::Path;

/// A sequence with both labels of each position.
struct Pair {
    sequence: Sequence,
    line: u64,
    gold: Vec<String>,
    chosen: Vec<String>,
    sure: Option<Vec<f64>>,
}

/// Compares the labels of a file, or of two.
pub(super) fn compare(arguments: &Arguments) -> Result<(Counts, Wanted)> {
    let file = arguments.file.as_deref();
    let source = arguments.data.source(file, None)?;
    let name = file_name(file);
    let mut pairs = match &arguments.predicted {
        Some(predicted) => two_files(arguments, &source, predicted)?,
        None => one_file(&source, file)?,
    };
    take_off_probabilities(&mut pairs);
    expect_labels(&pairs, &name, arguments.predicted.is_some())?;
    let mut names = pairs.iter().flat_map(|pair| pair.gold.iter().chain(&pair.chosen)).map(String::as_str);
    let wanted = Wanted {
        spans: spans(arguments, &mut names)?,
        by: by_of(arguments, source.text_format())?,
        errors: arguments.errors,
    };
    let mut counts = Counts::new(&wanted);
    for pair in &pairs {
        let [gold, chosen] =
            [&pair.gold, &pair.chosen].map(|labels| labels.iter().map(String::as_str).collect::<Vec<_>>());
        let compared = Compared {
            sequence: &pair.sequence,
            place: Place { file: &name, line: pair.line, format: source.text_format().format },
            gold: &gold,
            chosen: &chosen,
            unknown: None,
            sure: pair.sure.as_deref(),
            segments: None,
        };
        counts.add(&wanted, &compared)?;
    }
    Ok((counts, wanted))
}

/// Refuses the heading of a candidate where a token should be.
pub(super) fn refuse_candidates(sequence: &Sequence, file: &str, line: u64) -> Result<()> {
    let first = || {
        // In columns its words are cells; in items, which have no blanks between fields, it is a label.
        let cells = || sequence.cells(0).chain(sequence.label(0));
        let may_be = !sequence.is_empty() && cells().any(|cell| cell.starts_with('#'));
        if may_be { cells().collect::<Vec<_>>().join(" ") } else { String::new() }
    };
    let comment = sequence.source_lines().map(|line| line.text).find(|line| rank_of(line).is_some());
    let heading = match comment {
        // The best answer alone can be compared.
        Some(comment) => (rank_of(comment) > Some(0)).then(|| comment.to_owned()),
        None => Some(first()).filter(|first| rank_of(first).is_some()),
    };
    let other_rank = || sequence.keys().any(|(key, rank)| key == "rank" && rank != "0");
    let heading = heading.or_else(|| other_rank().then(|| "a `rank` other than 0".to_owned()));
    heading.map_or(Ok(()), |heading| {
        let problem =
            format!("expected one answer per sequence, got several: {heading}; tag without -k and --scores");
        Err(Failure::input(&format!("{file}:{line}"), problem))
    })
}

/// The rank in a line `# rank score`, with or without a probability.
fn rank_of(line: &str) -> Option<usize> {
    if !line.starts_with("# ") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["#", rank, score] | ["#", rank, score, _] if score.parse::<f64>().is_ok() => rank.parse().ok(),
        _ => None,
    }
}

/// Reads the next sequence; an error about its columns may be due to headings of candidates.
fn next(reader: &mut Reader, sequence: &mut Sequence) -> Result<bool> {
    let read = reader.read_into(sequence);
    let file = reader.file().to_owned();
    refuse_candidates(sequence, &file, reader.first_line())?;
    Ok(read?)
}

/// Gold and predicted labels from the last two columns, or from the keys `gold` and `tags`.
fn one_file(source: &Source, file: Option<&Path>) -> Result<Vec<Pair>> {
    let format = source.text_format().format;
    if !matches!(format, Format::Columns | Format::Jsonl) {
        return Err(Failure::Usage(format!(
            "without --model: expected the predicted labels in another file (--predicted FILE) for --format {}, got \
             one file",
            format.name()
        )));
    }
    let mut reader = source.open_labelled(file)?;
    let mut sequence = Sequence::new();
    let mut pairs = Vec::new();
    while next(&mut reader, &mut sequence)? {
        let gold = match format {
            Format::Jsonl => gold_of_object(&sequence, &reader)?,
            // The reader takes the last column as the label and ensures that there is one before it.
            _ => {
                (0..sequence.len()).map(|t| sequence.cells(t).last().unwrap_or_default().to_owned()).collect()
            }
        };
        pairs.push(pair(&sequence, reader.first_line(), gold, &sequence));
    }
    Ok(pairs)
}

fn gold_of_object(sequence: &Sequence, reader: &Reader) -> Result<Vec<String>> {
    let gold = sequence.keys().find(|(key, _)| *key == "gold").map(|(_, value)| value);
    let gold = gold.and_then(|gold| serde_json::from_str::<Vec<String>>(gold).ok());
    gold.filter(|gold| gold.len() == sequence.len()).ok_or_else(|| {
        let place = format!("{}:{}", reader.file(), reader.line());
        Failure::input(&place, "without --model: expected a list `gold` beside `tags`, or --predicted FILE")
    })
}

/// The sequences of two files, which must have the same tokens.
fn two_files(arguments: &Arguments, source: &Source, predicted: &Path) -> Result<Vec<Pair>> {
    let mut gold_reader = source.open_labelled(arguments.file.as_deref())?;
    let other = arguments.data.source(Some(predicted), Some(source.text_format()))?;
    let mut reader = other.open_labelled(Some(predicted))?;
    let (mut gold, mut chosen) = (Sequence::new(), Sequence::new());
    let mut pairs = Vec::new();
    loop {
        let more = [next(&mut gold_reader, &mut gold)?, next(&mut reader, &mut chosen)?];
        let place = |line: u64| format!("{}:{line}", reader.file());
        let wrong = |line: u64, expected: String, got: String| {
            Failure::input(
                &place(line),
                format!("expected {expected}, as in {}, got {got}", gold_reader.file()),
            )
        };
        match more {
            [false, false] => return Ok(pairs),
            [true, true] => {}
            [true, false] => {
                return Err(wrong(reader.line(), "another sequence".into(), "the end of the file".into()));
            }
            [false, true] => {
                return Err(wrong(
                    reader.first_line(),
                    "the end of the file".into(),
                    "another sequence".into(),
                ));
            }
        }
        if gold.len() != chosen.len() {
            let expected = format!("a sequence of {} tokens", gold.len());
            return Err(wrong(reader.first_line(), expected, chosen.len().to_string()));
        }
        let differs = |t: &usize| match (gold.cell(*t, 0), chosen.cell(*t, 0)) {
            (Some(one), Some(other)) => one != other,
            _ => false, // answers in items are labels alone
        };
        if let Some(t) = (0..gold.len()).find(differs) {
            let token = |sequence: &Sequence| format!("`{}`", sequence.cell(t, 0).unwrap_or_default());
            return Err(wrong(reader.first_line(), format!("token {}", token(&gold)), token(&chosen)));
        }
        let labels = (0..gold.len()).map(|t| gold.label(t).unwrap_or_default().to_owned()).collect();
        pairs.push(pair(&gold, gold_reader.first_line(), labels, &chosen));
    }
}

fn pair(sequence: &Sequence, line: u64, gold: Vec<String>, chosen: &Sequence) -> Pair {
    Pair {
        sequence: sequence.clone(),
        line,
        gold,
        chosen: (0..chosen.len()).map(|t| chosen.label(t).unwrap_or_default().to_owned()).collect(),
        sure: probabilities_beside(chosen),
    }
}

/// The probabilities that `tag --marginals` writes into JSON and CoNLL-U.
fn probabilities_beside(sequence: &Sequence) -> Option<Vec<f64>> {
    if let Some((_, list)) = sequence.keys().find(|(key, _)| *key == "marginals") {
        return serde_json::from_str::<Vec<f64>>(list).ok().filter(|list| list.len() == sequence.len());
    }
    let words = sequence.source_lines().filter(|line| line.position.is_some());
    let of_word = |line: &str| {
        let misc = line.split('\t').next_back()?;
        misc.split('|').find_map(|part| part.strip_prefix("Confidence="))?.parse::<f64>().ok()
    };
    let list: Option<Vec<f64>> = words.map(|line| of_word(line.text)).collect();
    list.filter(|list| !list.is_empty() && list.len() == sequence.len())
}

/// Where all predicted labels end in a probability, as `tag --marginals` writes them (`NOUN/0.9871`), the probability is not part of the label.
fn take_off_probabilities(pairs: &mut [Pair]) {
    let split = |label: &str| {
        let (name, number) = label.rsplit_once('/')?;
        let digits = number.strip_prefix("0.").or_else(|| number.strip_prefix("1."))?;
        let is_number = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
        number.parse::<f64>().ok().filter(|_| is_number).map(|p| (name.to_owned(), p))
    };
    let all = |labels: &dyn Fn(&Pair) -> bool| {
        pairs.iter().any(|pair| !pair.gold.is_empty()) && pairs.iter().all(labels)
    };
    let ends = |labels: &[String]| labels.iter().all(|label| split(label).is_some());
    if !all(&|pair| ends(&pair.chosen)) || all(&|pair| ends(&pair.gold)) {
        return;
    }
    for pair in pairs {
        let parts: Vec<(String, f64)> = pair.chosen.iter().filter_map(|label| split(label)).collect();
        (pair.chosen, pair.sure) = {
            let (names, sure): (Vec<String>, Vec<f64>) = parts.into_iter().unzip();
            (names, Some(sure))
        };
    }
}

/// Refuses to compare words with labels: most predicted labels must be labels somewhere in the gold ones.
fn expect_labels(pairs: &[Pair], file: &str, two: bool) -> Result<()> {
    let gold: HashSet<&str> = pairs.iter().flat_map(|pair| &pair.gold).map(String::as_str).collect();
    let all = || pairs.iter().flat_map(|pair| &pair.chosen).map(String::as_str);
    let strange = all().filter(|label| !gold.contains(label)).count();
    if 2 * strange <= all().count() {
        return Ok(());
    }
    let odd: Vec<&str> = {
        let mut seen = HashSet::new();
        all().filter(|label| !gold.contains(label) && seen.insert(*label)).collect()
    };
    let right: Vec<&str> = {
        let mut seen = HashSet::new();
        pairs
            .iter()
            .flat_map(|pair| &pair.gold)
            .map(String::as_str)
            .filter(|label| seen.insert(*label))
            .collect()
    };
    let what = match two {
        true => "expected gold and predicted labels of one kind",
        false => {
            "without --model the last two columns are compared: expected gold and predicted labels, or -m MODEL"
        }
    };
    let (right, odd) = (some_names(right.into_iter()), some_names(odd.into_iter()));
    Err(Failure::input(file, format!("{what}, got {right} as gold and {odd} as predicted labels")))
}
