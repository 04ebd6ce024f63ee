//! `kbest-bench families`: `auto` beside single decoders over many families of lattices, and where it loses most.
//!
//! **What.** For each family of [`list`], number of labels, length and number of paths, `auto` and the decoders it
//! chooses from take turns on the same sequences. The ratio is the time of `auto` divided by that of the fastest single
//! decoder. `auto` learns from one sequence to the next, as in taggers; beside it, *planned* is `auto` that does not. **Why.** `auto` promises never to lose much; this is how to know. **Cost.** Sizes at which even the best
//! plain decoder would take too long are left out, and the report says how many.

mod list;

use clap::Args;
use kbest::decode::{Auto, ForwardPass, Funnel, RecursiveEnumeration, Sieve, ViterbiSimd, ViterbiSparse};
use kbest::lattice::Shape;
use kbest::random::Random;
use kbest::{Decoder, Edges, Lattice, simd};
use kbest_cli::bench::{Contender, Plan, Times, compare, disagreements, measure};
use kbest_cli::failure::{Failure, Result};
use kbest_cli::output::{Output, Progress};
use kbest_cli::table;
use list::{FAMILIES, Family};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Time auto beside single decoders on many families of lattices; print where it loses most
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest-bench families --save families.json
  kbest-bench families --family gauss:1,sparse:3 --labels 520,1500 -k 1,5
  kbest-bench families --list

The ratio is the time of auto divided by that of the fastest single decoder, in the median of several rounds in which they \
take turns, on one thread; beside it stands that of the best rounds. auto learns from one sequence to the next, as in \
taggers; `not learning` is the same of auto that does not. Exit code 1 if decoders disagree.")]
pub(super) struct Arguments {
    /// Families, comma-separated [default: all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    family: Vec<String>,
    /// Print the names of the families
    #[arg(long)]
    list: bool,
    /// Numbers of labels
    #[arg(
        long,
        value_name = "L,...",
        value_delimiter = ',',
        default_value = "2,3,8,40,100,520,1500,3000,10000"
    )]
    labels: Vec<usize>,
    /// Numbers of positions
    #[arg(long, value_name = "T,...", value_delimiter = ',', default_value = "5,25,1000")]
    lengths: Vec<usize>,
    /// Numbers of paths
    #[arg(short, value_name = "K,...", value_delimiter = ',', default_value = "1,5,100")]
    k: Vec<usize>,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 25)]
    repeat: usize,
    /// Leave out sizes at which a step-by-step decoder weighs more edges than this
    #[arg(long, value_name = "EDGES", default_value_t = 1_000_000_000)]
    most: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also write the JSON to this file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

/// Edges weighed by all sequences of a size together, unless one sequence weighs more. A processor soon knows how the branches of a few
/// sequences go that come again and again, which makes decoders that compare a lot seem up to 2.5 times as fast as they are.
const ENOUGH: usize = 1_280_000_000;

/// Most sequences of a size, and most node scores of all of them: they should stay in the caches.
const SEQUENCES: usize = 2048;
const SCORES: usize = 1 << 20;

/// Seconds after which a decoder is left out: others are far faster.
const LIMIT: f64 = 2.0;

/// A single decoder that takes so many times as long as the fastest in its first round has no others.
const HOPELESS: f64 = 8.0;

/// Number of worst sizes to print.
const WORST: usize = 10;

#[derive(Debug, Serialize)]
struct Report {
    level: &'static str,
    dtype: &'static str,
    left_out: usize,
    sizes: Vec<Size>,
}

