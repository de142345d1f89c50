#!/usr/bin/env python3
"""Known vulnerabilities of the crates in Cargo.lock, by cargo-audit and the RustSec database.

    lint/advisories.py TARGET                   fetches the database into TARGET/advisory-db, or updates it
    lint/advisories.py TARGET --database PATH   a copy that is there already; nothing is fetched

Ends with 0 if no crate has an advisory, with 1 if one has, and with 2 if nothing was compared: without the database, with one that
has no advisories or only old ones, or without cargo-audit. What was not compared never reads like a good result.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATABASE = "https://github.com/rustsec/advisory-db"
# RustSec publishes several advisories a week. Two months without one is a copy that nobody updates.
OLDEST = timedelta(days=60)
# A clone takes seconds. A network that drops packets must not hold a build for longer.
FETCH_SECONDS = 180

DATE = re.compile(r'^date = "(\d{4}-\d{2}-\d{2})"', re.MULTILINE)


class NotCompared(Exception):
    """Why there is no result, and what to do."""


@dataclass
class Database:
    path: Path
    count: int
    newest: date


def fetch(target: Path, source: str) -> Path:
    """Clones the database, or updates the clone."""
    path = target / "advisory-db"
    if (path / ".git").exists():
        command = ["git", "-C", str(path), "pull", "--quiet", "--ff-only"]
    else:
        command = ["git", "clone", "--quiet", "--depth=1", source, str(path)]
    # No question for a password, which nobody would answer.
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=FETCH_SECONDS)
        said = done.stderr.strip() if done.returncode else None
    except subprocess.TimeoutExpired:
        said = f"no answer for {FETCH_SECONDS} s"
    except OSError as error:
        said = f"git: {error.strerror}"
    if said is not None:
        raise NotCompared(
            f"the database cannot be fetched: {said}\n"
            f"  on a machine with a network: git clone --depth=1 {source}\n"
            "  then, with a copy of that directory here: make advisories ADVISORY_DB=DIRECTORY"
        )
    return path


def database(path: Path) -> Database:
    """What is in a copy of the database."""
    if not path.is_dir():
        raise NotCompared(f"{path} is no directory: it must be a copy of {DATABASE}")
    dates = []
    for file in path.glob("crates/*/RUSTSEC-*.md"):
        found = DATE.search(file.read_text(errors="replace"))
        if not found:
            raise NotCompared(f"{file} has no date: is it whole?")
        dates.append(date.fromisoformat(found[1]))
    if not dates:
        raise NotCompared(f"{path} has no advisory (crates/NAME/RUSTSEC-*.md): it must be a copy of {DATABASE}")
    return Database(path, len(dates), max(dates))


def check_age(known: Database) -> None:
    age = date.today() - known.newest
    if age > OLDEST:
        raise NotCompared(
            f"the newest advisory in {known.path} is of {known.newest}, {age.days} days ago: update that copy, "
            f"which may be at most {OLDEST.days} days old"
        )


def cargo_audit(target: Path) -> str:
    """The path of cargo-audit, which is compiled the first time."""
    places = f"{target / 'tools/bin'}:{os.environ['PATH']}"
    if found := shutil.which("cargo-audit", path=places):
        return found
    print(f"advisories: cargo-audit is missing; installing it into {target / 'tools'}, once", file=sys.stderr)
    command = ["cargo", "install", "cargo-audit", "--locked", "--quiet", "--version", "^0.22", "--no-default-features"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target / "tools/build")}
    try:
        done = subprocess.run([*command, "--root", str(target / "tools")], env=environment, check=False).returncode
    except OSError as error:
        raise NotCompared(f"cargo: {error.strerror}") from error
    shutil.rmtree(target / "tools/build", ignore_errors=True)
    if done != 0:
        raise NotCompared("cargo-audit cannot be installed: see above, or put one on PATH")
    return str(target / "tools/bin/cargo-audit")


def compare(program: str, known: Database, lock: Path) -> int:
    """Runs cargo-audit, and prints what it found; 1 if a crate has an advisory, else 0."""
    command = [program, "audit", "--json", "--no-fetch", f"--db={known.path}", f"--file={lock}"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    # Its status is the same for an advisory as for a database that it cannot read. Its report says which.
    try:
        report = json.loads(done.stdout)
        read = report["database"]["advisory-count"]
        found = [*report["vulnerabilities"]["list"], *(it for kind in report["warnings"].values() for it in kind)]
    except (ValueError, KeyError, TypeError) as error:
        raise NotCompared(f"{program} made no report, and ended with status {done.returncode}: {done.stderr.strip()}") from error
    if read == 0:
        raise NotCompared(f"{program} read 0 advisories of {known.count} in {known.path}")
    for it in found:
        print(f"advisories: {it['package']['name']} {it['package']['version']}: {described(it)}")
    return 1 if found else 0


def described(found: dict) -> str:
    # A version that was taken back from the registry has no advisory.
    if not found.get("advisory"):
        return f"{found['kind']}"
    advisory = found["advisory"]
    mended = ", ".join(found["versions"]["patched"]) or "no version yet"
    return f"{advisory['id']} ({found.get('kind', 'vulnerability')}): {advisory['title']}; mended in {mended}; {advisory['url']}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Known vulnerabilities of the crates in Cargo.lock.")
    parser.add_argument("target", type=Path, help="where the build is")
    parser.add_argument("--database", type=Path, help="a copy of the RustSec database; without it, one is fetched")
    parser.add_argument("--source", default=DATABASE, help="where to fetch it from")
    parser.add_argument("--lock", type=Path, default=ROOT / "Cargo.lock")
    options = parser.parse_args()
    try:
        known = database(options.database or fetch(options.target, options.source))
        check_age(known)
        faults = compare(cargo_audit(options.target), known, options.lock)
    except NotCompared as why:
        print(f"advisories: nothing was compared: {why}", file=sys.stderr)
        return 2
    result = "no crate has one" if faults == 0 else "see above"
    print(f"advisories: compared with {known.count} advisories, the newest of {known.newest}: {result}")
    return faults


if __name__ == "__main__":
    sys.exit(main())
