#!/usr/bin/env python3
"""Every crate that we build with: its licence, its name, and where it comes from, by the lists in deny.toml.

    lint/licences.py          fails at a licence, a crate or a source that deny.toml does not allow
    lint/licences.py --list   each licence, and how many crates have it

Names, sources and checksums are those of Cargo.lock, for every platform. Licences are those of the crates that are built
on this one, by `cargo metadata`: others need not be downloaded. It needs no network.

Where cargo-deny is installed, it checks the same file as well. It reads licence texts, too, but takes minutes to build,
so that it is not required. packaging/tests/crates.py sees each of these checks fail.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

TOKEN = re.compile(r"\(|\)|/|[^\s()/]+")


class Expression:
    """An SPDX expression such as `(MIT OR Apache-2.0) AND Unicode-3.0`; "/" is the old spelling of OR."""

    def __init__(self, text: str):
        self.tokens = TOKEN.findall(text)
        self.place = 0

    def is_allowed(self, allowed: set[str]) -> bool:
        result = self.any_of(allowed)
        if self.place != len(self.tokens):
            raise ValueError(f"unexpected {self.tokens[self.place]!r}")
        return result

    def any_of(self, allowed: set[str]) -> bool:
        result = self.all_of(allowed)
        while self.take("OR") or self.take("/"):
            # Not `or` in one line: the right side must be read even if the left is allowed.
            right = self.all_of(allowed)
            result = result or right
        return result

    def all_of(self, allowed: set[str]) -> bool:
        result = self.one(allowed)
        while self.take("AND"):
            right = self.one(allowed)
            result = result and right
        return result

    def one(self, allowed: set[str]) -> bool:
        if self.take("("):
            result = self.any_of(allowed)
            if not self.take(")"):
                raise ValueError("a parenthesis is not closed")
            return result
        licence = self.next()
        if self.take("WITH"):
            licence = f"{licence} WITH {self.next()}"
        return licence in allowed

    def take(self, token: str) -> bool:
        if self.place < len(self.tokens) and self.tokens[self.place] == token:
            self.place += 1
            return True
        return False

    def next(self) -> str:
        if self.place == len(self.tokens):
            raise ValueError("a licence is missing at the end")
        self.place += 1
        return self.tokens[self.place - 1]


def packages() -> list[dict]:
    """The packages of Cargo.lock that are built on this platform."""
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.search(r"^host: (.*)$", version, re.MULTILINE)[1]
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={host}"]
    done = subprocess.run([*command, "--offline"], cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        # A fresh machine has not downloaded the crates yet.
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["packages"]


def faults_of(package: dict, rules: dict) -> list[str]:
    """What is wrong with a package of `cargo metadata`."""
    found = []
    licence = package["license"]
    if not licence:
        found.append("it names no licence")
    else:
        try:
            if not Expression(licence).is_allowed(set(rules["licenses"]["allow"])):
                found.append(f"its licence {licence} is not among those of deny.toml")
        except ValueError as error:
            found.append(f"its licence {licence!r} cannot be read: {error}")
    # A crate of this repository has no source.
    if not package["source"]:
        for dependency in package["dependencies"]:
            if dependency["req"] == "*" and not dependency.get("path"):
                found.append(f"it takes any version of {dependency['name']}")
    return found


def faults_of_locked(package: dict, rules: dict) -> list[str]:
    """What is wrong with a package of Cargo.lock."""
    found = []
    for banned in rules["bans"]["deny"]:
        if package["name"] == banned["crate"]:
            found.append(f"it is banned: {banned['reason']}")
    source = package.get("source")
    if source and not is_allowed_source(source, rules["sources"]):
        found.append(f"its source {source} is not among those of deny.toml")
    if source and "checksum" not in package:
        found.append("Cargo.lock has no checksum of it")
    return found


def is_allowed_source(source: str, sources: dict) -> bool:
    kind, _, address = source.partition("+")
    allowed = sources["allow-registry"] if kind in ("registry", "sparse") else sources["allow-git"]
    return address.partition("?")[0].partition("#")[0] in allowed


def main() -> int:
    parser = argparse.ArgumentParser(description="Licences, names and sources of the crates that we build with.")
    parser.add_argument("--list", action="store_true", help="count the licences")
    parser.add_argument("--rules", type=Path, default=ROOT / "deny.toml", help="another deny.toml, for tests")
    parser.add_argument("--lock", type=Path, default=ROOT / "Cargo.lock", help="another Cargo.lock, for tests")
    options = parser.parse_args()

    rules = tomllib.loads(options.rules.read_text())
    locked = tomllib.loads(options.lock.read_text())["package"]
    built = packages()
    if options.list:
        for licence, count in Counter(package["license"] for package in built).most_common():
            print(f"{count:>5} {licence}")
    checked = [(it, faults_of(it, rules)) for it in built] + [(it, faults_of_locked(it, rules)) for it in locked]
    count = 0
    for package, faults in checked:
        for fault in faults:
            print(f"licences: {package['name']} {package['version']}: {fault}", file=sys.stderr)
            count += 1
    print(f"licences: {len(built)} crates; names, sources and checksums of {len(locked)}; {count} faults")
    if subprocess.run(["cargo", "deny", "--version"], cwd=ROOT, check=False, capture_output=True).returncode == 0:
        command = ["cargo", "deny", "--offline", "--log-level=error", "check", "licenses", "bans", "sources"]
        count += subprocess.run(command, cwd=ROOT, check=False).returncode
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
