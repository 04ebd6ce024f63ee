//! `kbest bench tag` with a model of segments: decoders side by side, from tokens to segments.
//!
//! Decoders take turns on every sequence, in another order each time and after one lattice that is not timed, so that none finds
//! a colder cache than the others; of all rounds the best counts, sequence by sequence. Each answer is timed three ways: the lattice (features of positions, their weights), decoding with the features of segments that it asks for, and decoding
//! once more, when all of these are known. The last row is a limit: segments without features of their own. The answers of exact
//! decoders must be the same.

use super::Arguments;
use crate::failure::{Failure, Result};
use crate::output::{Output, Progress};
use crate::table;
use kbest::scoring::Scorer;
use kbest::scoring::SegmentModelMemory;
use kbest::segment::{self, Estimate, Segment};
use kbest::{Decoder, SegmentModel, Sequence, Structure, simd};
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

/// What is compared unless a decoder is named.
const USUAL: [&str; 3] = ["semi-viterbi-simd", "semi-funnel", "semi-astar"];

/// Added to them if the model has a bound.
const LEARNED: Decoder = Decoder::SemiAstar(Estimate::Learned);

/// What decodes segments without features of their own.
const LIMIT: Decoder = Decoder::SemiViterbiSimd;

#[derive(Debug, Serialize)]
struct Report {
    labels: usize,
    sequences: usize,
    tokens: usize,
    segments: usize,
    level: &'static str,
    /// Sequences go by length: the shortest of each group, and how many there are.
    lengths: Vec<(usize, usize)>,
    decoders: Vec<Row>,
    limit: Limit,
}

/// First lengths of the groups.
const GROUPS: [usize; 8] = [1, 5, 9, 13, 19, 27, 37, 51];

/// Microseconds per sequence if segments had no features of their own.
#[derive(Debug, Serialize)]
struct Limit {
    lattice: f64,
    decode: f64,
    whole: f64,
    speedup: f64,
}

#[derive(Debug, Serialize)]
struct Row {
    decoder: String,
    /// Microseconds per sequence.
    lattice: f64,
    decode_with_features: f64,
    decode_alone: f64,
    whole: f64,
    /// Time of the first decoder over time of this one, from tokens to segments.
    speedup: f64,
    speedup_of_decoding_alone: f64,
    /// The same by length; nothing for a group without sequences.
    speedup_by_length: Vec<Option<f64>>,
    /// The share of all segments whose own features were computed.
    asked: f64,
}

/// Best seconds of one decoder on one sequence: lattice, decoding with features, decoding alone.
type Times = [f64; 3];

struct Contender {
    name: String,
    decoder: Decoder,
    times: Vec<Times>,
    asked: usize,
    answers: Vec<Vec<Segment>>,
}

