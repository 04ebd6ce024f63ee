//! The tables of options are consistent, and what is written from them is up to date: the table in `docs/text.md` and the
//! keywords in `crates/kbest-py/python/kbest/_keywords.py`. `KBEST_UPDATE=1` writes both.

use kbest::options::{Kind, Options, Row, Value};
use kbest::text::FormatOptions;
use kbest::train::shards::ShardPlan;
use kbest::train::{Algorithm, Optimizer, Recipe};
use kbest::{Error, TaggerOptions};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Compares what follows `begin`, up to `end`, with what it should be; or writes it.
fn compare(file: &str, begin: &str, end: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let start = text.find(begin).unwrap_or_else(|| panic!("{file} has no `{begin}`")) + begin.len();
    let length = if end.is_empty() { text.len() - start } else { text[start..].find(end).unwrap() };
    if std::env::var_os("KBEST_UPDATE").is_some() {
        fs::write(&path, format!("{}{expected}{}", &text[..start], &text[start + length..])).unwrap();
        return;
    }
    assert!(
        text[start..start + length] == *expected,
        "{file} is out of date: KBEST_UPDATE=1 cargo test -p kbest --test suite options"
    );
}

fn check_table<O: Options>() {
    for (i, row) in O::TABLE.iter().enumerate() {
        let name = row.name;
        assert!(O::TABLE[..i].iter().all(|other| other.name != name), "{name} is there twice");
        assert!(!row.help().is_empty() && !row.heading.is_empty(), "{name}");
        assert_eq!(row.placeholder.is_empty(), matches!(row.kind, Kind::Flag), "{name}");
        for (other, values) in row.needs {
            let other = O::row(other).unwrap_or_else(|| panic!("{name} needs `{other}`"));
            let Kind::Name(names) = other.kind else { panic!("{name} needs {}", other.name) };
            assert!(values.iter().all(|value| names().contains(value)), "{name} needs {values:?}");
            assert!(names().contains(&other.default_text().as_str()), "{}", other.name);
        }
        let (value, wrong) = match row.kind {
            Kind::Flag => (Value::Flag(true), Value::Whole(1)),
            Kind::Whole => (Value::Whole(7), Value::Number(7.5)),
            Kind::Number => (Value::Number(0.1), Value::Text("much".into())),
            Kind::Text => (Value::Text("a".into()), Value::Whole(1)),
            Kind::Name(names) => (Value::Text(names()[1].into()), Value::Text("nosuch".into())),
            Kind::Names | Kind::Texts => {
                (Value::Texts(vec!["a".into(), "b".into()]), Value::Text("a".into()))
            }
            Kind::File => (Value::Files(vec!["a/b".into()]), Value::Files(vec!["a".into(), "b".into()])),
            Kind::Files => (Value::Files(vec!["a/b".into(), "c".into()]), Value::Flag(true)),
        };
        let mut options = O::default();
        assert!(row.given(&options).is_none() || row.neutral.is_empty(), "{name} is idle at first");
        options.set(name, value.clone()).unwrap();
        assert_eq!(row.get(&options), Some(value), "{name}");
        let refused = options.set(name, wrong).unwrap_err();
        assert!(matches!(&refused, Error::Argument { what, .. } if what == name), "{refused}");
        assert!(row.check(&O::default()).is_ok(), "{name}");
    }
}

#[test]
fn tables_are_consistent() {
    check_table::<Recipe>();
    check_table::<FormatOptions>();
    check_table::<TaggerOptions>();
    assert!(ShardPlan::OPTIONS.iter().all(|name| Recipe::row(name).is_some()));
}

