//! `kbest completions` and `kbest man`: for shells and for `man`, made from the same descriptions as `--help`.

use crate::failure::{Failure, Result};
use crate::output::{Output, write_file};
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Print completions of commands and options for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest completions bash > ~/.local/share/bash-completion/completions/kbest
  kbest completions zsh > ~/.zfunc/_kbest
  kbest completions fish > ~/.config/fish/completions/kbest.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Print the manual page of a command, or write those of all commands to a folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest man tag | man -l -
  kbest man --all ~/.local/share/man/man1")]
pub(crate) struct Manual {
    /// The command, such as tag [default: kbest itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands to this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["command", "output"])]
    all: Option<PathBuf>,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

pub(crate) fn completions(arguments: &Completions, mut command: Command) -> Result<()> {
    let mut output = Output::create(arguments.output.as_deref())?;
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "kbest", &mut script);
    output.write_all(&script)?;
    output.finish()
}

pub(crate) fn manual(arguments: &Manual, mut command: Command) -> Result<()> {
    command.build();
    if let Some(folder) = &arguments.all {
        std::fs::create_dir_all(folder).map_err(|error| Failure::system("make", folder, error))?;
        return write_all(folder, &command, "kbest");
    }
    let (mut found, mut name) = (&command, String::from("kbest"));
    for word in &arguments.command {
        found = found.find_subcommand(word).ok_or_else(|| {
            let known: Vec<&str> = found.get_subcommands().map(Command::get_name).collect();
            Failure::Usage(format!("man: expected a command ({}), got {word}", known.join(", ")))
        })?;
        name = format!("{name}-{}", found.get_name());
    }
    let mut output = Output::create(arguments.output.as_deref())?;
    output.write_all(&page(found, &name)?)?;
    output.finish()
}

fn write_all(folder: &Path, command: &Command, name: &str) -> Result<()> {
    write_file(&folder.join(format!("{name}.1")), &page(command, name)?)?;
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    commands
        .into_iter()
        .try_for_each(|command| write_all(folder, command, &format!("{name}-{}", command.get_name())))
}

fn page(command: &Command, name: &str) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command.clone()).title(name).render(&mut text)?;
    Ok(text)
}
