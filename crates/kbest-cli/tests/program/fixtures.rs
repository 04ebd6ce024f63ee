//! Model files of every released version of the format load for ever, and answer as they did: `testdata/models/VERSION/`.
//!
//! `NAME.kbest` was written by the version of the folder's name; `NAME.tagged` is what that version made of `NAME.input`, with the
//! two best answers and their scores. Files are added when a version of the format is released, and never changed.

use crate::common::kbest;
use std::path::{Path, PathBuf};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn models_of_every_version_answer_as_they_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models");
    let mut models = 0;
    for version in files(&folder).into_iter().filter(|path| path.is_dir()) {
        for model in files(&version).into_iter().filter(|path| path.extension().is_some_and(|e| e == "kbest"))
        {
            let beside = |ending: &str| model.with_extension(ending);
            let format = if model.file_stem().unwrap() == "items" { "items" } else { "columns" };
            let output = kbest()
                .args(["tag", "-k", "2", "--format", format, "-m"])
                .args([&model, &beside("input")])
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{}: {stderr}", model.display());
            let expected = std::fs::read_to_string(beside("tagged")).unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{}", model.display());
            models += 1;
        }
    }
    assert!(models >= 8, "{models} models");
}
