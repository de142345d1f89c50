#!/usr/bin/env python3
"""How long the sentences of our pages are.

    lint/sentences.py                 README.md, ARCHITECTURE.md, CONTRIBUTING.md and all of docs/
    lint/sentences.py PAGE...         these pages
    lint/sentences.py --long PAGE...  also print every sentence of more than 30 words
    lint/sentences.py --rev REV       the pages as they are in another commit

For each page: sentences, mean words in one, the share of sentences above 30 words, and how often "who", "whom" or
"whose" stands outside a question.

Headings, tables and code blocks are left out. An item of a list is a paragraph of its own. A piece of code within a
sentence counts as one word, a link as the words that are shown.

Nothing fails: a limit would be met by full stops in the wrong places. A page of the guide should stay below 18 words.
"""

import argparse
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/**/*.md"]
LONG = 30

FENCE = re.compile(r"^ *```.*?^ *```[^\n]*$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"^(?:#|\||    |\t|<|---|===)")
ITEM = re.compile(r"^ *(?:[-*+]|\d+\.) +")
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
# A sentence ends at a full stop, a question mark or an exclamation mark before a space, or where the paragraph ends.
END = re.compile(r"(?<=[.!?])[)\"*_]*\s+(?=[\"(*_]*[A-Z0-9`X])")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|vs|cf|etc|St|no)\.")
WORD = re.compile(r"\w[\w'’.,-]*")
WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)


def paragraphs(text: str) -> list[str]:
    """The running text of a page, a paragraph or an item of a list each."""
    found: list[str] = []
    goes_on = False
    in_item = False
    for line in FENCE.sub("", text).splitlines():
        starts_item = ITEM.match(line) is not None
        left_out = LEFT_OUT.match(line) and not (in_item and line.strip())
        if not line.strip() or (left_out and not starts_item):
            goes_on = False
            in_item = in_item and not line.strip()
            continue
        if starts_item or not goes_on:
            found.append("")
        in_item = starts_item or (in_item and goes_on)
        found[-1] += " " + ITEM.sub("", line).strip()
        goes_on = True
    return found


def sentences(text: str) -> list[str]:
    result = []
    for paragraph in paragraphs(text):
        plain = LINK.sub(r"\1", IMAGE.sub("", paragraph))
        plain = CODE.sub("X", plain)
        plain = ABBREVIATION.sub(r"\1", plain)
        result += [sentence.strip() for sentence in END.split(plain) if WORD.search(sentence)]
    return result


def words(sentence: str) -> int:
    return len(WORD.findall(sentence))


def pages(names: list[str], rev: str | None) -> dict[str, str]:
    """Text of each page, by its name."""
    if rev is None:
        patterns = names or PAGES
        files = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
        return {str(path.relative_to(ROOT)): path.read_text() for path in files}
    listed = git("ls-tree", "-r", "--name-only", rev).splitlines()
    wanted = [name for name in listed if name.endswith(".md")]
    if names:
        wanted = [name for name in wanted if name in names]
    else:
        wanted = [name for name in wanted if "/" not in name or name.startswith("docs/")]
    return {name: git("show", f"{rev}:{name}") for name in wanted}


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def row(name: str, found: list[str]) -> str:
    counts = [words(sentence) for sentence in found]
    total = max(len(counts), 1)
    mean = sum(counts) / total
    share = 100 * sum(count > LONG for count in counts) / total
    who = sum(len(WHO.findall(sentence)) for sentence in found if not sentence.endswith("?"))
    return f"{name:<60} {len(counts):>9} {mean:>6.1f} {share:>9.1f} % {who:>5}"


def main() -> None:
    parser = argparse.ArgumentParser(description="How long the sentences of our pages are.")
    parser.add_argument("pages", nargs="*", help="pages, from the repository's root; all if none is named")
    parser.add_argument("--long", action="store_true", help=f"print the sentences above {LONG} words, too")
    parser.add_argument("--rev", help="a commit, instead of the working tree")
    options = parser.parse_args()

    print(f"{'page':<60} {'sentences':>9} {'mean':>6} {'above ' + str(LONG):>11} {'who':>5}")
    everything = []
    for name, text in pages(options.pages, options.rev).items():
        found = sentences(text)
        everything += found
        print(row(name, found))
        if options.long:
            for sentence in found:
                if words(sentence) > LONG:
                    print(f"    {words(sentence)}: {sentence}")
    print(row("all", everything))


if __name__ == "__main__":
    main()
