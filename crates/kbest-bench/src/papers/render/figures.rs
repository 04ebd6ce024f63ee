//! Pictures with a plain horizontal axis: bars and triangles, lines, vertical marks.
//!
//! The chart with two logarithmic axes is [`kbest_cli::svg::chart`]; this draws the rest with the same colours.

use kbest_cli::svg::{COLOURS, HIGHLIGHT, STYLE, draw, escaped, text};
use kbest_cli::table::number;

/// A line.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlotLine {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// The line to emphasise.
    pub(crate) strong: bool,
}

/// What is drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) lines: Vec<PlotLine>,
    pub(crate) bars: Vec<(f64, f64)>,
    pub(crate) triangles: Vec<(f64, f64)>,
    /// Vertical marks.
    pub(crate) verticals: Vec<f64>,
    /// Names of places on the horizontal axis; numbers if there are none.
    pub(crate) x_ticks: Vec<(f64, String)>,
    /// Whether the vertical axis is logarithmic.
    pub(crate) logarithmic: bool,
}

const WIDTH: f64 = 930.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 366.0;
/// Names of lines shown beside the picture; more would not fit.
const MOST_NAMES: usize = 24;

/// From values to places.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    right: f64,
    logarithmic: bool,
}

impl Axes {
    fn across(&self, x: f64) -> f64 {
        LEFT + (x - self.x.0) / (self.x.1 - self.x.0) * (self.right - LEFT)
    }

    fn up(&self, y: f64) -> f64 {
        let scaled = |y: f64| if self.logarithmic { y.max(1e-12).ln() } else { y };
        let (low, high) = (scaled(self.y.0), scaled(self.y.1));
        BOTTOM - (scaled(y) - low) / (high - low) * (BOTTOM - TOP)
    }
}

