//! How far a batch is, live on a terminal; elsewhere nothing, because the results say it all.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::show;

const BAR: &str = "{prefix} {bar:30} {percent:>3} %  {human_pos} of {human_len} runs";
/// Known when the first runs have ended.
const PACE: &str = "  {per_sec}  {eta} left";

/// A bar that goes when it is dropped.
pub(super) struct Bar(ProgressBar);

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Bar {
    pub(super) fn new(name: &str, runs: u64) -> Bar {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(runs), target);
        bar.set_style(style(BAR));
        bar.set_prefix(show::harmless(name));
        Bar(bar)
    }

    pub(super) fn show(&self, ended: u64) {
        if self.0.position() == 0 && ended > 0 {
            self.0.set_style(style(&format!("{BAR}{PACE}")));
        }
        self.0.set_position(ended);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
