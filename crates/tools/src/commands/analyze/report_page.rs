//! The report of one or more analyses. It is made to be shared, so it has no command lines and no directories.

use super::{captions, charts, labels};
use report::{Figure, Section, document};
use workingset::analysis::Analysis;
use workingset::trace::Visibility;

/// The report as an HTML document.
pub(super) fn page(analyses: &[Analysis]) -> String {
    let names: Vec<&str> = analyses
        .iter()
        .map(|analysis| analysis.program.name.as_str())
        .collect();
    let intro = analyses
        .iter()
        .map(|analysis| captions::whole(&analysis.program, &analysis.program.name));
    let intro: Vec<String> = intro.collect();
    let mut sections = vec![needs(analyses)];
    sections.push(
        section(
            analyses,
            ("map", "Which pages, and when"),
            charts::map,
            captions::map,
        )
        .with(regions(analyses)),
    );
    sections.push(
        section(
            analyses,
            ("size", "The working set over time"),
            charts::size,
            captions::size,
        )
        .with(windows(analyses)),
    );
    sections.push(section(
        analyses,
        ("spread", "Distribution of its size"),
        charts::spread,
        captions::spread,
    ));
    sections.push(section(
        analyses,
        ("moves", "Phases and transitions"),
        charts::moves,
        captions::moves,
    ));
    sections.extend(compared(analyses));
    let verdict = |analysis: &Analysis| {
        analysis
            .windows
            .first()
            .map(|at| at.verdict.clone())
            .unwrap_or_default()
    };
    sections.push(section(
        analyses,
        ("stays", "How long pages stay"),
        charts::stays,
        verdict,
    ));
    let about = |_: &Analysis| "How often each time between two uses of a page occurs.".to_owned();
    sections.push(section(
        analyses,
        ("intervals", "Time between uses"),
        charts::intervals,
        about,
    ));
    document(
        &format!("Working set: {}", names.join(", ")),
        &intro,
        &sections,
    )
}

/// Adds a table to a section.
trait With {
    fn with(self, table: (String, Vec<String>, Vec<Vec<String>>)) -> Self;
}

impl With for Section {
    fn with(mut self, table: (String, Vec<String>, Vec<Vec<String>>)) -> Self {
        self.tables.push(table);
        self
    }
}

/// A picture of each analysis with its caption.
fn section(
    analyses: &[Analysis],
    (id, title): (&str, &str),
    svg: impl Fn(&Analysis) -> String,
    caption: impl Fn(&Analysis) -> String,
) -> Section {
    let figures = analyses.iter().map(|analysis| Figure {
        svg: svg(analysis),
        caption: caption(analysis),
    });
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        figures: figures.collect(),
        ..Section::default()
    }
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// The memory that is needed, and what a reader must know of the traces.
fn needs(analyses: &[Analysis]) -> Section {
    let mut words: Vec<String> = analyses
        .iter()
        .map(|analysis| {
            format!(
                "{}: {}",
                analysis.program.name,
                captions::needs(&analysis.program)
            )
        })
        .collect();
    if analyses
        .iter()
        .any(|analysis| analysis.program.visibility == Visibility::Scans)
    {
        words.push(
            "A trace of samples shows which pages were used within an interval, but not their order. It has no exact faults, so \
             policies are not compared on it."
                .to_owned(),
        );
    }
    let sizes: Vec<u64> = analyses
        .iter()
        .map(|analysis| analysis.program.page_size)
        .collect();
    if sizes.windows(2).any(|pair| pair[0] != pair[1]) {
        words.push("The traces have different page sizes: compare bytes, not pages.".to_owned());
    }
    let rows = analyses.iter().flat_map(|analysis| {
        let name = analysis.program.name.clone();
        analysis.program.needs.iter().map(move |need| {
            vec![
                name.clone(),
                format!("{}", need.ratio),
                need.lru_pages.to_string(),
                format!("{:.1}", need.ws_pages),
                need.theta.to_string(),
            ]
        })
    });
    let heading = cells([
        "trace",
        "faults per reference",
        "LRU pages",
        "working set pages",
        "θ",
    ]);
    Section {
        id: "needs".to_owned(),
        title: "How much memory".to_owned(),
        words,
        ..Section::default()
    }
    .with((
        "Memory by share of faults".to_owned(),
        heading,
        rows.collect(),
    ))
}

