#!/usr/bin/env python3
"""The messages of our commits: a subject in the imperative, and a body that says why.

    lint/commits.py            the commits since the one that lint/commits-since names
    lint/commits.py REV..REV   these commits

A subject has at most 72 columns, so that `git log --oneline` fits a terminal of 80. It begins with a capital and an
imperative: "Split the parser", not "parser: split", "Splits" or "Splitting". After a blank line, the body has a
sentence or more. Merge commits are passed over.

In a clone that lacks the named commit, such as a shallow one, all commits that are there are checked.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SINCE = ROOT / "lint/commits-since"
# Where history was rewritten, the first commit is found by its subject.
FIRST_SUBJECT = "Format with rustfmt's own heuristics, and count how dense the code is"

MOST_COLUMNS = 72
# A sentence with a reason is hardly shorter.
LEAST_WORDS = 5

AREA = re.compile(r"^[a-z0-9_/.,*-]+( [a-z0-9_/.,*-]+)?:")
TRAILER = re.compile(r"^[A-Z][A-Za-z-]+: \S")
# Imperatives that end like another form of a verb.
IMPERATIVES = {"bias", "bring", "embed", "feed", "focus", "need", "seed", "shed", "speed", "string", "weed"}
IRREGULAR = {"broke", "built", "came", "did", "found", "gave", "got", "kept", "made", "ran", "sent", "took", "was", "went", "wrote"}


@dataclass
class Commit:
    name: str
    message: str

    def subject(self) -> str:
        return self.message.partition("\n")[0]

    def faults(self) -> list[str]:
        subject, _, rest = self.message.partition("\n")
        found = []
        if len(subject) > MOST_COLUMNS:
            found.append(f"the subject has {len(subject)} columns, at most {MOST_COLUMNS} are allowed")
        if fault := fault_of_first_word(subject):
            found.append(fault)
        if rest.strip() and not rest.startswith("\n"):
            found.append("the second line is not blank")
        lines = [line for line in rest.splitlines() if not TRAILER.match(line)]
        if len(" ".join(lines).split()) < LEAST_WORDS:
            found.append("there is no body that says why")
        return found


def fault_of_first_word(subject: str) -> str | None:
    if AREA.match(subject):
        return "the subject begins with an area; begin with a verb"
    word = (re.match(r"[A-Za-z]+", subject) or [""])[0]
    if not word or not word[0].isupper():
        return "the subject does not begin with a capital letter"
    lower = word.lower()
    if lower in IMPERATIVES:
        return None
    is_other_form = lower.endswith(("ed", "ing")) or (lower.endswith("s") and not lower.endswith("ss"))
    if is_other_form or lower in IRREGULAR:
        return f'"{word}" is not an imperative'
    return None


def commits(revisions: str) -> list[Commit]:
    text = git("log", "--no-merges", "--format=%h%x00%B%x01", revisions)
    entries = [entry.strip("\n") for entry in text.split("\x01")]
    return [Commit(*entry.split("\x00", 1)) for entry in entries if entry]


def since() -> str:
    """The revisions to check."""
    named = SINCE.read_text().strip()
    if succeeds("merge-base", "--is-ancestor", named, "HEAD"):
        return f"{named}^..HEAD" if succeeds("rev-parse", "--verify", "--quiet", f"{named}^") else "HEAD"
    for line in git("log", "--format=%H %s").splitlines():
        commit, _, subject = line.partition(" ")
        if subject == FIRST_SUBJECT and succeeds("rev-parse", "--verify", "--quiet", f"{commit}^"):
            return f"{commit}^..HEAD"
    print(f"commits: {named[:12]} of lint/commits-since is not in this clone: all commits that are here are checked", file=sys.stderr)
    return "HEAD"


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def succeeds(*arguments: str) -> bool:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=False, capture_output=True).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="The messages of our commits.")
    parser.add_argument("revisions", nargs="?", help="such as HEAD~3..HEAD")
    options = parser.parse_args()
    if not succeeds("rev-parse", "--verify", "--quiet", "HEAD"):
        print("SKIPPED: commits: this is no git checkout", file=sys.stderr)
        return 0

    checked = commits(options.revisions or since())
    count = 0
    for commit in checked:
        for fault in commit.faults():
            print(f"commits: {commit.name} {commit.subject()!r}: {fault}", file=sys.stderr)
            count += 1
    print(f"commits: {len(checked)} messages, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
