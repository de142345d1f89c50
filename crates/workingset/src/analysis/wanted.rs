//! What is wanted of an analysis.

/// What is wanted of an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Windows to be looked at closely, in the trace's time; chosen if there are none.
    pub thetas: Vec<u64>,
    /// Sizes at which a policy that has no curve of one pass is run.
    pub points: usize,
    /// Pixels of pictures over time.
    pub pixels: usize,
    /// Time that a fault's service takes, in the trace's time.
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
