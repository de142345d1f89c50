use super::*;
use crate::testing::status;
use pressure::config::Metrics;
use pressure::status::Status;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use tempfile::TempDir;

struct Place {
    directory: TempDir,
    metrics: Metrics,
    shared_status: Arc<SharedStatus>,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            metrics: Metrics::default(),
            shared_status: Arc::new(SharedStatus::new(status())),
        }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("warmset.sock")
    }

    fn status_server(&self) -> StatusServer {
        StatusServer::open(
            self.directory.path(),
            &self.metrics,
            Arc::clone(&self.shared_status),
        )
        .unwrap()
    }

    /// The server's thread before it starts.
    fn worker(&self) -> Worker {
        Worker::new(
            self.directory.path(),
            &self.metrics,
            Arc::clone(&self.shared_status),
        )
        .unwrap()
    }

    fn start_with_patience(&self, patience: Duration) -> StatusServer {
        let mut worker = self.worker();
        worker.patience = patience;
        StatusServer::start(worker).unwrap()
    }

    /// A textfile in a new directory.
    fn configure_textfile(&mut self) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        self.metrics.textfile = Some(path.to_owned());
        directory
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.socket()).unwrap()
    }

    fn get(&self, path: &str) -> (String, String) {
        converse(
            self.connect(),
            &format!("GET {path} HTTP/1.1\r\nHost: warmset\r\n\r\n"),
        )
    }
}

/// Sends a request; returns head and body of the answer.
fn converse(mut connection: impl Read + Write, request: &str) -> (String, String) {
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(
        head.contains(&format!("Content-Length: {}\r\n", body.len())),
        "{head}"
    );
    (head.to_owned(), body.to_owned())
}

#[test]
fn the_answer_is_the_shared_status() {
    let place = Place::new();
    let _status_server = place.status_server();
    place.shared_status.read().tally.samples = 4711;
    let (head, body) = place.get("/status");
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"),
        "{head}"
    );
    let status: Status = serde_json::from_str(&body).unwrap();
    assert_eq!(status.tally.samples, 4711);
    assert_eq!(status.pid, 42);
}

#[test]
fn metrics_come_in_the_format_that_the_client_accepts() {
    let place = Place::new();
    let _status_server = place.status_server();
    let (head, body) = place.get("/metrics");
    assert!(
        head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
        "{head}"
    );
    assert!(
        body.contains("\nwarmset_samples_total 7\n") && !body.contains("# EOF"),
        "{body}"
    );
    let asked = "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n";
    let (head, body) = converse(place.connect(), asked);
    assert!(
        head.contains(
            "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
        ),
        "{head}"
    );
    assert!(
        body.contains("\nwarmset_samples_total 7\n") && body.ends_with("\n# EOF\n"),
        "{body}"
    );
    assert_eq!(place.get("/").1, INDEX);
}

#[test]
fn an_unknown_page_and_a_wrong_method_are_refused() {
    let place = Place::new();
    let _status_server = place.status_server();
    assert!(
        place
            .get("/etc/passwd")
            .0
            .starts_with("HTTP/1.1 404 Not Found\r\n")
    );
    let (head, _) = converse(
        place.connect(),
        "POST /status HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
    );
    assert!(
        head.starts_with("HTTP/1.1 405 Method Not Allowed\r\n")
            && head.contains("\r\nAllow: GET\r\n"),
        "{head}"
    );
    let (head, _) = converse(place.connect(), &"x".repeat(60_000));
    assert!(head.starts_with("HTTP/1.1 414 "), "{head}");
}

#[test]
fn the_loopback_port_has_metrics_only_and_refuses_a_foreign_host() {
    let mut place = Place::new();
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    place.metrics.listen = Some(free.to_string().parse().unwrap());
    let _status_server = place.status_server();
    let ask = |path: &str, host: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        converse(TcpStream::connect(free).unwrap(), &request)
    };
    let own = free.to_string();
    assert!(ask("/metrics", &own).0.starts_with("HTTP/1.1 200 OK\r\n"));
    let (head, _) = ask("/metrics", "rebound.example.org");
    assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"));
    for path in ["/status", "/"] {
        let (head, body) = ask(path, &own);
        assert!(head.starts_with("HTTP/1.1 404 Not Found\r\n"), "{path}");
        assert!(!body.contains("kernel"), "{body}");
    }
}

#[test]
fn a_port_that_is_taken_stops_nobody() {
    let mut place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    place.metrics.listen = Some(address.parse().unwrap());
    let status_server = place.status_server();
    let warning = status_server.warning().unwrap();
    assert!(warning.contains(&address), "{warning}");
    assert!(place.get("/status").0.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn a_silent_client_is_disconnected() {
    let place = Place::new();
    let _status_server = place.start_with_patience(Duration::from_millis(50));
    let mut silent = place.connect();
    silent.write_all(b"GET /status HT").unwrap();
    assert!(place.get("/status").0.starts_with("HTTP/1.1 200 OK\r\n"));
    let mut answer = Vec::new();
    silent.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"", "closed without an answer");
}

#[test]
fn stopping_does_not_wait_for_a_client() {
    let place = Place::new();
    let status_server = place.start_with_patience(Duration::from_secs(3600));
    let mut silent = place.connect();
    silent.write_all(b"GET").unwrap();
    drop(status_server);
    assert!(!place.socket().exists());
}

#[test]
fn the_textfile_exists_from_start_to_end() {
    let mut place = Place::new();
    let directory = place.configure_textfile();
    let status_server = place.status_server();
    let text = std::fs::read_to_string(directory.path().join("warmset.prom")).unwrap();
    assert!(
        text.contains("# TYPE warmset_samples_total counter\n") && !text.contains("# EOF"),
        "{text}"
    );
    drop(status_server);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_textfile_that_cannot_be_renewed_is_one_warning() {
    let mut place = Place::new();
    let directory = place.configure_textfile();
    let mut worker = place.worker();
    directory.close().unwrap();
    for _ in 0..2 {
        worker.textfile.as_mut().unwrap().due = Instant::now();
        worker.renew_if_due();
    }
    let warnings = place.shared_status.read().warnings.clone();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("metrics.textfile: /"),
        "{warnings:?}"
    );
}