#[test]
fn mistakes_name_the_option_and_what_it_may_be() {
    let mut recipe = Recipe::default();
    let unknown = recipe.set("optimiser", Value::Text("sgd".into())).unwrap_err().to_string();
    assert!(
        unknown.starts_with("unknown option `optimiser`: expected one of optimizer (the nearest), "),
        "{unknown}"
    );
    let crf = Recipe { algorithm: Algorithm::Crf, ..Recipe::default() };
    let sgd = Recipe { optimizer: Some(Optimizer::Sgd), ..crf.clone() };
    for (recipe, expected) in [
        (Recipe { c2: Some(1.0), ..recipe.clone() }, "c2: expected algorithm crf or semi-crf, got averaged"),
        (Recipe { c2: Some(-1.0), ..crf.clone() }, "c2: expected at least 0, got -1"),
        (Recipe { c2: Some(f64::NAN), ..crf.clone() }, "c2: expected at least 0, got NaN"),
        (Recipe { rate: Some(0.5), ..crf.clone() }, "rate: expected optimizer sgd, got lbfgs"),
        (Recipe { c1: Some(0.5), ..sgd.clone() }, "c1: expected optimizer lbfgs, got sgd"),
        (
            Recipe { runs: Some(2), ..crf.clone() },
            "runs: expected algorithm averaged, perceptron, pa or semi, got crf",
        ),
        (Recipe { runs: Some(0), ..recipe.clone() }, "runs: expected 1 to 100, got 0"),
        (Recipe { threads: Some(9999), ..recipe.clone() }, "threads: expected 1 to 1024, got 9999"),
        (Recipe { keep_features: true, prune: Some(0.1), ..recipe.clone() }, "keep_features: expected no"),
    ] {
        let refused = recipe.check().unwrap_err().to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
    // What does nothing does no harm.
    Recipe { runs: Some(1), agreement: Some("none".into()), c1: Some(0.0), ..sgd }.check().unwrap();
    Recipe { min_frequency: 1, ..crf }.check_without_dev().unwrap();
    let patient = Recipe { patience: Some(3), ..Recipe::default() };
    assert!(patient.check_without_dev().unwrap_err().to_string().starts_with("patience: expected dev"));
}

#[test]
fn options_can_be_typed_again() {
    let recipe = Recipe {
        algorithm: Algorithm::SemiCrf,
        c2: Some(0.1),
        threads: Some(4),
        all_states: true,
        lexicon: vec!["lists/cities.txt".into(), "rivers.txt".into()],
        segment_features: vec!["text".into(), "ends".into()],
        prune: Some(0.1),
        ..Recipe::default()
    };
    let typed = "--algorithm semi-crf --c2 0.1 --all-states --lexicon cities.txt --lexicon rivers.txt \
                 --segment-features text,ends --prune 0.1";
    assert_eq!(recipe.as_typed(), typed);
    let course = recipe.depends_on();
    assert_eq!(
        Recipe { threads: Some(2), epochs: Some(3), prune: None, ..recipe.clone() }.depends_on(),
        course
    );
    assert_ne!(Recipe { c2: Some(0.2), ..recipe }.depends_on(), course);
    let perceptron = Recipe { runs: Some(1), min_frequency: 1, ..Recipe::default() };
    assert_eq!(perceptron.as_typed(), "--algorithm averaged --seed 1 --runs 1");
    assert_ne!(Recipe { seed: 2, ..perceptron.clone() }.depends_on(), perceptron.depends_on());
}

/// A cell of a table of Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn documented<O: Options>(row: &Row<O>) -> String {
    let dashed = |name: &str| format!("--{}", name.replace('_', "-"));
    let owners = row.owners(|name| format!("`{}`", dashed(name)));
    let value = if row.placeholder.is_empty() { String::new() } else { format!(" {}", row.placeholder) };
    let [default, owners, help] = [row.default_text(), owners, row.help()].map(|text| cell(&text));
    format!("| `{}{value}` | {default} | {owners} | {help} |\n", dashed(row.name))
}

#[test]
fn the_documentation_lists_all_options() {
    let mut tables = String::new();
    for (heading, rows) in Recipe::by_heading() {
        write!(tables, "\n| {heading} | default | algorithms | what it does |\n|---|---|---|---|\n").unwrap();
        tables.extend(rows.into_iter().map(documented));
    }
    compare("docs/text.md", "<!-- options of training -->\n", "\n<!-- end -->", &tables);
}

/// Keywords of these rows, with their types.
fn keywords<O: Options>(
    rows: impl Iterator<Item = &'static Row<O>>,
    spell: impl Fn(&'static str) -> String,
) -> String {
    let mut lines = String::new();
    for row in rows {
        let kind = match row.kind {
            Kind::Flag => "bool",
            Kind::Whole => "Optional[int]",
            Kind::Number => "Optional[float]",
            Kind::Text | Kind::Name(_) => "Optional[str]",
            Kind::Names => "Optional[Sequence[str]]",
            Kind::Texts | Kind::Files => "Union[None, Path, Sequence[Path]]",
            Kind::File => "Optional[Path]",
        };
        writeln!(lines, "    {}: {kind}", spell(row.name)).unwrap();
    }
    lines
}

#[test]
fn pythons_keywords_are_the_options() {
    let plain = |name: &'static str| name.to_owned();
    // Functions that train have keywords of their taggers, too.
    let of_tagger = |name: &'static str| match Recipe::row(name) {
        Some(_) => format!("tag_{name}"),
        None => name.to_owned(),
    };
    let tagger = || TaggerOptions::TABLE.iter();
    let trained = keywords(tagger(), of_tagger);
    let recipe = || Recipe::TABLE.iter().filter(|row| row.name != "algorithm"); // whose default differs
    let shards = recipe().filter(|row| ShardPlan::OPTIONS.contains(&row.name));
    let mut expected = String::new();
    for (name, about, keywords) in [
        ("TaggerOptions", "Keywords of taggers.", keywords(tagger(), plain)),
        ("RecipeOptions", "Keywords of training algorithms.", keywords(recipe(), plain)),
        ("ShardOptions", "Keywords of functions that train in shards.", keywords(shards, plain) + &trained),
    ] {
        write!(expected, "\n\nclass {name}(TypedDict, total=False):\n    \"\"\"{about}\"\"\"\n\n{keywords}")
            .unwrap();
    }
    let format = keywords(FormatOptions::TABLE.iter(), plain) + &trained;
    write!(expected, "\n\nclass TrainOptions(RecipeOptions, total=False):\n").unwrap();
    write!(expected, "    \"\"\"Keywords of `kbest.train`.\"\"\"\n\n{format}").unwrap();
    compare("crates/kbest-py/python/kbest/_keywords.py", "PathLike[str]\"]\n", "", &expected);
}
