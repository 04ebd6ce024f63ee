//! The program `kbest`; `lib.rs` holds all of it.

fn main() -> std::process::ExitCode {
    kbest_cli::main()
}
