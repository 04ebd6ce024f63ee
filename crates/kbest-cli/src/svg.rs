//! A line chart with two logarithmic axes, as SVG.
//!
//! Plain shapes and a little CSS: light by default, dark if the viewer prefers it.

use std::fmt::Write;

/// One line of the chart.
pub struct Series {
    pub name: String,
    /// (x, y), both above 0, in order of x.
    pub points: Vec<(f64, f64)>,
    pub role: Role,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The line to emphasise.
    Highlight,
    /// One among many.
    Plain,
    /// A limit, not a contender.
    Limit,
}

/// The texts of a chart.
pub struct Texts<'a> {
    pub title: &'a str,
    pub subtitle: &'a str,
    pub x: &'a str,
    pub y: &'a str,
}

const WIDTH: f64 = 930.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 492.0;

/// Readable on white and on near-black, and as distinct for the colour-blind as ten lines allow.
pub const COLOURS: [&str; 10] = [
    "#0072b2", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#8c6bb1", "#a6761d", "#1b9e9e", "#7f7f7f",
    "#6a994e",
];
pub const HIGHLIGHT: &str = "#e0245e";
/// Dashes distinguish lines that colour alone does not.
const DASHES: [&str; 3] = ["", "7 4", "2 3"];

pub const STYLE: &str = "\
.back{fill:#fff}.text{fill:#1f2933}.soft{fill:#52606d}.grid{stroke:#d9dee4}.limit{stroke:#7b8794}
@media(prefers-color-scheme:dark){.back{fill:#14181d}.text{fill:#e9edf1}.soft{fill:#a7b3bf}.grid{stroke:#333c46}}
text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}";

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }
}

/// Draws the chart.
pub fn chart(texts: &Texts<'_>, series: &[Series]) -> String {
    let points = || series.iter().flat_map(|series| &series.points);
    let low = |f: fn(&(f64, f64)) -> f64| points().map(f).fold(f64::INFINITY, f64::min);
    let high = |f: fn(&(f64, f64)) -> f64| points().map(f).fold(0.0, f64::max);
    let decade = |value: f64, up: bool| {
        let power = value.log10();
        10f64.powf(if up { power.ceil() } else { power.floor() })
    };
    let (x_low, x_high) = if points().next().is_some() { (low(|p| p.0), high(|p| p.0)) } else { (1.0, 10.0) };
    let (y_low, y_high) = if points().next().is_some() { (low(|p| p.1), high(|p| p.1)) } else { (1.0, 10.0) };
    let x = Axis { low: x_low / 1.1, high: x_high * 1.1, from: LEFT, to: RIGHT };
    let (y_low, y_high) = (decade(y_low, false), decade(y_high, true));
    let y_high = if y_high > y_low { y_high } else { y_low * 10.0 };
    let y = Axis { low: y_low, high: y_high, from: BOTTOM, to: TOP };

    let mut svg = String::new();
    let out = &mut svg;
    draw(
        out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\" aria-label=\"{}\">\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"10\"/>\n",
            escaped(texts.title)
        ),
    );
    text(out, "text", LEFT, 38.0, "start", 20, true, texts.title);
    text(out, "soft", LEFT, 61.0, "start", 13, false, texts.subtitle);
    axes(out, texts, &x, &y, series);
    let mut colours = 0;
    let styles: Vec<String> = series.iter().map(|series| stroke(series.role, &mut colours)).collect();
    // The highlighted line is drawn on top of the others.
    let mut drawn: Vec<_> = series.iter().zip(&styles).collect();
    drawn.sort_by_key(|(series, _)| series.role == Role::Highlight);
    for (series, style) in &drawn {
        line(out, &x, &y, series, style);
    }
    legend(out, series, &styles);
    svg.push_str("</svg>\n");
    svg
}

pub fn draw(out: &mut String, shape: std::fmt::Arguments<'_>) {
    out.write_fmt(shape).expect("writing to a string cannot fail");
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub fn text(out: &mut String, class: &str, x: f64, y: f64, anchor: &str, size: u32, bold: bool, words: &str) {
    let weight = if bold { " font-weight=\"700\"" } else { "" };
    draw(
        out,
        format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\"{weight}>{}</text>\n",
            escaped(words)
        ),
    );
}

