//! Charts as files: SVG as it is drawn, PNG rendered from it, HTML with the numbers beside it.

use super::atomic_file;
use anyhow::{Context as _, Result};
use report::{Chart, Part};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Pixels for each unit of the SVG, so that a picture is sharp on a screen of high density.
const SCALE: f32 = 2.0;

/// Read once: a report has a dozen pictures, a machine hundreds of fonts.
static FONTS: LazyLock<Option<Arc<Database>>> = LazyLock::new(|| fonts().map(Arc::new));

/// Writes a chart to a file; the ending of its name says what it becomes.
///
/// `.svg` and `.png` are the picture, `.html` is a page with the picture and `table`.
pub(crate) fn draw(path: &Path, chart: Chart, table: Part) -> Result<()> {
    let bytes = match path.extension().and_then(|end| end.to_str()) {
        Some("svg") => chart.svg().into_bytes(),
        Some("png") => png(&chart.svg()).with_context(|| format!("--plot {}", path.display()))?,
        Some("html") => {
            let title = chart.title.clone();
            report::page(&title, &[Part::Chart(chart), table]).into_bytes()
        }
        _ => anyhow::bail!(
            "--plot {}: the name must end in .svg, .png or .html",
            path.display()
        ),
    };
    atomic_file::write(path, |out| Ok(out.write_all(&bytes)?))
}

/// Renders a picture as PNG in its light colours, with this machine's fonts.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>> {
    let fontdb = FONTS.clone().context(
        "no font is installed to write with: install fonts-dejavu-core, or name an .svg",
    )?;
    let options = Options {
        fontdb,
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options)?;
    let size = tree
        .size()
        .to_int_size()
        .scale_by(SCALE)
        .context("the picture has no size")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).context("the picture has no size")?;
    let scale = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}

/// This machine's fonts, with one that has no serifs as the default; `None` if there is no font.
fn fonts() -> Option<Database> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    let without_serifs = fonts
        .faces()
        .find(|face| face.families.iter().any(|family| family.0.contains("Sans")));
    let face = without_serifs.or_else(|| fonts.faces().next())?;
    let family = face.families.first()?.0.clone();
    fonts.set_sans_serif_family(family);
    Some(fonts)
}
