//! The scenarios that come with the program.

/// A scenario that is compiled in.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// What it is called in commands.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// All of them, the smallest first.
pub fn shipped() -> &'static [Shipped] {
    &[
        Shipped { name: "performance", text: include_str!("../scenarios/performance.json") },
        Shipped { name: "day", text: include_str!("../scenarios/day.json") },
        Shipped { name: "two-days", text: include_str!("../scenarios/two-days.json") },
        Shipped { name: "nine-days", text: include_str!("../scenarios/nine-days.json") },
    ]
}