/// Draws it.
pub(crate) fn plot(plot: &Plot) -> String {
    let named = plot.lines.len() > 1 && plot.lines.len() <= MOST_NAMES;
    let axes = axes(plot, if named { 640.0 } else { 900.0 });
    let mut svg = String::new();
    draw(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" role=\"img\" aria-label=\"{}\">\n<style>{STYLE}</style>\n\
             <rect class=\"back\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"10\"/>\n",
            escaped(&plot.title)
        ),
    );
    text(&mut svg, "text", LEFT, 34.0, "start", 18, true, &plot.title);
    grid(&mut svg, plot, &axes);
    for &x in &plot.verticals {
        let at = axes.across(x);
        draw(
            &mut svg,
            format_args!(
                "<line class=\"limit\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\" stroke-dasharray=\"2 3\"/>\n"
            ),
        );
    }
    shapes(&mut svg, plot, &axes);
    for (i, line) in plot.lines.iter().enumerate() {
        let (colour, width) = style(line, i);
        let points: Vec<String> =
            line.points.iter().map(|&(x, y)| format!("{:.1},{:.1}", axes.across(x), axes.up(y))).collect();
        draw(
            &mut svg,
            format_args!(
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\" \
                 points=\"{}\"><title>{}</title></polyline>\n",
                points.join(" "),
                escaped(&line.name)
            ),
        );
        if named {
            let step = ((BOTTOM - TOP + 30.0) / plot.lines.len() as f64).min(22.0);
            let at = TOP + 6.0 + step * i as f64;
            draw(
                &mut svg,
                format_args!(
                    "<line x1=\"656\" x2=\"676\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\n"
                ),
            );
            text(&mut svg, "text", 682.0, at + 4.0, "start", 11, line.strong, &line.name);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn style(line: &PlotLine, i: usize) -> (&'static str, f64) {
    if line.strong { (HIGHLIGHT, 2.6) } else { (COLOURS[i % COLOURS.len()], 1.5) }
}

/// Room for everything; axes of values that are all equal get some width.
fn axes(plot: &Plot, right: f64) -> Axes {
    let points = || {
        let lines = plot.lines.iter().flat_map(|line| &line.points);
        lines.chain(&plot.bars).chain(&plot.triangles).filter(|(x, y)| x.is_finite() && y.is_finite())
    };
    let range = |f: fn(&(f64, f64)) -> f64| {
        let low = points().map(f).fold(f64::INFINITY, f64::min);
        let high = points().map(f).fold(f64::NEG_INFINITY, f64::max);
        if low.is_finite() && high > low {
            (low, high)
        } else {
            (low.clamp(-1e300, 0.0), high.clamp(1.0, 1e300))
        }
    };
    let (mut x, mut y) = (range(|p| p.0), range(|p| p.1));
    if !plot.bars.is_empty() {
        x = (x.0 - 1.0, x.1 + 1.0);
    }
    if plot.logarithmic {
        y = (y.0.max(1e-9) / 1.2, y.1.max(1e-9) * 1.2);
    } else {
        y = (y.0.min(0.0), y.1 * 1.05 + f64::from(u8::from(y.1 == 0.0)));
    }
    Axes { x, y, right, logarithmic: plot.logarithmic }
}

/// A round number without needless digits: `2`, `0.5`.
fn short(tick: f64) -> String {
    if tick.fract() == 0.0 && tick.abs() < 1e15 {
        return number(tick).split('.').next().unwrap_or_default().to_owned();
    }
    number(tick).trim_end_matches('0').to_owned()
}

/// About five round numbers between two.
fn rounds(low: f64, high: f64) -> Vec<f64> {
    let span = (high - low).max(f64::MIN_POSITIVE);
    let power = 10f64.powf((span / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| span / step <= 6.0);
    let step = step.unwrap_or(span);
    let first = (low / step).ceil() as i64;
    (first..first + 12).map(|i| i as f64 * step).take_while(|tick| *tick <= high + step * 1e-9).collect()
}

fn grid(svg: &mut String, plot: &Plot, axes: &Axes) {
    let ticks = match axes.logarithmic {
        true => {
            let steps = [1.0, 2.0, 5.0];
            let powers = -6..9;
            let all = powers.flat_map(|power| steps.map(|step| step * 10f64.powi(power)));
            all.filter(|tick| *tick >= axes.y.0 && *tick <= axes.y.1).collect()
        }
        false => rounds(axes.y.0, axes.y.1),
    };
    for tick in ticks {
        let at = axes.up(tick);
        draw(
            svg,
            format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\n",
                axes.right
            ),
        );
        text(svg, "soft", LEFT - 8.0, at + 4.0, "end", 12, false, &short(tick));
    }
    let x_ticks: Vec<(f64, String)> = match plot.x_ticks.is_empty() {
        true => rounds(axes.x.0, axes.x.1).into_iter().map(|tick| (tick, short(tick))).collect(),
        false => plot.x_ticks.clone(),
    };
    for (x, name) in x_ticks {
        text(svg, "soft", axes.across(x), BOTTOM + 18.0, "middle", 12, false, &name);
    }
    let middle = (LEFT + axes.right) / 2.0;
    text(svg, "soft", middle, BOTTOM + 42.0, "middle", 13, false, &plot.x);
    draw(
        svg,
        format_args!(
            "<text class=\"soft\" transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\" \
             font-size=\"13\">{}</text>\n",
            (TOP + BOTTOM) / 2.0,
            escaped(&plot.y)
        ),
    );
}

/// Bars and triangles.
fn shapes(svg: &mut String, plot: &Plot, axes: &Axes) {
    let width = 0.7 * (axes.right - LEFT) / (axes.x.1 - axes.x.0);
    for &(x, y) in plot.bars.iter().filter(|(_, y)| y.is_finite()) {
        let (at, top) = (axes.across(x), axes.up(y));
        draw(
            svg,
            format_args!(
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{}\"/>\n",
                at - width / 2.0,
                (BOTTOM - top).max(0.5),
                COLOURS[0]
            ),
        );
    }
    for &(x, y) in plot.triangles.iter().filter(|(_, y)| y.is_finite()) {
        let (at, top) = (axes.across(x), axes.up(y));
        draw(
            svg,
            format_args!("<path d=\"M{:.1} {:.1}l4 7h-8z\" fill=\"{}\"/>\n", at, top - 4.0, COLOURS[4]),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_drawn_and_nothing_is_nan() {
        let line =
            |name: &str| PlotLine { name: name.into(), points: vec![(0.0, 1.0), (5.0, -3.0)], strong: false };
        let all = Plot {
            title: "a < b".into(),
            lines: vec![line("one"), line("two")],
            bars: vec![(0.0, 1.0), (1.0, f64::NAN)],
            triangles: vec![(0.0, 2.0)],
            verticals: vec![1.0],
            x_ticks: vec![(0.0, "1:1".into())],
            ..Plot::default()
        };
        let svg = plot(&all);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<path").count()), (2, 1));
        assert!(
            svg.contains("a &lt; b") && svg.contains(">1:1<") && !svg.contains("NaN") && !svg.contains("inf")
        );
        for empty in [Plot::default(), Plot { logarithmic: true, ..Plot::default() }] {
            let svg = plot(&empty);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        let flat = Plot {
            lines: vec![PlotLine { points: vec![(0.0, 0.0)], ..PlotLine::default() }],
            ..Plot::default()
        };
        assert!(!plot(&flat).contains("NaN"));
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(rounds(0.0, 10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(rounds(-1.0, 1.0).len(), 5);
        assert_eq!([2.0, 0.5, 1500.0, -4.0, 0.0].map(short), ["2", "0.5", "1,500", "-4", "0"]);
    }
}
