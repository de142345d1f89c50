//! A page of charts and tables in one file that needs no network.

use crate::{Chart, escaped};
use std::fmt::Write;

/// A part of a page.
#[derive(Debug, Clone)]
pub enum Part {
    /// A paragraph.
    Text(String),
    /// A chart.
    Chart(Chart),
    /// A heading row and rows.
    Table(Vec<String>, Vec<Vec<String>>),
}

/// The page's style, for screens in light and dark colours, and for paper.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\
h1{font-size:1.4em}svg{display:block;width:100%;max-width:44em;height:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}\
.wide{overflow-x:auto}@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}td,th{border-color:#333}}\
@media print{body{max-width:none;margin:0}svg,table{break-inside:avoid}}";

/// The parts, in their order, as an HTML document.
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
    html.push_str("<div class=\"wide\" tabindex=\"0\"><table><thead>");
    row(html, heading, "th");
    html.push_str("</thead><tbody>\n");
    for cells in rows {
        row(html, cells, "td");
        html.push('\n');
    }
    html.push_str("</tbody></table></div>\n");
}

fn row(html: &mut String, cells: &[String], tag: &str) {
    html.push_str("<tr>");
    for cell in cells {
        let _ = write!(html, "<{tag}>{}</{tag}>", escaped(cell));
    }
    html.push_str("</tr>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_loads_nothing() {
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