/// What was measured for a family at a size.
#[derive(Debug, Serialize)]
struct Size {
    family: &'static str,
    labels: usize,
    positions: usize,
    k: usize,
    sequences: usize,
    /// Time of `auto` divided by that of the fastest other: the best rounds of both.
    ratio: f64,
    /// The same in one round, the median of all but the first: neighbours in time, which whatever else the machine does slows down alike.
    median: f64,
    /// Both of `auto` that does not learn.
    planned: f64,
    planned_median: f64,
    /// The fastest other.
    fastest: String,
    seconds: Vec<(String, f64)>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.list {
        let names: String = FAMILIES.iter().map(|family| format!("{}\n", family.name)).collect();
        return print(&names);
    }
    let families = chosen(&arguments.family)?;
    for (name, values) in
        [("--labels", &arguments.labels), ("--lengths", &arguments.lengths), ("-k", &arguments.k)]
    {
        if values.contains(&0) {
            return Err(Failure::Usage(format!("{name}: expected at least 1, got 0")));
        }
    }
    if arguments.repeat == 0 {
        return Err(Failure::Usage("--repeat: expected at least 1, got 0".into()));
    }
    let cells = families.len() * arguments.labels.len() * arguments.lengths.len() * arguments.k.len();
    let progress = Progress::new(cells, false);
    let mut report = Report { level: simd::level().name(), dtype: "f32", left_out: 0, sizes: vec![] };
    for family in families {
        for &labels in &arguments.labels {
            progress.say(&format!("{}, {labels} labels", family.name));
            let mut random = Random::new(labels as u64);
            let fits: Vec<usize> = arguments
                .lengths
                .iter()
                .copied()
                .filter(|&positions| {
                    family.pairs_to_weigh(labels).saturating_mul(positions) <= arguments.most
                        && labels.saturating_mul(positions) <= arguments.most / 10
                        && (family.is_listed() || labels.saturating_mul(labels) <= arguments.most / 5)
                })
                .collect();
            let skipped = (arguments.lengths.len() - fits.len()) * arguments.k.len();
            report.left_out += skipped;
            (0..skipped).for_each(|_| progress.step());
            if fits.is_empty() {
                continue;
            }
            let edges = family.edges::<f32>(labels, &mut random)?;
            for positions in fits {
                let work = family.pairs_to_weigh(labels).saturating_mul(positions);
                let most = (SCORES / (labels * positions)).min(SEQUENCES);
                let sequences = (ENOUGH / work.max(1)).min(most).max(1);
                let lattices = (0..sequences)
                    .map(|_| Ok(lattice(family.nodes(positions, labels, &mut random), &edges)?))
                    .collect::<Result<Vec<_>>>()?;
                for &k in &arguments.k {
                    report.sizes.push(size(family, &lattices, k, arguments.repeat)?);
                    progress.step();
                }
            }
        }
    }
    drop(progress);
    let json = serde_json::to_string(&report).map_err(std::io::Error::from)? + "\n";
    print(&if arguments.json { json.clone() } else { report.text() })?;
    if let Some(path) = &arguments.save {
        let mut file = Output::create(Some(path))?;
        file.write_all(json.as_bytes())?;
        file.finish()?;
    }
    Ok(())
}

fn print(text: &str) -> Result<()> {
    let mut output = Output::create(None)?;
    output.write_all(text.as_bytes())?;
    output.finish()
}

fn chosen(names: &[String]) -> Result<Vec<&'static Family>> {
    if names.is_empty() {
        return Ok(FAMILIES.iter().collect());
    }
    let by_name = |name: &String| {
        FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| {
            Failure::Usage(format!("--family: expected a name that --list prints, got `{name}`"))
        })
    };
    names.iter().map(by_name).collect()
}

/// A lattice in which several matrices take turns; one matrix serves all positions anyway.
fn lattice(nodes: Vec<f32>, edges: &Edges<f32>) -> kbest::Result<Lattice<'_, f32>> {
    let matrices = edges.matrices() as u32;
    if matrices == 1 {
        return Lattice::new(nodes, edges);
    }
    let steps = (nodes.len() / edges.labels()).saturating_sub(1) as u32;
    Lattice::selecting(nodes, edges, (0..steps).map(|t| t % matrices).collect::<Vec<_>>())
}

/// Measures `auto` and the others on some lattices of one size.
fn size(family: &'static Family, lattices: &[Lattice<'_, f32>], k: usize, repeat: usize) -> Result<Size> {
    let contenders = contenders(lattices[0].edges(), k);
    let plan = Plan { repeat, limit: LIMIT, counting: false, limits: false };
    let mut hidden = Progress::new(0, true);
    let measured = measure(lattices, contenders, plan, &mut hidden)?;
    let verdicts = compare(lattices, &measured.contenders);
    if let Some(text) = disagreements(&measured.contenders, &verdicts) {
        let (labels, positions) = (lattices[0].labels(), lattices[0].positions());
        let place = format!("{}, {labels} labels, {positions} positions", family.name);
        return Err(Failure::Negative(format!("{place}: {text}")));
    }
    let complete: Vec<&Contender<f32>> =
        measured.contenders.iter().filter(|contender| contender.times.done() == lattices.len()).collect();
    let named = |name: &str| complete.iter().find(|contender| contender.name == name);
    let single = complete.iter().filter(|contender| ![AUTO, PLANNED].contains(&&*contender.name));
    let fastest = single.min_by(|a, b| a.times.best().total_cmp(&b.times.best()));
    let ratios = |name: &str| match (named(name), fastest) {
        (Some(auto), Some(fastest)) => {
            (auto.times.best() / fastest.times.best(), median_ratio(&auto.times, &fastest.times))
        }
        _ => (f64::NAN, f64::NAN),
    };
    let ((ratio, median), (planned, planned_median)) = (ratios(AUTO), ratios(PLANNED));
    Ok(Size {
        family: family.name,
        labels: lattices[0].labels(),
        positions: lattices[0].positions(),
        k,
        sequences: lattices.len(),
        ratio,
        median,
        planned,
        planned_median,
        fastest: fastest.map_or("none", |contender| &contender.name).to_owned(),
        seconds: complete.iter().map(|contender| (contender.name.clone(), contender.times.best())).collect(),
    })
}

