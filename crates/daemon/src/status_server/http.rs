//! The part of HTTP that the status server needs: parses the head of a `GET`, writes the head of an answer. No I/O.

use crate::metrics::Dialect;
use std::fmt;
use std::net::IpAddr;

/// Longest request line, in bytes. Ours are below 100; this leaves proxies and query strings some headroom.
const LINE: usize = 4 * 1024;
/// Longest head of a request, in bytes. Browsers send 1 to 2 KiB, plus cookies.
pub(super) const HEAD: usize = 16 * 1024;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Index,
    Status,
    Metrics(Dialect),
}

impl Page {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Index => "text/plain; charset=utf-8",
            Self::Status => "application/json",
            Self::Metrics(Dialect::OpenMetrics) => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
            Self::Metrics(Dialect::Prometheus) => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Why a request gets no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Malformed,
    ForeignHost,
    NoSuchPage,
    OnlyMetrics,
    OnlyGet,
    LineTooLong,
    HeadTooLong,
    Version,
}

impl Refusal {
    /// Code and phrase of the status line.
    const fn status(self) -> &'static str {
        match self {
            Self::Malformed => "400 Bad Request",
            Self::ForeignHost => "403 Forbidden",
            Self::NoSuchPage | Self::OnlyMetrics => "404 Not Found",
            Self::OnlyGet => "405 Method Not Allowed",
            Self::LineTooLong => "414 URI Too Long",
            Self::HeadTooLong => "431 Request Header Fields Too Large",
            Self::Version => "505 HTTP Version Not Supported",
        }
    }

    /// The body of the answer, for people.
    pub(super) const fn explanation(self) -> &'static str {
        match self {
            Self::Malformed => "This is not an HTTP request.\n",
            Self::ForeignHost => "The Host header must name this machine's loopback.\n",
            Self::NoSuchPage => "There are /status and /metrics.\n",
            Self::OnlyMetrics => {
                "Every user can open this port, so only /metrics is here; warmset.sock has the rest.\n"
            }
            Self::OnlyGet => "Only GET is answered.\n",
            Self::LineTooLong => "The request line exceeds 4 KiB.\n",
            Self::HeadTooLong => "The head exceeds 16 KiB.\n",
            Self::Version => "HTTP/1.0 and HTTP/1.1 are spoken here.\n",
        }
    }
}

/// What the head of a request says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) page: Page,
    /// False if the `Host` is not this machine's: a website may have sent the browser here (DNS rebinding).
    pub(super) host_is_local: bool,
}

/// Reads a request from its first bytes; `None` until the head is complete.
///
/// Never panics. Bytes after the head do not change the result.
pub(super) fn read(bytes: &[u8]) -> Option<Result<Request, Refusal>> {
    let start = &bytes[..bytes.len().min(LINE)];
    let Some(line_end) = start.iter().position(|&byte| byte == b'\n') else {
        return (bytes.len() >= LINE).then_some(Err(Refusal::LineTooLong));
    };
    let head = &bytes[..bytes.len().min(HEAD)];
    let Some(fields) = fields(&head[line_end + 1..]) else {
        return (bytes.len() >= HEAD).then_some(Err(Refusal::HeadTooLong));
    };
    let page = page(trimmed(&bytes[..line_end]), fields.dialect);
    Some(page.map(|page| Request {
        page,
        host_is_local: fields.hosts.iter().all(is_local),
    }))
}

/// The header fields that matter here.
struct Fields<'a> {
    hosts: arrayvec::ArrayVec<&'a [u8], 2>,
    dialect: Dialect,
}

/// Reads the fields up to the empty line; `None` while that has not arrived.
fn fields(mut rest: &[u8]) -> Option<Fields<'_>> {
    let mut fields = Fields {
        hosts: arrayvec::ArrayVec::new(),
        dialect: Dialect::Prometheus,
    };
    loop {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        let line = trimmed(&rest[..end]);
        if line.is_empty() {
            return Some(fields);
        }
        if let Some(host) = value(line, b"host:") {
            // A valid request has one. Two are compared, and a third changes nothing.
            let _ = fields.hosts.try_push(host);
        }
        if value(line, b"accept:").is_some_and(names_openmetrics) {
            fields.dialect = Dialect::OpenMetrics;
        }
        rest = &rest[end + 1..];
    }
}

/// The value of the field `name`, if the line is of that field.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then(|| rest.trim_ascii())
}

