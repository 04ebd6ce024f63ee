//! `kbest-bench papers`: the papers' experiments on a folder of data, and one report.
//!
//! **Experiments are data** (`definitions.rs`): each names the *steps* it needs and how they are shown. A step
//! (`steps/`) is one measurement: decoders side by side on one task, a hundred classifiers of one problem. Experiments
//! share steps; each is measured once and kept in a file of its own, so that `--resume` goes on where a run stopped.
//! `views/` turns steps into tables, pictures and findings, `render/` these into Markdown and HTML.

mod data;
mod definitions;
mod kept;
mod problems;
mod prove;
mod render;
mod results;
mod steps;
mod views;

use clap::Args;
use data::{Data, Size};
use definitions::{EXPERIMENTS, Experiment};
use kbest_cli::failure::{Failure, Result};
use kbest_cli::output::{Output, Progress, write_file};
use kept::Kept;
use prove::DISAGREEMENT;
use results::{FORMAT, Machine, Measured, Outcome};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use steps::Step;

/// Repeat the papers' experiments and write one report
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest-bench papers --quick --out report
  kbest-bench papers --data DATA --out report
  kbest-bench papers --data DATA --out report --resume
  kbest-bench papers --data DATA --out report --only huang-4,kaji-2

Writes report.md, report.html, results.json and pictures to the folder of --out. DATA has one folder per data set, each \
with train.tsv and test.tsv (or .tsv.gz); a set that is missing, damaged or too small is named in the report, and the \
rest runs. --resume measures data sets again whose files have changed. Decoders \
take turns on one thread; each stops at a time limit, and the report says so. The answers of exact decoders are \
compared while they are timed: exit code 1 if they differ, and the lattice is written to disagreement.npz.

Experiments: carpediem-2, carpediem-456, carpediem-7, carpediem-vbs, carpediem-astar, carpediem-trace, kaji-1, kaji-2, \
kaji-3, kaji-4, huang-3, huang-4, huang-5, huang-fig4, dual-1, druck-1, druck-fig2, druck-bounds")]
pub(super) struct Arguments {
    /// Folder with the data sets; generated data with --quick if absent
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder for the report; made if absent
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only these experiments, comma-separated
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    only: Vec<String>,
    /// A small version of every experiment, in a minute or two; needs no data
    #[arg(long)]
    quick: bool,
    /// Keep what an unfinished or earlier run in the same folder has measured
    #[arg(long)]
    resume: bool,
}

/// What is written to `results.json`.
#[derive(Serialize)]
struct Results<'a> {
    format: u32,
    version: &'static str,
    date: String,
    quick: bool,
    generated: bool,
    seconds: f64,
    machine: &'a Machine,
    experiments: Vec<ExperimentResult<'a>>,
    steps: &'a BTreeMap<String, Measured>,
}

#[derive(Serialize)]
struct ExperimentResult<'a> {
    id: &'static str,
    paper: &'static str,
    place: &'static str,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let chosen = chosen(&arguments.only)?;
    if arguments.data.is_none() && !arguments.quick {
        return Err(Failure::Usage("--data: expected a folder of data sets, or --quick, got neither".into()));
    }
    if let Some(folder) = arguments.data.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::input(
            &folder.display().to_string(),
            "expected a folder of data sets, got none",
        ));
    }
    let begun = Instant::now();
    let kept = Kept::open(arguments)?;
    kept::remove(&arguments.out.join(DISAGREEMENT))?; // of an earlier run
    let size = if arguments.quick { Size::QUICK } else { Size::FULL };
    let mut data = Data::new(arguments.data.clone(), size, kept.folder.clone());
    let machine = machine();

    let mut wanted: Vec<Step> = vec![];
    for step in chosen.iter().flat_map(|experiment| Step::needed(&experiment.view)) {
        if !wanted.contains(&step) {
            wanted.push(step);
        }
    }
    let total: usize = wanted.iter().map(Step::weight).sum();
    let progress = Progress::new(total, false);
    let (mut steps, mut done) = (BTreeMap::new(), 0);
    for step in &wanted {
        let key = step.key();
        progress.say(&key);
        progress.at(done);
        let measured = match kept.load(&key) {
            Some(measured) => measured,
            None => {
                let measured = step.run(&mut data, &arguments.out)?;
                kept.save(&key, &measured)?;
                measured
            }
        };
        steps.insert(key, measured);
        done += step.weight();
        progress.at(done);
    }
    drop(progress);

    let outcomes: Vec<(&Experiment, Outcome)> =
        chosen.iter().map(|experiment| (*experiment, views::view(experiment, &steps))).collect();
    let about = render::About {
        quick: arguments.quick,
        generated: arguments.data.is_none(),
        date: date(),
        machine: &machine,
        size,
        seconds: begun.elapsed().as_secs_f64(),
    };
    let results = Results {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        date: about.date.clone(),
        quick: about.quick,
        generated: about.generated,
        seconds: about.seconds,
        machine: &machine,
        experiments: outcomes
            .iter()
            .map(|(experiment, outcome)| ExperimentResult {
                id: experiment.id,
                paper: experiment.paper.citation(),
                place: experiment.place,
                outcome,
            })
            .collect(),
        steps: &steps,
    };
    let out = &arguments.out;
    for figure in outcomes.iter().flat_map(|(_, outcome)| &outcome.figures) {
        write_file(&out.join(format!("{}.svg", figure.name)), figure.svg.as_bytes())?;
    }
    let json = serde_json::to_string(&results).map_err(std::io::Error::from)? + "\n";
    write_file(&out.join("results.json"), json.as_bytes())?;
    write_file(&out.join("report.html"), render::html(&about, &outcomes).as_bytes())?;
    write_file(&out.join("report.md"), render::markdown(&about, &outcomes).as_bytes())?;
    let mut stdout = Output::create(None)?;
    writeln!(stdout, "{}", out.join("report.md").display())?;
    stdout.finish()
}

/// The experiments of these names; all if none is named.
fn chosen(only: &[String]) -> Result<Vec<&'static Experiment>> {
    let known = |id: &String| EXPERIMENTS.iter().any(|experiment| experiment.id == id);
    if let Some(unknown) = only.iter().find(|id| !known(id)) {
        let ids: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        return Err(Failure::Usage(format!("--only: expected one of {}, got {unknown}", ids.join(", "))));
    }
    let wanted = |experiment: &&Experiment| only.is_empty() || only.iter().any(|id| id == experiment.id);
    Ok(EXPERIMENTS.iter().filter(wanted).collect())
}

/// The processor, and how busy it was.
fn machine() -> Machine {
    let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let load = read("/proc/loadavg");
    Machine {
        cpu: cpu.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.to_owned()),
        level: kbest::simd::level().name().to_owned(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        load: load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown").to_owned(),
    }
}

/// Today, from the system's clock: `2026-11-16`.
fn date() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since.map_or(0, |time| time.as_secs() / 86_400) as i64;
    // Days to a date of the Gregorian calendar, counted in years that begin in March.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
