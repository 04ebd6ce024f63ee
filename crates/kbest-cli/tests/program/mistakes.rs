//! `evaluate`: errors in context, figures by column and feature, files compared in every format, spans, `-o`.

use crate::common::Workshop;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const GOLD: &str = "# sent_id = 1\n1\tder\t_\tDET\t_\tCase=Nom|Number=Sing\t_\t_\t_\t_\n2\tHund\t_\tNOUN\t_\tCase=Nom|Number=Sing\t_\t_\t_\t_\n3\tbellt\t_\tVERB\t_\tNumber=Sing\t_\t_\t_\t_\n\n";

/// The same with two mistakes: the case of the first word, and the second word as a verb without case.
fn predicted() -> String {
    let lines = GOLD.replacen("Case=Nom|Number=Sing", "Case=Acc|Number=Sing", 1);
    lines.replace("Hund\t_\tNOUN\t_\tCase=Nom|Number=Sing", "Hund\t_\tVERB\t_\tNumber=Sing")
}

#[test]
fn files_of_every_format_are_compared() {
    let here = Workshop::new();
    here.write("gold.conllu", GOLD);
    here.write("predicted.conllu", &predicted());
    let report =
        json(&here.stdout("evaluate gold.conllu --predicted predicted.conllu --label upos+feats --json"));
    assert_eq!(report["accuracy"], 1.0 / 3.0);
    here.write("gold.tsv", "a\tX\nb\tY\n\nc\tX\n\n");
    here.write("predicted.tsv", "a\tX\nb\tX\n\nc\tX\n\n");
    here.write("gold.items", "X\tw=a\nY\tw=b\n\nX\tw=c\n\n");
    here.write("predicted.items", "X\nX\n\nX\n\n");
    here.write(
        "gold.jsonl",
        "{\"tokens\":[\"a\",\"b\"],\"tags\":[\"X\",\"Y\"]}\n{\"tokens\":[\"c\"],\"tags\":[\"X\"]}\n",
    );
    here.write("predicted.jsonl", "{\"tokens\":[\"a\",\"b\"],\"tags\":[\"X\",\"X\"],\"marginals\":[0.9,0.8]}\n{\"tokens\":[\"c\"],\"tags\":[\"X\"],\"marginals\":[1.0]}\n");
    for format in ["tsv", "items", "jsonl"] {
        let report =
            json(&here.stdout(&format!("evaluate gold.{format} --predicted predicted.{format} --json")));
        assert_eq!(report["accuracy"], 2.0 / 3.0, "{format}");
        assert_eq!(report["calibration"].is_object(), format == "jsonl", "{format}");
    }
    // What does not fit together is refused.
    here.write("short.tsv", "a\tX\nb\tX\n\n");
    here.write("other.tsv", "a\tX\nB\tX\n\nc\tX\n\n");
    here.write("split.tsv", "a\tX\n\nb\tX\n\nc\tX\n\n");
    for (file, part) in
        [("short", "another sequence"), ("other", "token `b`"), ("split", "a sequence of 2 tokens")]
    {
        let refusal = here.refusal(&format!("evaluate gold.tsv --predicted {file}.tsv"), "");
        assert!(refusal.contains(part) && refusal.contains(&format!("{file}.tsv:")), "{refusal}");
    }
    let refusal = here.refusal("evaluate gold.conllu", "");
    assert!(refusal.contains("--predicted FILE"), "{refusal}");
}

