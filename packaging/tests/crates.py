#!/usr/bin/env python3
"""Tests that the checks of our crates can fail: crates.py TARGET

lint/licences.py must find a licence, a name, a source and a checksum that are wrong. lint/advisories.py must never read like a good
result where nothing was compared. With cargo-audit (`make advisories` installs it) it must find an advisory in an invented database.
"""

import datetime
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(sys.argv[1]).resolve()
GOOD = "no crate has one"

# Each rule changed, and what the check must then say.
WRONG_RULES = [
    ('    "CC0-1.0",\n', "", "its licence CC0-1.0 is not among those of deny.toml"),
    ('crate = "reqwest"', 'crate = "serde"', "serde 1.", "it is banned"),
    ("https://github.com/rust-lang/crates.io-index", "https://example.net/index", "is not among those of deny.toml"),
]
WRONG_LOCKS = [
    ('\nchecksum = "', '\nsum = "', "Cargo.lock has no checksum of it"),
    ('source = "registry+https://github.com/rust-lang', 'source = "registry+https://example.net', "its source registry+https://example.net"),
    ('source = "registry+https://github.com/rust-lang/crates.io-index"', 'source = "git+https://example.net/a?rev=1#1"', "its source git+"),
]

ADVISORY = """```toml
[advisory]
id = "{id}"
package = "{package}"
date = "{date}"
url = "https://example.net/{id}"
{informational}
[versions]
patched = ["{patched}"]
```

# An invented fault

It is in no program.
"""


def run(*command, **environment):
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def check_licences(scratch):
    """Checks that each rule of deny.toml can fail; returns how many did."""
    assert run("lint/licences.py").returncode == 0
    count = 0
    for option, file, changes in (("--rules", "deny.toml", WRONG_RULES), ("--lock", "Cargo.lock", WRONG_LOCKS)):
        text = (ROOT / file).read_text()
        for old, new, *said in changes:
            assert old in text, f"{file} has no {old!r}"
            changed = scratch / file
            changed.write_text(text.replace(old, new, 1))
            done = run("lint/licences.py", option, str(changed))
            assert done.returncode == 1 and all(it in done.stderr for it in said), (said, done)
            count += 1
    return count


def advisories(*options, **environment):
    return run("lint/advisories.py", *map(str, options), **environment)


def not_compared(because, *options, **environment):
    """Checks that nothing was compared, and that this is what the command says."""
    done = advisories(*options, **environment)
    assert done.returncode == 2 and "nothing was compared" in done.stderr and because in done.stderr, (because, done)
    assert GOOD not in done.stdout + done.stderr, done


def database(path, package="serde", patched=">= 1000.0.0", date=None, informational=""):
    """An invented database with one advisory."""
    date = date or datetime.date.today().isoformat()
    name = "RUSTSEC-2020-0001"
    directory = path / "crates" / package
    directory.mkdir(parents=True)
    text = ADVISORY.format(id=name, package=package, date=date, patched=patched, informational=informational)
    (directory / f"{name}.md").write_text(text)
    return path


def program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def check_no_database(scratch):
    """Checks each way to have no database."""
    target = scratch / "target"
    target.mkdir()
    not_compared("cannot be fetched", target, "--source", f"file://{scratch}/nowhere")
    not_compared("is no directory", target, "--database", scratch / "nowhere")
    (scratch / "empty").mkdir()
    not_compared("has no advisory", target, "--database", scratch / "empty")
    old = database(scratch / "old", date="2020-01-01")
    not_compared("the newest advisory", target, "--database", old)
    undated = database(scratch / "undated", date="soon")
    not_compared("has no date", target, "--database", undated)


def check_answers(scratch):
    """Checks what each end of cargo-audit becomes, with programs in its place."""
    known = database(scratch / "known")
    target = scratch / "stub"
    audit = target / "tools/bin/cargo-audit"
    audit.parent.mkdir(parents=True)
    arguments = (target, "--database", known)
    program(audit, "echo panicked >&2; exit 101")
    not_compared("made no report", *arguments)
    program(audit, "exit 0")
    not_compared("made no report", *arguments)
    nothing = '{"database":{"advisory-count":0},"vulnerabilities":{"list":[]},"warnings":{}}'
    program(audit, f"echo '{nothing}'")
    not_compared("read 0 advisories", *arguments)
    # Without cargo-audit, and with a cargo that cannot install it.
    audit.unlink()
    empty = scratch / "bin"
    program(empty / "cargo", "exit 101")
    (empty / "python3").symlink_to(sys.executable)
    not_compared("cannot be installed", *arguments, PATH=f"{empty}:/usr/sbin:/sbin")


def check_fetch(scratch, audit):
    """Checks that the database is fetched where there is one, and that what is fetched is used."""
    origin = database(scratch / "origin")
    git = ["git", "-C", str(origin), "-c", "user.name=x", "-c", "user.email=x@example.net"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message=One"]):
        assert run(*git, *command).returncode == 0, command
    target = scratch / "fetched"
    (target / "tools/bin").mkdir(parents=True)
    (target / "tools/bin/cargo-audit").symlink_to(audit)
    for _ in ("cloned", "updated"):
        done = advisories(target, "--source", f"file://{origin}")
        assert done.returncode == 1 and "RUSTSEC-2020-0001" in done.stdout, done


def check_audit(scratch):
    """Checks with cargo-audit itself that an advisory is found; returns what to say about it."""
    audit = shutil.which("cargo-audit", path=f"{TARGET / 'tools/bin'}:{os.environ['PATH']}")
    if not audit:
        print("SKIPPED: crates: cargo-audit is not installed (make advisories installs it)", file=sys.stderr)
        return "without cargo-audit"
    check_fetch(scratch, audit)
    cases = [
        ("affected", {}, 1),
        ("mended", {"patched": ">= 0.0.1"}, 0),
        ("foreign", {"package": "a-crate-of-others"}, 0),
        ("unmaintained", {"informational": 'informational = "unmaintained"'}, 1),
    ]
    for name, options, status in cases:
        known = database(scratch / name, **options)
        done = advisories(TARGET, "--database", known)
        assert done.returncode == status, (name, done)
        assert (GOOD in done.stdout) is (status == 0) and "compared with 1 advisories" in done.stdout, (name, done)
    broken = database(scratch / "broken", informational="[")
    not_compared("made no report", TARGET, "--database", broken)
    return "an invented advisory is found by cargo-audit"


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        count = check_licences(scratch)
        check_no_database(scratch)
        check_answers(scratch)
        audit = check_audit(scratch)
    print(f"crates: {count} wrong rules and lock files are refused; nothing compared is never a good result; {audit}")


main()
