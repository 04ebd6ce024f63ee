//! Families of lattices: what is measured is reported, and wrong options are explained.

use super::run;
use serde_json::Value;

#[test]
fn sizes_are_measured_or_counted_as_left_out() {
    let sizes = ["--labels", "2,40", "--lengths", "3,1000", "-k", "1,5", "--most", "10000", "--repeat", "2"];
    let families = ["families", "--family", "ints:2,left-to-right", "--json"];
    let (code, stdout, stderr) = run(&[&families[..], &sizes].concat());
    assert_eq!(code, 0, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let sizes = report["sizes"].as_array().unwrap();
    assert_eq!(sizes.len() + report["left_out"].as_u64().unwrap() as usize, 16);
    assert!(!sizes.is_empty() && sizes.len() < 16);
    for size in sizes {
        let seconds = size["seconds"].as_array().unwrap();
        assert!(seconds.iter().any(|decoder| decoder[0] == "auto"), "{size}");
        assert!(size["ratio"].as_f64().unwrap() > 0.0, "{size}");
    }
}

#[test]
fn wrong_options_are_explained() {
    for (option, value, part) in [
        ("--family", "gauss:7", "--family: expected a name that --list prints, got `gauss:7`"),
        ("--labels", "0", "--labels: expected at least 1, got 0"),
        ("--repeat", "0", "--repeat: expected at least 1, got 0"),
    ] {
        let (code, _, stderr) = run(&["families", option, value]);
        assert!(code == 2 && stderr.contains(part), "{stderr}");
    }
    let (code, names, _) = run(&["families", "--list"]);
    assert!(code == 0 && names.lines().any(|name| name == "left-to-right"), "{names}");
}
