//! A report: sections with words, pictures side by side, and numbers to unfold; one file that needs no network.

use crate::escaped;
use std::fmt::Write;

/// A picture.
#[derive(Debug, Clone)]
pub struct Figure {
    /// An SVG document.
    pub svg: String,
    /// What it shows, in a sentence or more.
    pub caption: String,
}

/// A part of a report.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Its name in links.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What there is to say.
    pub words: Vec<String>,
    /// What there is to see.
    pub figures: Vec<Figure>,
    /// A caption, a heading row, and rows.
    pub tables: Vec<(String, Vec<String>, Vec<Vec<String>>)>,
}

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:78em;margin:0 auto;padding:1em;color:#222;background:#fff}\
h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em;border-top:1px solid #ccc;padding-top:.7em}p,figcaption{max-width:46em}\
figcaption{font-size:.95em}nav a{margin-right:1em;display:inline-block}a{color:#0060a8}\
.skip{position:absolute;left:-99em}.skip:focus{left:1em}.figures{display:grid;gap:1.5em;grid-template-columns:repeat(auto-fit,minmax(min(100%,36em),1fr))}\
figure{margin:0;min-width:0}.wide{overflow-x:auto}.wide svg{display:block;width:100%;min-width:40em;height:auto}\
.wide:focus,summary:focus,a:focus{outline:2px solid #0072b2;outline-offset:2px}summary{cursor:pointer}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9em}caption{text-align:left;padding:.3em 0}\
td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}td:first-child,th:first-child{text-align:left}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}a{color:#7cc4ff}td,th{border-color:#333}h2{border-color:#444}}\
@media print{body{max-width:none;padding:0}nav,.skip{display:none}figure,tr{break-inside:avoid}.wide svg{min-width:0}}";

/// As an HTML document.
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
    sections.iter().for_each(|section| put(&mut html, section));
    html.push_str("</main></body></html>\n");
    html
}

fn paragraphs(html: &mut String, words: &[String]) {
    words
        .iter()
        .for_each(|words| _ = writeln!(html, "<p>{}</p>", escaped(words)));
}

fn put(html: &mut String, section: &Section) {
    let (id, title) = (escaped(&section.id), escaped(&section.title));
    let _ = writeln!(
        html,
        "<section aria-labelledby=\"{id}\"><h2 id=\"{id}\">{title}</h2>"
    );
    paragraphs(html, &section.words);
    if !section.figures.is_empty() {
        html.push_str("<div class=\"figures\">\n");
        for figure in &section.figures {
            let _ = writeln!(
                html,
                "<figure><div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"picture\">{}</div><figcaption>{}</figcaption></figure>",
                figure.svg,
                escaped(&figure.caption)
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
    let row = |cells: &[String], begin: &str, end: &str| -> String {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| format!("{begin}{}{end}", escaped(cell)))
            .collect();
        cells.concat()
    };
    let _ = writeln!(
        html,
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"numbers\"><table><thead><tr>{}</tr></thead><tbody>",
        row(heading, "<th scope=\"col\">", "</th>")
    );
    rows.iter()
        .for_each(|cells| _ = writeln!(html, "<tr>{}</tr>", row(cells, "<td>", "</td>")));
    html.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_whole_and_fetches_nothing() {
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