fn axes(out: &mut String, texts: &Texts<'_>, x: &Axis, y: &Axis, series: &[Series]) {
    let mut tick = y.low;
    while tick <= y.high * 1.001 {
        let at = y.at(tick);
        draw(
            out,
            format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke-width=\"1\"/>\n"
            ),
        );
        text(out, "soft", LEFT - 10.0, at + 4.5, "end", 13, false, &plain(tick));
        tick *= 10.0;
    }
    let mut ticks: Vec<f64> = series.iter().flat_map(|series| series.points.iter().map(|p| p.0)).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    for tick in ticks {
        let at = x.at(tick);
        draw(
            out,
            format_args!(
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\" stroke-width=\"1\"/>\n"
            ),
        );
        text(out, "soft", at, BOTTOM + 20.0, "middle", 13, false, &plain(tick));
    }
    text(out, "soft", (LEFT + RIGHT) / 2.0, BOTTOM + 46.0, "middle", 14, false, texts.x);
    let middle = (TOP + BOTTOM) / 2.0;
    draw(
        out,
        format_args!(
            "<text class=\"soft\" transform=\"translate(22 {middle:.1}) rotate(-90)\" text-anchor=\"middle\" \
         font-size=\"14\">{}</text>\n",
            escaped(texts.y)
        ),
    );
}

/// `0.001`, `1`, `3,000`.
fn plain(value: f64) -> String {
    if value >= 1.0 {
        crate::table::number(value.round()).split('.').next().unwrap_or("").into()
    } else {
        let digits = (-value.log10()).ceil().max(0.0) as usize;
        format!("{value:.digits$}")
    }
}

fn stroke(role: Role, colours: &mut usize) -> String {
    match role {
        Role::Highlight => format!("stroke=\"{HIGHLIGHT}\" stroke-width=\"4.5\""),
        Role::Limit => "class=\"limit\" stroke-width=\"1.6\" stroke-dasharray=\"3 4\"".into(),
        Role::Plain => {
            let colour = COLOURS[*colours % COLOURS.len()];
            let dash = DASHES[*colours % DASHES.len()];
            *colours += 1;
            format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"")
                .replace(" stroke-dasharray=\"\"", "")
        }
    }
}

fn line(out: &mut String, x: &Axis, y: &Axis, series: &Series, style: &str) {
    let place = |&(px, py): &(f64, f64)| format!("{:.1},{:.1}", x.at(px), y.at(py));
    let points: Vec<String> = series.points.iter().map(place).collect();
    draw(
        out,
        format_args!(
            "<polyline fill=\"none\" {style} stroke-linejoin=\"round\" stroke-linecap=\"round\" points=\"{}\">\
         <title>{}</title></polyline>\n",
            points.join(" "),
            escaped(&series.name)
        ),
    );
    if series.role != Role::Limit {
        let colour = style.split('"').nth(1).unwrap_or(HIGHLIGHT);
        let radius = if series.role == Role::Highlight { 4.5 } else { 3.0 };
        for &(px, py) in &series.points {
            draw(
                out,
                format_args!(
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{colour}\"/>\n",
                    x.at(px),
                    y.at(py)
                ),
            );
        }
    }
}

/// Names beside the chart, in the order of the right ends of the lines.
fn legend(out: &mut String, series: &[Series], styles: &[String]) {
    let end = |i: &usize| series[*i].points.last().copied().unwrap_or((0.0, 0.0));
    let mut order: Vec<usize> = (0..series.len()).collect();
    // Lines that reach further right first, the slowest of them on top.
    order.sort_by(|a, b| {
        let ((ax, ay), (bx, by)) = (end(a), end(b));
        bx.total_cmp(&ax).then(by.total_cmp(&ay))
    });
    for (place, &i) in order.iter().enumerate() {
        let at = TOP + 14.0 + 28.0 * place as f64;
        draw(
            out,
            format_args!(
                "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" {}/>\n",
                RIGHT + 22.0,
                RIGHT + 52.0,
                styles[i]
            ),
        );
        let bold = series[i].role == Role::Highlight;
        let class = if series[i].role == Role::Limit { "soft" } else { "text" };
        text(out, class, RIGHT + 61.0, at + 4.5, "start", 14, bold, &series[i].name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_and_named() {
        let series =
            |name: &str, role| Series { name: name.into(), points: vec![(50.0, 0.2), (3000.0, 40.0)], role };
        let all = [series("auto", Role::Highlight), series("a<b", Role::Plain), series("scan", Role::Limit)];
        let texts = Texts { title: "T & L", subtitle: "", x: "labels", y: "ms" };
        let svg = chart(&texts, &all);
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert!(svg.contains("a&lt;b") && svg.contains("T &amp; L") && svg.contains(">3,000<"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let empty = chart(&texts, &[]);
        assert!(empty.ends_with("</svg>\n") && !empty.contains("NaN"));
    }
}
