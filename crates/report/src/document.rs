//! A report: sections with sentences, pictures beside each other, and tables to unfold, in one file that needs no network.

use crate::escaped;
use std::fmt::Write;

/// A picture.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The picture, an SVG document.
    pub svg: String,
    /// What the picture shows, in a sentence or more.
    pub caption: String,
}

/// A part of a report.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// The section's name in links.
    pub id: String,
    /// The heading.
    pub title: String,
    /// Paragraphs before the pictures.
    pub words: Vec<String>,
    /// Pictures.
    pub figures: Vec<Figure>,
    /// Tables, each with its caption, its heading row and its rows.
    pub tables: Vec<(String, Vec<String>, Vec<Vec<String>>)>,
}

/// The report's style, for screens in light and dark colours, and for paper.
const STYLE: &str = "\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:78em;margin:0 auto;padding:1em;color:#222;background:#fff}\
h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em;border-top:1px solid #ccc;padding-top:.7em}p,figcaption{max-width:46em}\
figcaption{font-size:.95em}nav a{margin-right:1em;display:inline-block}a{color:#0060a8}\
.skip{position:absolute;left:-99em}.skip:focus{left:1em}.figures{display:grid;gap:1.5em;grid-template-columns:repeat(auto-fit,minmax(min(100%,36em),1fr))}\
figure{margin:0;min-width:0}.wide{overflow-x:auto}.wide svg{display:block;width:100%;max-width:46em;height:auto}\
.wide:focus,summary:focus,a:focus{outline:2px solid #0072b2;outline-offset:2px}summary{cursor:pointer}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9em}caption{text-align:left;padding:.3em 0}\
td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}td:first-child,th:first-child{text-align:left}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}a{color:#7cc4ff}td,th{border-color:#333}h2{border-color:#444}}\
@media print{body{max-width:none;padding:0}nav,.skip{display:none}figure,tr{break-inside:avoid}}";

/// The sections as an HTML document, with links to each.
pub fn document(title: &str, intro: &[String], sections: &[Section]) -> String {
    let title = escaped(title);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><link rel=\"icon\" href=\"data:,\">\
         <title>{title}</title><style>{STYLE}</style></head><body>\n\
         <a class=\"skip\" href=\"#main\">To the report</a><header><h1>{title}</h1></header>\n<nav aria-label=\"Sections\">"
    );
    for section in sections {
        let _ = write!(
            html,
            "<a href=\"#{}\">{}</a> ",
            escaped(&section.id),
            escaped(&section.title)
        );
    }
    html.push_str("</nav>\n<main id=\"main\">\n");
    paragraphs(&mut html, intro);
    for section in sections {
        put(&mut html, section);
    }
    html.push_str("</main></body></html>\n");
    html
}

fn paragraphs(html: &mut String, words: &[String]) {
    for words in words {
        let _ = writeln!(html, "<p>{}</p>", escaped(words));
    }
}

fn put(html: &mut String, section: &Section) {
    let id = escaped(&section.id);
    let title = escaped(&section.title);
    let _ = writeln!(
        html,
        "<section aria-labelledby=\"{id}\"><h2 id=\"{id}\">{title}</h2>"
    );
    paragraphs(html, &section.words);
    if !section.figures.is_empty() {
        html.push_str("<div class=\"figures\">\n");
        for figure in &section.figures {
            let caption = escaped(&figure.caption);
            let _ = writeln!(
                html,
                "<figure><div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"picture\">{}</div>\
                 <figcaption>{caption}</figcaption></figure>",
                figure.svg
            );
        }
        html.push_str("</div>\n");
    }
    for (caption, heading, rows) in &section.tables {
        let _ = writeln!(html, "<details><summary>{}</summary>", escaped(caption));
        table(html, heading, rows);
        html.push_str("</details>\n");
    }
    html.push_str("</section>\n");
}

fn table(html: &mut String, heading: &[String], rows: &[Vec<String>]) {
    html.push_str(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"numbers\"><table><thead>",
    );
    row(html, heading, "<th scope=\"col\">", "</th>");
    html.push_str("</thead><tbody>\n");
    for cells in rows {
        row(html, cells, "<td>", "</td>");
        html.push('\n');
    }
    html.push_str("</tbody></table></div>\n");
}

fn row(html: &mut String, cells: &[String], begin: &str, end: &str) {
    html.push_str("<tr>");
    for cell in cells {
        let _ = write!(html, "{begin}{}{end}", escaped(cell));
    }
    html.push_str("</tr>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_whole_and_loads_nothing() {
        let section = Section {
            id: "map".to_owned(),
            title: "Map & more".to_owned(),
            words: vec!["a < b".to_owned()],
            figures: vec![Figure {
                svg: "<svg></svg>".to_owned(),
                caption: "c & d".to_owned(),
            }],
            tables: vec![(
                "numbers".to_owned(),
                vec!["n".to_owned()],
                vec![vec!["1".to_owned()]],
            )],
        };
        let html = document("T", &["intro".to_owned()], &[section]);
        for part in [
            "Map &amp; more",
            "a &lt; b",
            "<svg></svg>",
            "c &amp; d",
            "<td>1</td>",
            "<th scope=\"col\">n</th>",
            "href=\"#map\"",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("src=") && !html.contains("http:") && !html.contains("https:"));
    }
}
