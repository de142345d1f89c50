"""Restarts a guard while Prometheus and node_exporter scrape it: restarts.py PROGRAMS SCRATCH (called by fleet.sh).

The guard ends by SIGTERM and SIGKILL, and lives for seconds or for a tenth of one. Meanwhile clients read both ways out without
pause. Each answer must be whole and well-formed, or fail as a whole. Prometheus must see gaps only where no guard ran, and
counters that begin again at each start and at no other time.
"""

import http.client
import json
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

PROGRAMS, SCRATCH = map(pathlib.Path, sys.argv[1:])
TEXTFILES = SCRATCH / "textfiles"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
# How each guard ends and how long it lives, in seconds. Prometheus scrapes each second, so it sees those of some seconds.
LIVES = [
    # A textfile is renewed each 10 s. The first one, at the start, can be older than the first sample.
    (signal.SIGKILL, 12),
    (signal.SIGTERM, 5),
    (signal.SIGKILL, 4),
    *((signal.SIGKILL, 0.05 * step) for step in range(1, 13)),
    (signal.SIGTERM, 5),
]
# A guard stays down for so long that Prometheus notices.
DOWN = 3
LABEL = r'[a-z_]+="(?:[^"\\\n]|\\.)*"'
NUMBER = r"-?[0-9.]+(?:e[+-]?[0-9]+)?|NaN|[+-]Inf"
LINE = re.compile(rf"[a-z_]+(?:\{{{LABEL}(?:,{LABEL})*\}})? (?:{NUMBER})(?: [0-9.]+)?")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as it:
        return it.getsockname()[1]


GUARD, NODE, PROMETHEUS = (f"127.0.0.1:{free_port()}" for _ in range(3))
started = []


def start(name, *command):
    log = (SCRATCH / f"{name}.log").open("a")
    child = subprocess.Popen(command, stdout=log, stderr=log)
    started.append(child)
    return child


def start_guard():
    state, run = SCRATCH / "restarts-state", SCRATCH / "restarts-run"
    return start("restarts", PROGRAMS / "warmsetd", "--config", SCRATCH / "restarts.toml", "--state", state, "--run", run)


def get(address, accept="*/*"):
    """The body of /metrics. One that is cut short raises an error."""
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("GET", "/metrics", headers={"Accept": accept})
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        return answer.read().decode()
    finally:
        connection.close()