#[test]
fn figures_are_broken_down() {
    let here = Workshop::new();
    here.write("gold.conllu", GOLD);
    here.write("predicted.conllu", &predicted());
    let report = json(&here.stdout(
        "evaluate gold.conllu --predicted predicted.conllu --label upos+feats --by upos --by feats --by Case --json",
    ));
    let by = report["by"].as_array().unwrap();
    let group = |i: usize, value: &str| {
        let groups = by[i]["groups"].as_array().unwrap();
        groups
            .iter()
            .find(|group| group["value"] == value)
            .unwrap_or_else(|| panic!("{value}: {report}"))
            .clone()
    };
    assert_eq!(by[0]["by"], "upos");
    assert_eq!(
        (group(0, "VERB")["accuracy"].as_f64(), group(0, "NOUN")["accuracy"].as_f64()),
        (Some(1.0), Some(0.0))
    );
    // Each feature by itself: the case was found once, and wrong; the number always.
    assert_eq!(group(1, "Case")["gold"], 2);
    assert_eq!(
        (group(1, "Case")["right"].as_u64(), group(1, "Case")["predicted"].as_u64()),
        (Some(0), Some(1))
    );
    assert_eq!(group(1, "Number")["f1"], 1.0);
    assert_eq!(group(1, "tag")["right"], 2);
    assert_eq!((group(2, "Nom")["gold"].as_u64(), group(2, "Acc")["predicted"].as_u64()), (Some(2), Some(1)));

    // A sentence none of whose labels has a feature counts like any other.
    let more = "1\t!\t!\tPUNCT\t_\t_\t_\t_\t_\t_\n\n";
    here.write("more.conllu", &format!("{more}{GOLD}{more}"));
    here.write("predicted-more.conllu", &format!("{more}{}{more}", predicted()));
    let report = json(&here.stdout(
        "evaluate more.conllu --predicted predicted-more.conllu --label upos+feats --by feats --json",
    ));
    let groups = report["by"][0]["groups"].as_array().unwrap();
    let tags = groups.iter().find(|group| group["value"] == "tag").unwrap();
    assert_eq!((tags["right"].as_u64(), tags["gold"].as_u64()), (Some(4), Some(5)));

    // If the label has no features, tokens are grouped by those in the data.
    let report = json(&here.stdout("evaluate gold.conllu --predicted predicted.conllu --by Case --json"));
    let groups = &report["by"][0]["groups"];
    assert_eq!((groups[0]["value"].as_str(), groups[0]["gold"].as_u64()), (Some("Nom"), Some(2)));
    assert_eq!(groups[0]["right"], 1);
    let text = here.stdout("evaluate gold.conllu --predicted predicted.conllu --by upos");
    assert!(text.contains("upos  tokens     right"), "{text}");

    here.write("both.tsv", "a\tp\tX\tX\nb\tq\tY\tX\nc\tp\tX\tX\n\n");
    let report = json(&here.stdout("evaluate both.tsv --by 2 --json"));
    let groups = &report["by"][0]["groups"];
    assert_eq!((groups[0]["value"].as_str(), groups[0]["right"].as_u64()), (Some("p"), Some(2)));
    for (what, part) in [
        ("9", "from 1 to 3"),
        ("0", "from 1 on"),
        ("upos", "without fields"),
        ("Tense", "no token has"),
        ("x", "--by"),
    ] {
        let refusal = here.refusal(&format!("evaluate both.tsv --by {what}"), "");
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[test]
fn errors_are_listed_in_context() {
    let here = Workshop::new();
    let sentence =
        "w0\tO\tO/0.9000\nw1\tB-X\tB-X/0.8000\nw2\tI-X\tO/0.7000\nw3\tO\tO/1.0000\nw4\tB-Y\tO/0.9500\n\n";
    here.write("tagged.tsv", &format!("a\tO\tO/0.9900\n\n{sentence}"));
    let report = json(&here.stdout("evaluate tagged.tsv --errors --json"));
    let tokens = report["errors"]["tokens"].as_array().unwrap();
    assert_eq!(tokens.len(), 2);
    // The surest first.
    assert_eq!((tokens[0]["line"].as_u64(), tokens[0]["probability"].as_f64()), (Some(7), Some(0.95)));
    assert_eq!((tokens[0]["gold"].as_str(), tokens[0]["predicted"].as_str()), (Some("B-Y"), Some("O")));
    assert_eq!(tokens[1]["before"], serde_json::json!(["w0", "w1"]));
    let spans = report["errors"]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 2, "{report}");
    let find = |gold: &str| spans.iter().find(|span| span["gold"] == gold).unwrap();
    assert_eq!(find("Y [w4]")["predicted"], Value::Null);
    assert_eq!(find("X [w1 w2]")["predicted"], "X [w1]");

    let text = here.stdout("evaluate tagged.tsv --errors=1 -o report.txt");
    assert_eq!(text, "");
    let text = here.read("report.txt");
    assert!(text.contains("wrong tokens: 1 of 2, the surest first"), "{text}");
    assert!(text.contains("tagged.tsv:7") && text.contains("w0 w1 w2 w3 [w4]"), "{text}");
    assert!(text.contains("wrong spans: 1 of 2"), "{text}");
    let refusal = here.refusal("evaluate tagged.tsv -o tagged.tsv", "");
    assert!(refusal.contains("the same file"), "{refusal}");

    // With a model, errors have its probabilities; in CoNLL-U, lines count comments.
    here.write("train.conllu", GOLD);
    here.stdout("train train.conllu -m model.kbest -q");
    here.write("test.conllu", &GOLD.replace("NOUN", "X"));
    let report = json(&here.stdout("evaluate -m model.kbest test.conllu --errors --json"));
    let wrong = &report["errors"]["tokens"][0];
    assert_eq!((wrong["line"].as_u64(), wrong["predicted"].as_str()), (Some(3), Some("NOUN")));
    assert!(wrong["probability"].as_f64().unwrap() > 0.3, "{report}");
    // Any number of threads finds the same.
    let of = |threads: usize| {
        here.stdout(&format!("evaluate -m model.kbest test.conllu --errors --threads {threads}"))
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn spans_have_types_texts_and_places() {
    let here = Workshop::new();
    here.write("train.tsv", "Ada\tB-PER\nLovelace\tI-PER\nwrote\tO\n.\tO\n\nAda\tB-PER\nwrote\tO\n\n");
    here.stdout("train train.tsv -m model.kbest -q");
    here.write(
        "text.jsonl",
        "{\"text\":\"“Ada  Lovelace wrote.\",\"tokens\":[\"“\",\"Ada\",\"Lovelace\",\"wrote\",\".\"]}\n",
    );
    let line = json(&here.stdout("tag -m model.kbest --spans text.jsonl"));
    let span = line["spans"].as_array().unwrap().iter().find(|span| span["start"] == 1).unwrap();
    assert_eq!((span["end"].as_u64(), span["type"].as_str()), (Some(3), Some("PER")));
    assert_eq!((span["char_start"].as_u64(), span["char_end"].as_u64()), (Some(1), Some(14)));
    assert_eq!(span["text"], "Ada  Lovelace");
    here.write(
        "text.conllu",
        "# text = Ada wrote\n1\tAda\t_\t_\t_\t_\t_\t_\t_\t_\n2\twrote\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
    );
    let line = json(&here.stdout("tag -m model.kbest --spans text.conllu"));
    assert_eq!(
        (line["spans"][0]["char_start"].as_u64(), line["spans"][0]["char_end"].as_u64()),
        (Some(0), Some(3))
    );
    let (code, stdout, stderr) = here.run_with("tag -m model.kbest --spans", "Ada\nLovelace\n");
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(!stdout.contains("char_start") && stdout.contains("\"text\":\"Ada Lovelace\""), "{stdout}");

    let (_, stdout, _) = here.run_with("tag -m model.kbest --spans --format text", "Ada Lovelace  wrote.\n");
    let span = &json(&stdout)["spans"][0];
    assert_eq!((span["char_start"].as_u64(), span["char_end"].as_u64()), (Some(0), Some(12)), "{stdout}");

    // Plain labels: runs, said aloud.
    here.write("plain.tsv", "12\tnumber\nHigh\tstreet\nStreet\tstreet\nLeeds\tcity\n\n");
    here.stdout("train plain.tsv -m plain.kbest -q");
    let (code, stdout, stderr) = here.run_with("tag -m plain.kbest --spans", "12\nHigh\nStreet\nLeeds\n");
    assert_eq!(code, 0);
    assert!(stderr.contains("a span is a run of the same label"), "{stderr}");
    let found: Vec<String> = json(&stdout)["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| span["text"].as_str().unwrap().into())
        .collect();
    assert_eq!(found, ["12", "High Street", "Leeds"]);
    let report = here.stdout("evaluate -m plain.kbest plain.tsv --spans runs");
    assert!(report.contains("all spans"), "{report}");
}
