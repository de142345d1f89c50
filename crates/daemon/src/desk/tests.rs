use super::*;
use crate::testing::status;

fn desk(metrics: &Metrics) -> (tempfile::TempDir, Desk) {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::open(dir.path(), metrics, Arc::new(Board::new(status()))).unwrap();
    (dir, desk)
}

fn ask(desk: &Desk, request: &[u8]) -> String {
    let mut client = UnixStream::connect(&desk.socket).unwrap();
    client.write_all(request).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_status_is_served_whole_and_the_socket_goes_with_the_desk() {
    let (dir, desk) = desk(&Metrics::default());
    let answer = ask(&desk, b"GET /status HTTP/1.0\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let back: pressure::status::Status = serde_json::from_str(body).unwrap();
    assert_eq!(back.pid, 42);
    drop(desk);
    assert!(!dir.path().join("warmset.sock").exists());
}

#[test]
fn whatever_is_sent_is_answered() {
    let (_dir, desk) = desk(&Metrics::default());
    for (request, expected) in [
        (&b"GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n"[..], "200 OK"),
        (b"GET /else HTTP/1.1\r\n\r\n", "404"),
        (b"POST /status HTTP/1.1\r\n\r\n", "405"),
        (b"\xff\xfe\x00\n\n", "400"),
        (b"", "400"),
    ] {
        assert!(ask(&desk, request).starts_with(&format!("HTTP/1.1 {expected}")), "{request:?}");
    }
}

#[test]
fn only_loopback_is_listened_on() {
    for bad in ["0.0.0.0:9750", "192.0.2.1:9750", "localhost", "127.0.0.1"] {
        assert!(loopback_listener(bad).unwrap_err().to_string().contains(bad));
    }
    assert!(loopback_listener("127.0.0.1:0").is_ok());
}

#[test]
fn the_socket_of_a_dead_guard_is_replaced_and_a_file_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("warmset.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    assert!(unix_listener(&path).is_ok());
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    assert!(unix_listener(&path).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn the_textfile_is_written_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let textfile = Some(folder.path().display().to_string());
    let (_dir, desk) = desk(&Metrics { textfile, listen: None });
    let path = folder.path().join("warmset.prom");
    let deadline = Instant::now() + Duration::from_secs(5);
    while !path.exists() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(fs::read_to_string(&path).unwrap().contains("warmset_samples_total 7\n"));
    drop(desk);
    assert!(!path.exists());
}

/// Each family once, described before its samples; names and values well formed; the end marked.
#[test]
fn the_metrics_follow_the_format() {
    for dialect in [Dialect::OpenMetrics, Dialect::Prometheus] {
        let mut text = String::new();
        exposition(&status(), dialect, &mut text);
        let mut families = Vec::new();
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(family) = line.strip_prefix("# TYPE ") {
                let name = family.split(' ').next().unwrap().to_owned();
                assert!(!families.contains(&name), "{name} twice");
                families.push(name);
            } else if !line.starts_with("# HELP ") {
                let family = families.last().unwrap();
                assert!(line.starts_with(family.as_str()), "{line} in {family}");
                let value = line.rsplit(' ').next().unwrap();
                assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
            }
        }
        assert_eq!(text.ends_with("# EOF\n"), dialect == Dialect::OpenMetrics);
        assert!(families.len() > 15, "{families:?}");
        assert!(!text.contains("exhaustion"), "unknown is absent");
    }
}
