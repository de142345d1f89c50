#!/usr/bin/env python3
"""How dense our Rust is: tokens a line, tuple assignments, and "who" in comments.

    lint/density.py            the figures of the whole tree, and failure above a limit
    lint/density.py --by file  the same for each file, the densest first; also --by crate
    lint/density.py --rev REV  the figures of another commit
    lint/density.py --json     the same for programs

Counted is what git tracks, without tests: files named tests.rs, files in a directory tests, benches, examples or
fuzz, and modules under #[cfg(test)] are left out.

A token is what the compiler's lexer takes for one: `::` and `->` are two. Where the limits come from: such a count over
ripgrep, below, tracing, hubris, hyperfine, pingora and caffeine gave 6.9 to 8.6 tokens a line, 0 to 0.6 tuple
assignments in 1,000 lines, and 0 to 2.5 of these words in 1,000 comment lines.
"""

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent

MOST_TOKENS_A_LINE = 9.0
MOST_TUPLES = 1.0
MOST_WHO = 3.0

TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<string>b?r(?P<hashes>\#*)".*?"(?P=hashes)|[bc]?"(?:\\.|[^"\\])*")
    | (?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\])')
    | (?P<lifetime>'[A-Za-z_]\w*)
    | (?P<number>\d[\w]*(?:\.\d[\w]*)?(?:[eE][+-]?\d+)?)
    | (?P<word>(?:r\#)?[A-Za-z_]\w*)
    | (?P<mark>[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
# `let (a, b) = (c, d)` and `(a, b) = (c, d)`: two thoughts on one line. A tuple taken from a function is not one.
TUPLE = re.compile(r"^\s*(?:let\s+)?\((?:[^()]|\([^()]*\))*,(?:[^()]|\([^()]*\))*\)\s*(?::[^=]*)?=\s*\(", re.MULTILINE)
WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
TEST_MODULE = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{")


@dataclass
class Count:
    """What was counted in some files."""

    code_lines: int = 0
    tokens: int = 0
    tuples: int = 0
    comment_lines: int = 0
    who: int = 0

    def add(self, other: "Count") -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def tokens_a_line(self) -> float:
        return self.tokens / max(self.code_lines, 1)

    def tuples_in_1000(self) -> float:
        return 1000 * self.tuples / max(self.code_lines, 1)

    def who_in_1000(self) -> float:
        return 1000 * self.who / max(self.comment_lines, 1)


def is_test(path: PurePosixPath) -> bool:
    apart = {"tests", "benches", "examples", "fuzz", "testing"}
    return path.name in ("tests.rs", "testing.rs") or bool(apart & set(path.parts[:-1]))


def without_test_modules(text: str) -> str:
    """Cuts out `#[cfg(test)] mod … { … }`, to its closing brace."""
    while found := TEST_MODULE.search(text):
        depth = 1
        end = len(text)
        for token in TOKEN.finditer(text, found.end()):
            if token.lastgroup != "mark":
                continue
            if token.group() == "{":
                depth += 1
            elif token.group() == "}":
                depth -= 1
            if depth == 0:
                end = token.end()
                break
        text = text[: found.start()] + text[end:]
    return text


def count(text: str) -> Count:
    text = without_test_modules(text)
    result = Count()
    code_lines = set()
    line = 1
    before = 0
    code = []
    for token in TOKEN.finditer(text):
        line += text.count("\n", before, token.start())
        before = token.start()
        if token.group("comment"):
            comment = token.group()
            result.comment_lines += comment.count("\n") + 1
            result.who += len(WHO.findall(comment))
            continue
        result.tokens += 1
        code_lines.add(line)
        code.append((token.start(), token.end()))
    result.code_lines = len(code_lines)
    result.tuples = len(TUPLE.findall(without_comments(text)))
    return result


def without_comments(text: str) -> str:
    return TOKEN.sub(lambda token: "" if token.group("comment") else token.group(), text)


def sources(rev: str | None) -> dict[PurePosixPath, str]:
    """The Rust that is counted: of the working tree, or of a commit."""
    if rev is None:
        names = git("ls-files", "--cached", "--others", "--exclude-standard", "*.rs")
        texts = {name: (ROOT / name).read_text() for name in names.splitlines() if (ROOT / name).exists()}
    else:
        names = git("ls-tree", "-r", "--name-only", rev)
        texts = {name: git("show", f"{rev}:{name}") for name in names.splitlines() if name.endswith(".rs")}
    paths = {PurePosixPath(name): text for name, text in texts.items()}
    return {path: text for path, text in paths.items() if not is_test(path)}


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def group_of(path: PurePosixPath, by: str) -> str:
    if by == "file":
        return str(path)
    return "/".join(path.parts[:2]) if path.parts[0] == "crates" else path.parts[0]


def row(name: str, count: Count) -> str:
    return (
        f"{name:<52} {count.code_lines:>7} {count.tokens_a_line():>8.2f} {count.tuples_in_1000():>8.2f}"
        f" {count.comment_lines:>9} {count.who_in_1000():>8.1f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="How dense our Rust is, without tests.")
    parser.add_argument("--by", choices=["crate", "file"], default="crate")
    parser.add_argument("--rev", help="a commit, instead of the working tree")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    total = Count()
    groups: dict[str, Count] = {}
    for path, text in sources(options.rev).items():
        counted = count(text)
        total.add(counted)
        groups.setdefault(group_of(path, options.by), Count()).add(counted)

    figures = [
        ("tokens a line", total.tokens_a_line(), MOST_TOKENS_A_LINE),
        ("tuple assignments in 1,000 lines", total.tuples_in_1000(), MOST_TUPLES),
        ("who, whom, whose in 1,000 comment lines", total.who_in_1000(), MOST_WHO),
    ]
    if options.json:
        print(json.dumps({name: {"value": value, "limit": limit} for name, value, limit in figures}))
    else:
        print(f"{'':<52} {'lines':>7} {'tokens/l':>8} {'tuples/k':>8} {'comments':>9} {'who/k':>8}")
        for name, counted in sorted(groups.items(), key=lambda group: -group[1].tokens_a_line()):
            print(row(name, counted))
        print(row("all", total))

    above = [(name, value, limit) for name, value, limit in figures if value > limit]
    for name, value, limit in above:
        print(f"density: {name}: {value:.2f}, the limit is {limit}", file=sys.stderr)
    return 1 if above and options.rev is None else 0


if __name__ == "__main__":
    sys.exit(main())