fn regions(analyses: &[Analysis]) -> (String, Vec<String>, Vec<Vec<String>>) {
    let rows = analyses.iter().flat_map(|analysis| {
        let program = &analysis.program;
        program.regions.iter().map(|region| {
            vec![
                labels::short(&region.name).to_owned(),
                program.name.clone(),
                region.pages.to_string(),
                region.uses.to_string(),
            ]
        })
    });
    (
        "Regions".to_owned(),
        cells(["region", "trace", "pages", "uses"]),
        rows.collect(),
    )
}

fn windows(analyses: &[Analysis]) -> (String, Vec<String>, Vec<Vec<String>>) {
    let heading = cells([
        "trace",
        "θ",
        "mean pages",
        "most",
        "95 % of time",
        "faults",
        "sum at faults",
        "faults × mean",
        "stays",
        "median stay",
        "mean stay",
    ]);
    let rows = analyses.iter().flat_map(|analysis| {
        analysis.windows.iter().map(|at| {
            vec![
                analysis.program.name.clone(),
                at.theta.to_string(),
                format!("{:.3}", at.size),
                at.peak.to_string(),
                at.enough.to_string(),
                at.faults.to_string(),
                format!("{:.0}", at.size_at_faults),
                format!("{:.0}", at.size * at.faults as f64),
                at.residence.stays.to_string(),
                at.residence
                    .median
                    .map_or_else(|| "unknown".to_owned(), |median| format!("{median:.0}")),
                format!("{:.0}", at.residence.mean),
            ]
        })
    });
    (
        "The working set at each window".to_owned(),
        heading,
        rows.collect(),
    )
}

/// The sections for which a trace must have every reference.
fn compared(analyses: &[Analysis]) -> Vec<Section> {
    type Picture = fn(&Analysis, &workingset::analysis::Curves) -> String;
    let exact: Vec<_> = analyses
        .iter()
        .filter_map(|analysis| Some((analysis, analysis.curves.as_ref()?)))
        .collect();
    if exact.is_empty() {
        return Vec::new();
    }
    let section = |id: &str, title: &str, svg: Picture, caption: Picture| {
        let figures = exact.iter().map(|(analysis, curves)| Figure {
            svg: svg(analysis, curves),
            caption: caption(analysis, curves),
        });
        Section {
            id: id.to_owned(),
            title: title.to_owned(),
            figures: figures.collect(),
            ..Section::default()
        }
    };
    let heading = cells([
        "trace",
        "θ",
        "mean pages",
        "working set",
        "LRU",
        "OPT",
        "FIFO",
        "2Q",
        "half-life",
        "VMIN pages",
    ]);
    let rows = exact.iter().flat_map(|(analysis, curves)| {
        curves.claims.iter().map(|claim| {
            let faults = [
                claim.ws,
                claim.lru,
                claim.opt,
                claim.fifo,
                claim.two_q,
                claim.half_life,
            ];
            let mut row = vec![
                analysis.program.name.clone(),
                claim.theta.to_string(),
                format!("{:.2}", claim.size),
            ];
            row.extend(faults.map(|faults| format!("{faults:.0}")));
            row.push(format!("{:.2}", claim.vmin_size));
            row
        })
    });
    let table = (
        "Faults at equal mean size".to_owned(),
        heading,
        rows.collect(),
    );
    vec![
        section(
            "lifetime",
            "Lifetime curves",
            charts::lifetime,
            |_, curves| captions::claim(curves),
        )
        .with(table),
        section("misses", "Miss curves", charts::misses, |_, curves| {
            captions::misses(curves)
        }),
        section(
            "space-time",
            "Space-time",
            charts::space_time,
            |analysis, curves| captions::space_time(curves, &analysis.program),
        ),
    ]
}