pub(super) fn run(arguments: &Arguments, model: &SegmentModel) -> Result<()> {
    if arguments.items.is_some() {
        return Err(Failure::Usage(
            "--items: expected a model of single positions, got one of segments".into(),
        ));
    }
    let source = arguments.data.source(Some(&arguments.file), model.text_format())?;
    let labelled = source.open_labelled(Some(&arguments.file))?;
    let sequences: Vec<Sequence> = labelled.collect::<std::result::Result<_, _>>()?;
    if sequences.is_empty() {
        let problem = "expected at least one sequence to label, got none";
        return Err(Failure::input(&arguments.file.display().to_string(), problem));
    }
    let names: Vec<&str> = match arguments.decoder.as_str() {
        "auto" if model.bound().is_some() => [&USUAL[..], &["semi-astar:learned"]].concat(),
        "auto" => USUAL.to_vec(),
        names => names.split(',').collect(),
    };
    let contender = |name: &&str| {
        let (name, decoder) = ((*name).to_owned(), Decoder::by_name(name)?);
        decoder.supports_on(kbest::Segments::LATTICES, 1)?;
        Ok(Contender {
            name,
            decoder,
            times: vec![[f64::INFINITY; 3]; sequences.len()],
            asked: 0,
            answers: vec![],
        })
    };
    let mut contenders = names.iter().map(contender).collect::<Result<Vec<_>>>()?;
    let progress = Progress::new(arguments.repeat * sequences.len(), false);
    let (mut memory, mut scratch) = (SegmentModelMemory::default(), segment::Scratch::default());
    let mut limit = vec![[f64::INFINITY; 2]; sequences.len()];
    for round in 0..arguments.repeat {
        for (i, sequence) in sequences.iter().enumerate() {
            model.prepare_for(&LIMIT, &mut memory);
            drop(model.lattice(sequence, &mut memory)?);
            let begun = Instant::now();
            let lattice = model.lattice(sequence, &mut memory)?.without_scores();
            let built = Instant::now();
            LIMIT.decode_segments(&lattice, 1, &mut scratch)?;
            let times = [built - begun, built.elapsed()].map(|time| time.as_secs_f64());
            drop(lattice);
            for (best, time) in limit[i].iter_mut().zip(times) {
                *best = best.min(time);
            }
            let count = contenders.len();
            for turn in 0..count {
                let contender = &mut contenders[(turn + round + i) % count];
                let begun = Instant::now();
                model.prepare_for(&contender.decoder, &mut memory);
                let lattice = model.lattice(sequence, &mut memory)?;
                let built = Instant::now();
                let answer = contender.decoder.decode_segments(&lattice, 1, &mut scratch)?;
                let decoded = Instant::now();
                contender.decoder.decode_segments(&lattice, 1, &mut scratch)?;
                let again = decoded.elapsed();
                let times = [built - begun, decoded - built, again].map(|time| time.as_secs_f64());
                drop(lattice);
                for (best, time) in contender.times[i].iter_mut().zip(times) {
                    *best = best.min(time);
                }
                if round == 0 {
                    contender.asked += SegmentModel::asked(&mut memory);
                    let best = answer.paths.into_iter().next();
                    contender.answers.push(best.map(|best| best.segments).unwrap_or_default());
                }
            }
            progress.step();
        }
    }
    drop(progress);
    let report = report(model, &sequences, &contenders, &limit);
    let mut output = Output::create(None)?;
    if arguments.json {
        serde_json::to_writer_pretty(&mut output, &report).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else {
        output.write_all(text(&report).as_bytes())?;
    }
    output.finish()?;
    let differ = |contender: &&Contender| contender.answers != contenders[0].answers;
    let exact = |contender: &&Contender| contender.decoder != LEARNED && contender.decoder.entry().exact;
    match contenders.iter().filter(exact).find(differ) {
        None => Ok(()),
        Some(other) => Err(Failure::Negative(format!("{} and {} disagree", contenders[0].name, other.name))),
    }
}

fn report(
    model: &SegmentModel,
    sequences: &[Sequence],
    contenders: &[Contender],
    limit: &[[f64; 2]],
) -> Report {
    let longest = model.longest().iter().max().map_or(1, |&longest| longest as usize);
    let of = |sequence: &Sequence| (1..=sequence.len()).map(|end| end.min(longest)).sum::<usize>();
    let segments: usize = sequences.iter().map(of).sum();
    let group_of = |sequence: &Sequence| GROUPS.partition_point(|&first| first <= sequence.len()).max(1) - 1;
    let in_group = |group: usize| sequences.iter().filter(|of| group_of(of) == group).count();
    let per_sequence = 1e6 / sequences.len() as f64;
    let sum = |contender: &Contender, stage: usize| -> f64 {
        per_sequence * contender.times.iter().map(|times| times[stage]).sum::<f64>()
    };
    let whole = |contender: &Contender| sum(contender, 0) + sum(contender, 1);
    let of_limit = |stage: usize| per_sequence * limit.iter().map(|times| times[stage]).sum::<f64>();
    let row = |contender: &Contender| Row {
        decoder: contender.name.clone(),
        lattice: sum(contender, 0),
        decode_with_features: sum(contender, 1),
        decode_alone: sum(contender, 2),
        whole: whole(contender),
        speedup: whole(&contenders[0]) / whole(contender),
        speedup_by_length: (0..GROUPS.len())
            .map(|group| {
                let time = |contender: &Contender| -> f64 {
                    let times = contender.times.iter().zip(sequences);
                    times.filter(|(_, of)| group_of(of) == group).map(|(times, _)| times[0] + times[1]).sum()
                };
                let times = [&contenders[0], contender].map(time);
                (times[1] > 0.0).then(|| times[0] / times[1])
            })
            .collect(),
        speedup_of_decoding_alone: sum(&contenders[0], 2) / sum(contender, 2),
        asked: contender.asked as f64 / segments.max(1) as f64,
    };
    Report {
        labels: model.labels().len(),
        sequences: sequences.len(),
        tokens: sequences.iter().map(Sequence::len).sum(),
        segments,
        level: simd::level().name(),
        lengths: GROUPS.iter().enumerate().map(|(group, &first)| (first, in_group(group))).collect(),
        decoders: contenders.iter().map(row).collect(),
        limit: Limit {
            lattice: of_limit(0),
            decode: of_limit(1),
            whole: of_limit(0) + of_limit(1),
            speedup: whole(&contenders[0]) / (of_limit(0) + of_limit(1)),
        },
    }
}

fn text(report: &Report) -> String {
    let row = |row: &Row| {
        let times = [row.lattice, row.decode_with_features, row.decode_alone, row.whole];
        let times = times.map(table::number);
        let mut cells = vec![row.decoder.clone()];
        cells.extend(times);
        cells.extend([
            format!("{:.2}x", row.speedup),
            format!("{:.2}x", row.speedup_of_decoding_alone),
            table::percent(row.asked),
        ]);
        cells
    };
    let header = ["decoder", "lattice", "+ decode", "alone", "whole", "speed-up", "alone", "asked"];
    let mut rows: Vec<Vec<String>> = report.decoders.iter().map(row).collect();
    let Limit { lattice, decode, whole, speedup } = report.limit;
    let mut limit = vec!["no segment features".to_owned()];
    limit.extend([lattice, decode, decode, whole].map(table::number));
    limit.extend([format!("{speedup:.2}x"), String::new(), String::new()]);
    rows.push(limit);
    format!(
        "{} sequences, {} tokens, {} labels, {} possible segments, one thread, {}\n\
         microseconds per sequence; asked: share of segments whose features were computed\n\n{}",
        table::grouped(report.sequences),
        table::grouped(report.tokens),
        table::grouped(report.labels),
        table::grouped(report.segments),
        report.level,
        table::aligned(&header, &[false, true, true, true, true, true, true, true], &rows)
    )
}
