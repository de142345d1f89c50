//! What is wanted of an analysis.

/// What is wanted of an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Windows to be analysed closely, in the trace's time. If there are none, they are chosen.
    pub thetas: Vec<u64>,
    /// Sizes at which a policy without a one-pass curve is run.
    pub points: usize,
    /// Pixels of pictures over time.
    pub pixels: usize,
    /// How long a fault's service takes, in the trace's time.
    pub service: f64,
    /// Columns and rows of the map.
    pub map: (usize, usize),
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            thetas: Vec::new(),
            points: 6,
            pixels: 400,
            service: 10_000.0,
            map: (480, 240),
        }
    }
}