def ask(path, **parameters):
    with urllib.request.urlopen(f"http://{PROMETHEUS}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=5) as answer:
        told = json.load(answer)
    assert told["status"] == "success", told
    data = told["data"]
    return data if isinstance(data, list) else data["result"]


def samples(selector):
    """All stored samples of one series, as pairs of time and value."""
    found = ask("query", query=f"{selector}[1h]")
    assert len(found) == 1, (selector, len(found))
    return [(at, float(value)) for at, value in found[0]["values"]]


def wait(what, answers, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if answers():
                return
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.01)
    raise SystemExit(f"restarts.py: waited {seconds} s for {what}")


class Readers:
    """Threads that read the guard and node_exporter without pause, and keep what was wrong."""

    def __init__(self):
        self.over = False
        self.whole = {"guard": 0, "node_exporter": 0}
        self.absent = 0
        self.wrong = []
        # Readers count under one lock: a sum of two threads would lose some.
        self.lock = threading.Lock()
        jobs = [("guard", GUARD, "*/*"), ("guard", GUARD, OPENMETRICS), ("node_exporter", NODE, "*/*")]
        self.threads = [threading.Thread(target=self.read, args=job) for job in jobs]
        for thread in self.threads:
            thread.start()

    def read(self, name, address, accept):
        while not self.over:
            try:
                text = get(address, accept)
            except (OSError, http.client.HTTPException) as error:
                self.failed(name, error)
                continue
            fault = self.fault_of(name, text, accept)
            with self.lock:
                self.whole[name] += 1
                if fault:
                    self.wrong.append(fault)
            time.sleep(0.005)

    def failed(self, name, error):
        with self.lock:
            if name == "guard":
                # No guard listens, or it was killed before all was sent. The client can tell, which is what counts.
                self.absent += 1
            else:
                self.wrong.append(f"node_exporter: {error!r}")
        time.sleep(0.01)

    @staticmethod
    def fault_of(name, text, accept):
        if accept == OPENMETRICS and not text.endswith("\n# EOF\n"):
            return f"{name}: an answer without its end: {text[-80:]!r}"
        if not text.endswith("\n"):
            return f"{name}: a line without its end: {text[-80:]!r}"
        ours = [line for line in text.splitlines() if line.startswith(("warmset_", "node_textfile"))]
        for line in ours:
            if not LINE.fullmatch(line):
                return f"{name}: not a metric: {line!r}"
        if name == "node_exporter" and "node_textfile_scrape_error 0" not in ours:
            return f"node_exporter could not read the textfile: {ours[:3]}"
        return None

    def end(self):
        self.over = True
        for thread in self.threads:
            thread.join()
        assert not self.wrong, self.wrong[:5]
        assert min(self.whole.values()) > 100 and self.absent > 10, (self.whole, self.absent)


def live(how, seconds, textfile):
    """Starts a guard and ends it; returns when it was up for certain: from and until."""
    guard = start_guard()
    begin = time.time()
    if seconds >= 1:
        wait("the guard", lambda: get(GUARD))
        wait("the textfile", lambda: textfile.exists() and textfile.stat().st_mtime >= begin)
    up = time.time()
    time.sleep(seconds)
    until = time.time()
    assert guard.poll() is None, "the guard ended by itself"
    guard.send_signal(how)
    status = guard.wait(timeout=10)
    assert status == (0 if how == signal.SIGTERM else -signal.SIGKILL), status
    if how == signal.SIGTERM:
        assert not textfile.exists(), "a guard that ends leaves its textfile"
    elif seconds >= 1:
        # Nobody could remove it. WarmsetStuck tells of an old one.
        assert textfile.exists()
    return up, until


def check_gaps(times):
    """Checks that `up` is 1 where a guard answered, and 0 where there was none for a whole scrape."""
    seen = samples('up{job="warmset"}')
    gaps = 0
    for begin, end in times:
        inside = [value for at, value in seen if begin < at < end - 0.5]
        assert inside and all(inside), (begin, end, inside)
    for (_, down), (up, _) in zip(times, times[1:]):
        between = [value for at, value in seen if down + 0.5 < at < up - 0.5]
        # Where no short-lived guard ran between, none may have answered.
        assert up - down > 2 * DOWN or not any(between), (down, up, between)
        gaps += any(value == 0 for value in between)
    assert gaps == len(times) - 1, (gaps, len(times))
    return gaps


def counters():
    """The names of the guard's counters, as Prometheus keeps them."""
    found = {it["metric"] for it in ask("targets/metadata", match_target='{job="warmset"}') if it["type"] == "counter"}
    assert len(found) > 20, found
    # OpenMetrics names the family, and each of its samples has the suffix.
    return sorted(it if it.endswith("_total") else f"{it}_total" for it in found)


def check_counters(times):
    """Checks that no counter falls while one guard lives, and that the guard's own begins again with each guard."""
    series = 0
    for name in counters():
        for found in ask("query", query=f'{name}{{job="warmset"}}[1h]'):
            series += 1
            for begin, end in times:
                values = [float(value) for at, value in found["values"] if begin < at < end]
                assert values == sorted(values), (found["metric"], values)
    # Guards that lived for less than a scrape may have been seen or not.
    resets = int(ask("query", query='resets(warmset_samples_total{job="warmset"}[1h])')[0]["value"][1])
    assert len(times) - 1 <= resets <= len(LIVES) - 1, resets
    for begin, end in times:
        values = [value for at, value in samples('warmset_samples_total{job="warmset"}') if begin < at < end]
        assert values[-1] > values[0], values
    return series, resets


def check_node():
    """Checks that node_exporter was never down and always read a whole textfile."""
    assert all(value for _, value in samples('up{job="node"}'))
    errors = samples("node_textfile_scrape_error")
    assert len(errors) > 20 and not any(value for _, value in errors), errors
    # Both ways out say the same.
    sizes = {it["metric"]["job"]: it["value"][1] for it in ask("query", query="max_over_time(warmset_memory_size_bytes[1h])")}
    assert sizes["node"] == sizes["warmset"], sizes
    leftover = [it.name for it in TEXTFILES.iterdir() if it.name.endswith(".prom")]
    assert not leftover, leftover


def configure():
    TEXTFILES.mkdir()
    (SCRATCH / "restarts.toml").write_text(
        f'mode = "observe"\n[metrics]\nlisten = "{GUARD}"\ntextfile = "{TEXTFILES}"\n[wake]\ncalmest = "1 s"\n'
    )
    (SCRATCH / "restarts.yml").write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        "scrape_configs:\n"
        f'  - {{job_name: warmset, static_configs: [{{targets: ["{GUARD}"]}}]}}\n'
        f'  - {{job_name: node, static_configs: [{{targets: ["{NODE}"]}}]}}\n'
    )


def run():
    textfile = TEXTFILES / "warmset.prom"
    start("node", "prometheus-node-exporter", f"--web.listen-address={NODE}", "--collector.disable-defaults", "--collector.textfile",
          f"--collector.textfile.directory={TEXTFILES}")
    start("restarts-prometheus", "prometheus", f"--config.file={SCRATCH}/restarts.yml", f"--storage.tsdb.path={SCRATCH}/restarts-data",
          f"--web.listen-address={PROMETHEUS}", "--log.level=warn")
    wait("node_exporter", lambda: get(NODE))
    wait("Prometheus", lambda: urllib.request.urlopen(f"http://{PROMETHEUS}/-/ready", timeout=5))
    readers = Readers()
    times = []
    for how, seconds in LIVES:
        time.sleep(DOWN if seconds >= 1 else random.uniform(0, 0.1))
        up, until = live(how, seconds, textfile)
        if seconds >= 1:
            times.append((up, until))
    # The last guard's gap must be stored.
    time.sleep(DOWN)
    readers.end()
    gaps = check_gaps(times)
    series, resets = check_counters(times)
    check_node()
    complaints = (SCRATCH / "restarts-prometheus.log").read_text()
    assert not re.search("level=(warn|error)", complaints), complaints
    kills = sum(how == signal.SIGKILL for how, _ in LIVES)
    print(f"fleet: {len(LIVES)} guards, {kills} of them killed: {readers.whole['guard']} scrapes of the guard and "
          f"{readers.whole['node_exporter']} of node_exporter whole and well-formed, {gaps} gaps, {resets} resets of {series} counters")


def main():
    configure()
    try:
        run()
    finally:
        for child in started:
            if child.poll() is None:
                child.kill()


main()
