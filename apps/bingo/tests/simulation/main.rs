//! The simulation from outside: its rules, the weak points it must not have, and what may never change.

mod bad_files;
mod golden;
mod made;
mod properties;
mod rules;
mod small;
mod weak_points;
