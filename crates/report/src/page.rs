//! A page of charts and tables, in one file that needs no network.

use crate::{Chart, escaped};
use std::fmt::Write;

/// What a page shows, in order.
#[derive(Debug, Clone)]
pub enum Part {
    /// A sentence or more.
    Text(String),
    /// A picture.
    Chart(Chart),
    /// A heading row and rows.
    Table(Vec<String>, Vec<Vec<String>>),
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\
h1{font-size:1.4em}svg{width:100%;height:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}\
.wide{overflow-x:auto}@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}td,th{border-color:#333}}\
@media print{body{max-width:none;margin:0}svg,table{break-inside:avoid}}";

/// As an HTML document.
pub fn page(title: &str, parts: &[Part]) -> String {
    let title = escaped(title);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    for part in parts {
        match part {
            Part::Text(text) => _ = writeln!(html, "<p>{}</p>", escaped(text)),
            Part::Chart(chart) => html.push_str(&chart.svg()),
            Part::Table(heading, rows) => table(&mut html, heading, rows),
        }
    }
    html.push_str("</body></html>\n");
    html
}

fn table(html: &mut String, heading: &[String], rows: &[Vec<String>]) {
    let row = |cells: &[String], tag: &str| -> String {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)))
            .collect();
        cells.concat()
    };
    let _ = writeln!(
        html,
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>{}</tr></thead><tbody>",
        row(heading, "th")
    );
    for cells in rows {
        let _ = writeln!(html, "<tr>{}</tr>", row(cells, "td"));
    }
    html.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_needs_nothing() {
        let html = page(
            "A < B",
            &[
                Part::Text("x & y".to_owned()),
                Part::Table(vec!["n".to_owned()], vec![vec!["1".to_owned()]]),
            ],
        );
        assert!(
            html.contains("A &lt; B") && html.contains("x &amp; y") && html.contains("<td>1</td>")
        );
        assert!(!html.contains("src=") && !html.contains("href="));
    }
}