/// Whether `accepted` names OpenMetrics. A client that does not name it gets the older format, which every scraper reads.
fn names_openmetrics(accepted: &[u8]) -> bool {
    let name = b"application/openmetrics-text";
    accepted
        .windows(name.len())
        .any(|part| part.eq_ignore_ascii_case(name))
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Reads the request line.
fn page(line: &[u8], dialect: Dialect) -> Result<Page, Refusal> {
    let mut words = line.split(|&byte| byte == b' ');
    let method = words.next().ok_or(Refusal::Malformed)?;
    let target = words.next().ok_or(Refusal::Malformed)?;
    let version = words.next().ok_or(Refusal::Malformed)?;
    if words.next().is_some() {
        return Err(Refusal::Malformed);
    }
    match version {
        b"HTTP/1.0" | b"HTTP/1.1" => {}
        other if other.starts_with(b"HTTP/") => return Err(Refusal::Version),
        _ => return Err(Refusal::Malformed),
    }
    if method.is_empty() || !method.iter().all(u8::is_ascii_alphabetic) {
        return Err(Refusal::Malformed);
    }
    let path = target.split(|&byte| byte == b'?').next().unwrap_or(target);
    let page = match path {
        b"/" => Page::Index,
        b"/status" => Page::Status,
        b"/metrics" => Page::Metrics(dialect),
        _ => return Err(Refusal::NoSuchPage),
    };
    if method == b"GET" {
        Ok(page)
    } else {
        Err(Refusal::OnlyGet)
    }
}

/// Whether a `Host` names the loopback, with or without a port.
fn is_local(host: &&[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else {
        return false;
    };
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inside, _)) => inside,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Writes the head of an answer with a body of `length` bytes.
pub(super) fn head(
    answer: Result<Page, Refusal>,
    length: usize,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    let (status, media_type) = match answer {
        Ok(page) => ("200 OK", page.media_type()),
        Err(refusal) => (refusal.status(), "text/plain; charset=utf-8"),
    };
    let allow = if answer == Err(Refusal::OnlyGet) {
        "Allow: GET\r\n"
    } else {
        ""
    };
    write!(
        out,
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n{allow}\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(text: &str) -> Option<Result<Page, Refusal>> {
        read(text.as_bytes()).map(|read| read.map(|request| request.page))
    }

    #[test]
    fn pages_and_refusals() {
        let table = [
            ("GET / HTTP/1.0", Ok(Page::Index)),
            ("GET /status HTTP/1.1", Ok(Page::Status)),
            (
                "GET /metrics?name[]=x HTTP/1.1",
                Ok(Page::Metrics(Dialect::Prometheus)),
            ),
            ("GET /status/ HTTP/1.1", Err(Refusal::NoSuchPage)),
            ("GET ../status HTTP/1.1", Err(Refusal::NoSuchPage)),
            ("POST /status HTTP/1.1", Err(Refusal::OnlyGet)),
            ("HEAD /metrics HTTP/1.1", Err(Refusal::OnlyGet)),
            ("GET /status HTTP/2.0", Err(Refusal::Version)),
            ("GET /status", Err(Refusal::Malformed)),
            ("GET  /status HTTP/1.1", Err(Refusal::Malformed)),
            (" /status HTTP/1.1", Err(Refusal::Malformed)),
            ("", Err(Refusal::Malformed)),
        ];
        for (line, expected) in table {
            assert_eq!(
                answer(&format!("{line}\r\nA: b\r\n\r\n")),
                Some(expected),
                "{line}"
            );
            assert_eq!(answer(&format!("{line}\n\n")), Some(expected), "{line}");
        }
    }

    #[test]
    fn half_a_head_is_no_request_yet_and_a_long_one_is_refused() {
        assert_eq!(answer("GET /status HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(answer(&"x".repeat(LINE - 1)), None);
        assert_eq!(answer(&"x".repeat(LINE)), Some(Err(Refusal::LineTooLong)));
        let long = format!("GET / HTTP/1.1\r\n{}", "A: b\r\n".repeat(HEAD));
        assert_eq!(answer(&long[..HEAD - 1]), None);
        assert_eq!(answer(&long), Some(Err(Refusal::HeadTooLong)));
    }

    #[test]
    fn a_foreign_host_is_recognised() {
        let local = |host: &str| {
            read(format!("GET / HTTP/1.1\r\nhOST: {host}\r\n\r\n").as_bytes())
                .unwrap()
                .unwrap()
                .host_is_local
        };
        for host in [
            "localhost",
            "LOCALHOST:9750",
            "127.0.0.1:9750",
            "127.1.2.3",
            "[::1]:9750",
            "::1",
        ] {
            assert_eq!(local(host), host != "::1", "{host}");
        }
        for host in [
            "example.org",
            "example.org:9750",
            "127.0.0.1.example.org",
            "10.0.0.1",
            "[::2]",
            "\u{fe0f}",
        ] {
            assert!(!local(host), "{host}");
        }
        let two = read(b"GET / HTTP/1.1\nHost: localhost\nHost: example.org\n\n")
            .unwrap()
            .unwrap();
        assert!(!two.host_is_local);
    }

    #[test]
    fn openmetrics_is_for_clients_that_accept_it() {
        let asked = |accept: &str| {
            answer(&format!("GET /metrics HTTP/1.1\r\n{accept}\r\n\r\n"))
                .unwrap()
                .unwrap()
        };
        let prometheus = "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(asked(prometheus), Page::Metrics(Dialect::OpenMetrics));
        assert_eq!(
            asked("ACCEPT:text/html, Application/OpenMetrics-Text"),
            Page::Metrics(Dialect::OpenMetrics)
        );
        for accept in [
            "Accept: */*",
            "Accept: text/plain",
            "Accept:",
            "X: application/openmetrics-text",
        ] {
            assert_eq!(
                asked(accept),
                Page::Metrics(Dialect::Prometheus),
                "{accept}"
            );
        }
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<Vec<u8>>(),
            prop::sample::select(vec![
                "GET ",
                "/status",
                "/",
                " HTTP/1.1",
                "\r\n",
                "\n",
                "Host:",
                " localhost",
                "Accept:",
                "?"
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
            Just(vec![b'x'; 3000]),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_and_more_do_not_change_an_answer(bytes in bytes(), more in bytes()) {
            let first = read(&bytes);
            if first.is_some() {
                prop_assert_eq!(read(&[bytes, more].concat()), first);
            } else {
                prop_assert!(bytes.len() < HEAD);
            }
        }
    }
}
