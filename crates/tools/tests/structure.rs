//! The order of the modules, by the same tests as that of the command.

#[path = "../../cli/tests/structure.rs"]
mod structure;
