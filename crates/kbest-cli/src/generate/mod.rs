//! Later.
use crate::failure::Result;
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}
pub(crate) fn run(_: &Arguments) -> Result<()> { Ok(()) }
