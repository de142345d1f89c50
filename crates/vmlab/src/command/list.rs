//! `scenarios` and `arms`: lists of them.

use super::say;
use crate::arm::ARMS;
use crate::comparison::measure;
use crate::scenario::SCENARIOS;
use anyhow::Result;
use clap::Args;
use serde_json::json;

/// List the loads, and the measures of each
#[derive(Debug, Args)]
pub(crate) struct Scenarios {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also print each scenario's measures
    #[arg(long)]
    measures: bool,
}

impl Scenarios {
    pub(super) fn run(&self) -> Result<()> {
        for scenario in SCENARIOS {
            if self.json {
                let line = json!({
                    "name": scenario.name,
                    "about": scenario.about,
                    "arms": scenario.arms,
                    "measures": scenario.measures,
                });
                say(&format!("{line}\n"))?;
                continue;
            }
            say(&format!("{:<22} {}\n", scenario.name, scenario.about))?;
            if !self.measures {
                continue;
            }
            for measure in scenario.measures.iter().filter_map(|name| measure(name)) {
                say(&format!("    {:<24} {}\n", measure.name, measure.about))?;
            }
        }
        Ok(())
    }
}

/// List the arms: what can be set and run beside a load
#[derive(Debug, Args)]
pub(crate) struct Arms {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Arms {
    pub(super) fn run(&self) -> Result<()> {
        for (name, about) in ARMS {
            let text = if self.json {
                format!("{}\n", json!({"name": name, "about": about}))
            } else {
                format!("{name:<16} {about}\n")
            };
            say(&text)?;
        }
        Ok(())
    }
}
