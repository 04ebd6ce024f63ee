//! The report as one HTML page: no file beside it, light and dark, for phones and for paper.

use super::About;
use super::markdown::short;
use crate::papers::definitions::{Experiment, Paper};
use crate::papers::results::{Outcome, Table};
use kbest_cli::svg::escaped;
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--back:#fff;--text:#1f2933;--soft:#52606d;--line:#d9dee4;--ours:#0b5cad;--agrees:#1a7f37;\
--partly:#9a6700;--differs:#c0262d}
@media(prefers-color-scheme:dark){:root{--back:#14181d;--text:#e9edf1;--soft:#a7b3bf;--line:#333c46;--ours:#7ab7f5;\
--agrees:#4cc26b;--partly:#e0b04a;--differs:#ff7b72}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--back);color:var(--text);\
font:16px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
h1{font-size:1.7rem;line-height:1.2}h2{margin-top:2.5rem;border-bottom:1px solid var(--line)}h3{margin-top:2rem}
a{color:var(--ours)}code{color:var(--soft)}
.wide{overflow-x:auto;-webkit-overflow-scrolling:touch;margin:1rem 0}
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
th{color:var(--soft);font-weight:600}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--back)}
td.ours{color:var(--ours);font-weight:600}
td.words{text-align:left}
.agrees{color:var(--agrees)}.partly{color:var(--partly)}.differs{color:var(--differs)}.unknown{color:var(--soft)}
figure{margin:1.2rem 0}figure svg{max-width:100%;height:auto}figcaption,.note{color:var(--soft);font-size:.9rem}
nav{columns:2 16rem;font-size:.9rem}
@media print{body{max-width:none;font-size:10pt}.wide{overflow:visible}h3,figure,tr{break-inside:avoid}nav{display:none}\
table{font-size:7.5pt}}
@media(max-width:40rem){body{padding:.6rem}h1{font-size:1.35rem}}";

pub(crate) fn html(about: &About<'_>, outcomes: &[(&Experiment, Outcome)]) -> String {
    let mut page = String::new();
    push(
        &mut page,
        format_args!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>The papers' experiments, repeated</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <h1>The papers' experiments, repeated</h1>\n"
        ),
    );
    for paragraph in about.paragraphs() {
        push(&mut page, format_args!("<p>{}</p>\n", emphasised(&paragraph)));
    }
    page.push_str("<nav>\n");
    for (experiment, _) in outcomes {
        push(
            &mut page,
            format_args!(
                "<div><a href=\"#{0}\">{0}</a> {1}</div>\n",
                experiment.id,
                escaped(experiment.place)
            ),
        );
    }
    page.push_str(
        "</nav>\n<h2>What holds</h2>\n<div class=\"wide\"><table>\n<tr><th>paper</th><th>claim</th><th>here</th></tr>\n",
    );
    for (experiment, outcome) in outcomes {
        for finding in &outcome.findings {
            push(
                &mut page,
                format_args!(
                    "<tr><td>{}, <a href=\"#{}\">{}</a></td><td class=\"words\">{}</td><td class=\"{}\">{}</td></tr>\n",
                    short(experiment.paper),
                    experiment.id,
                    escaped(experiment.place),
                    escaped(&finding.claim),
                    class(finding.verdict.word()),
                    finding.verdict.word()
                ),
            );
        }
    }
    page.push_str("</table></div>\n");
    for paper in Paper::ALL {
        let of_paper: Vec<_> = outcomes.iter().filter(|(experiment, _)| experiment.paper == paper).collect();
        if of_paper.is_empty() {
            continue;
        }
        push(&mut page, format_args!("<h2>{}</h2>\n", escaped(paper.citation())));
        for (experiment, outcome) in of_paper {
            section(&mut page, experiment, outcome);
        }
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn section(page: &mut String, experiment: &Experiment, outcome: &Outcome) {
    push(
        page,
        format_args!(
            "<section id=\"{0}\">\n<h3>{1}: {2}</h3>\n<p><code>{0}</code></p>\n",
            experiment.id,
            escaped(experiment.place),
            escaped(experiment.title)
        ),
    );
    if !outcome.findings.is_empty() {
        page.push_str("<ul>\n");
        for finding in &outcome.findings {
            let word = finding.verdict.word();
            push(
                page,
                format_args!(
                    "<li><strong class=\"{}\">{word}</strong>: {}. {}</li>\n",
                    class(word),
                    escaped(&finding.claim),
                    escaped(&finding.because)
                ),
            );
        }
        page.push_str("</ul>\n");
    }
    for figure in &outcome.figures {
        push(
            page,
            format_args!(
                "<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n",
                figure.svg,
                escaped(&figure.caption)
            ),
        );
    }
    for table in &outcome.tables {
        push_table(page, table);
    }
    for note in &outcome.notes {
        push(page, format_args!("<p class=\"note\">{}</p>\n", escaped(note)));
    }
    page.push_str("</section>\n");
}

fn class(word: &str) -> &str {
    if word == "not measured" { "unknown" } else { word }
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("writing to a string cannot fail");
}

fn push_table(page: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    push(
        page,
        format_args!("<div class=\"wide\"><table>\n<caption>{}</caption>\n<tr>", escaped(&table.title)),
    );
    for name in &table.header {
        push(page, format_args!("<th>{}</th>", escaped(name)));
    }
    page.push_str("</tr>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let class = match cell {
                cell if cell.ours => " class=\"ours\"",
                cell if i > 0 && cell.value.is_none() && cell.text != "-" => " class=\"words\"",
                _ => "",
            };
            push(page, format_args!("<td{class}>{}</td>", escaped(&cell.text)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

/// `*word*` as emphasis.
fn emphasised(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in escaped(text).split('*').enumerate() {
        if i > 0 {
            out.push_str(if i % 2 == 1 { "<em>" } else { "</em>" });
        }
        out.push_str(part);
    }
    out
}
