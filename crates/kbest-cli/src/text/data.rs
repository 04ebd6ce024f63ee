//! Files of sequences and how to read them.

use crate::failure::{Failure, Result};
use crate::options::Typed;
use kbest::Sequence;
use kbest::text::{Format, FormatOptions, Reader, ReaderOptions, Separator, TextFormat, WriterOptions};
use std::path::{Path, PathBuf};

/// Options that describe the data.
pub(crate) type Data = Typed<FormatOptions>;

/// How one file is read and written.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    text: TextFormat,
    written: TextFormat, // how answers are written
    from_model: bool,    // whether the model says which format it is
}

impl Data {
    /// How to read this file. Options not given default to those stored in the model.
    pub(crate) fn source(&self, path: Option<&Path>, of_model: Option<&TextFormat>) -> Result<Source> {
        let text = self.text_format(path, of_model)?;
        let from_model =
            of_model.is_some() && self.format.is_none() && path.and_then(Format::by_ending).is_none();
        let mut written = text.clone();
        if let Some(of_model) = of_model.filter(|_| text.format.is_plain_text()) {
            if of_model.format == Format::Items {
                return Err(Failure::Usage(format!(
                    "--format {}: expected a model with features of words, got one with attributes (items)",
                    text.format.name()
                )));
            }
            written.format = of_model.format;
        }
        Ok(Source { text, written, from_model })
    }
}

impl Source {
    /// How the text is written.
    pub(crate) fn text_format(&self) -> &TextFormat {
        &self.text
    }

    /// Whether the format is plain columns.
    pub(crate) fn is_columns(&self) -> bool {
        self.text.format == Format::Columns
    }

    /// The same, separated by any blanks.
    pub(crate) fn is_columns_between_blanks(&self) -> bool {
        self.is_columns() && self.text.separator == Separator::Blanks
    }

    /// Whether cells are attributes with values.
    pub(crate) fn is_items(&self) -> bool {
        self.text.format == Format::Items
    }

    fn options(&self) -> ReaderOptions {
        self.text.clone().into()
    }

    /// Opens a file with labels that must not be empty; stdin for none or `-`.
    pub(crate) fn open_labelled(&self, path: Option<&Path>) -> Result<Reader> {
        Self::open(path, &self.options().labelled(true).required(true))
    }

    /// Opens a file to be tagged, which may be empty and may have labels to keep; stdin for none or `-`.
    pub(crate) fn open_to_tag(&self, path: Option<&Path>, labelled: bool) -> Result<Reader> {
        Self::open(path, &self.options().labelled(labelled))
    }

    fn open(path: Option<&Path>, options: &ReaderOptions) -> Result<Reader> {
        Ok(match path.filter(|path| *path != Path::new("-")) {
            Some(path) => Reader::open(path, options)?,
            None => Reader::new(std::io::stdin(), "<stdin>", options)?,
        })
    }

    /// How answers are written: as the text was, or, if that was plain text, as the model's training text was.
    pub(crate) fn writer_options(&self) -> WriterOptions {
        self.written.clone().into()
    }

    /// Whether the input may keep its reader waiting: a pipe, or a terminal.
    pub(crate) fn is_stream(path: Option<&Path>) -> bool {
        let path = path.filter(|path| *path != Path::new("-"));
        path.is_none_or(|path| std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir()))
    }

    /// Says which formats there are, if the text is not in the one that the model remembers.
    pub(crate) fn with_advice(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Library(error @ kbest::Error::Data { .. })
                if self.from_model && matches!(self.text.format, Format::Conllu | Format::Jsonl) =>
            {
                Failure::Usage(format!(
                    "{error} (the model was trained on {0}, so {0} is read; for plain text try --format text, one sentence \
                     per line, --format tokens, the same with words separated by blanks, or --format columns, one word \
                     per line)",
                    self.text.format.name()
                ))
            }
            other => other,
        }
    }
}

/// What else a sequence must satisfy; an error is reported with file and line.
pub(crate) type CheckSequence<'a> = &'a dyn Fn(&Sequence) -> kbest::Result<()>;

/// All labelled sequences of these files, and how the first file was read.
pub(crate) fn read_labelled(
    data: &Data,
    paths: &[PathBuf],
    also: Option<CheckSequence<'_>>,
) -> Result<(Vec<Sequence>, Source)> {
    read_labelled_for(data, paths, None, also)
}

/// The same for a model: options not given default to those stored in it.
pub(crate) fn read_labelled_for(
    data: &Data,
    paths: &[PathBuf],
    of_model: Option<&TextFormat>,
    also: Option<CheckSequence<'_>>,
) -> Result<(Vec<Sequence>, Source)> {
    read_all(
        data,
        paths,
        of_model,
        |source, path| source.open_labelled(path),
        |reader, sequence| {
            let place = || format!("{}:{}", reader.file(), reader.first_line());
            if !sequence.is_labelled() {
                return Err(Failure::input(&place(), "expected a label at every position, got none"));
            }
            let checked = also.map_or(Ok(()), |check| check(sequence));
            checked.map_err(|error| Failure::input(&place(), error))
        },
    )
}

/// All sequences of these files, labelled or not, and how the first file was read.
pub(crate) fn read_unlabelled(
    data: &Data,
    paths: &[PathBuf],
    of_model: Option<&TextFormat>,
) -> Result<(Vec<Sequence>, Source)> {
    read_all(data, paths, of_model, |source, path| source.open_to_tag(path, false), |_, _| Ok(()))
}

fn read_all(
    data: &Data,
    paths: &[PathBuf],
    of_model: Option<&TextFormat>,
    open: impl Fn(&Source, Option<&Path>) -> Result<Reader>,
    check: impl Fn(&Reader, &Sequence) -> Result<()>,
) -> Result<(Vec<Sequence>, Source)> {
    let mut sequences = Vec::new();
    let mut first = None;
    let files: Vec<Option<&Path>> =
        if paths.is_empty() { vec![None] } else { paths.iter().map(|path| Some(path.as_path())).collect() };
    for path in files {
        let source = data.source(path, of_model)?;
        let mut reader = open(&source, path)?;
        let mut sequence = Sequence::new();
        while reader.read_into(&mut sequence)? {
            check(&reader, &sequence)?;
            sequences.push(sequence.clone());
        }
        first.get_or_insert(source);
    }
    let first = first.ok_or_else(|| Failure::Usage("expected a file to read, got none".into()))?;
    Ok((sequences, first))
}
