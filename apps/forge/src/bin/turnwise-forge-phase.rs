//! One phase of the forge as a program of its own, for programs that embed the forge and cannot run themselves again.

use std::process::ExitCode;

fn main() -> ExitCode {
    turnwise_forge::phase::main()
}