/// The median of the ratios of two times of a round, the first round left out if there are others.
fn median_ratio(one: &Times, other: &Times) -> f64 {
    let mut ratios: Vec<f64> = one.rounds.iter().zip(&other.rounds).map(|(one, other)| one / other).collect();
    if ratios.len() > 1 {
        ratios.remove(0);
    }
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Contenders that are not single decoders.
const AUTO: &str = "auto";
const PLANNED: &str = "auto, planned";

/// `auto`, with what it learns and without, and the decoders that it chooses from.
fn contenders(edges: &Edges<f32>, k: usize) -> Vec<Contender<f32>> {
    let listed = matches!(edges.shape(), Shape::Sparse(_)); // others are matrices
    let by = |forward| RecursiveEnumeration { forward }.into();
    let mut all: Vec<(&str, Decoder)> =
        vec![(AUTO, Auto::default().into()), (PLANNED, Auto::default().into()), ("funnel", Funnel.into())];
    if k == 1 {
        all.push(("viterbi-simd", ViterbiSimd.into()));
        all.push(if listed { ("viterbi-sparse", ViterbiSparse.into()) } else { ("sieve", Sieve.into()) });
    } else {
        all.push(("recursive-enumeration", by(ForwardPass::Simd)));
        all.push(if listed {
            ("recursive-enumeration, sparse", by(ForwardPass::Sparse))
        } else {
            ("recursive-enumeration, sieve", by(ForwardPass::Sieve))
        });
    }
    let contender = |(name, decoder): (&str, Decoder)| Contender {
        planned: name == PLANNED,
        hopeless: if [AUTO, PLANNED].contains(&name) { f64::INFINITY } else { HOPELESS },
        ..Contender::new(name.to_owned(), decoder, k)
    };
    all.into_iter().map(contender).collect()
}

impl Report {
    fn text(&self) -> String {
        let mut worst: Vec<&Size> = self.sizes.iter().collect();
        worst.sort_by(|a, b| b.median.total_cmp(&a.median));
        let row = |size: &&Size| {
            vec![
                size.family.to_owned(),
                size.labels.to_string(),
                size.positions.to_string(),
                size.k.to_string(),
                format!("{:.2}", size.median),
                format!("{:.2}", size.ratio),
                format!("{:.2}", size.planned_median),
                size.fastest.clone(),
            ]
        };
        let rows: Vec<Vec<String>> = worst.iter().take(WORST).map(row).collect();
        let header = [
            "family",
            "labels",
            "positions",
            "k",
            "auto / fastest",
            "best rounds",
            "not learning",
            "fastest",
        ];
        let worst = table::aligned(&header, &[false, true, true, true, true, true, true, false], &rows);

        let mut by_family = vec![];
        for sizes in self.sizes.chunk_by(|one, next| one.family == next.family) {
            for many in [false, true] {
                let mut ratios: Vec<f64> =
                    sizes.iter().filter(|size| (size.k > 1) == many).map(|size| size.median).collect();
                ratios.sort_by(f64::total_cmp);
                let Some(&largest) = ratios.last() else { continue };
                let aim = if many { 1.1 } else { 1.05 };
                by_family.push(vec![
                    sizes[0].family.to_owned(),
                    if many { "k > 1" } else { "k = 1" }.to_owned(),
                    ratios.len().to_string(),
                    format!("{:.2}", ratios[ratios.len() / 2]),
                    format!("{largest:.2}"),
                    ratios.iter().filter(|&&ratio| ratio > aim).count().to_string(),
                ]);
            }
        }
        let header = ["family", "paths", "sizes", "median", "worst", "above aim"];
        let by_family = table::aligned(&header, &[false, false, true, true, true, true], &by_family);
        format!(
            "{} sizes, {}, {}; {} left out as too large. Aim: 1.05 for one path, 1.10 for more.\n\n\
             Where auto loses most:\n\n{worst}\nBy family, auto / fastest:\n\n{by_family}",
            self.sizes.len(),
            self.dtype,
            self.level,
            self.left_out
        )
    }
}
