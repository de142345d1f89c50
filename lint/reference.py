#!/usr/bin/env python3
"""Keeps the reference pages equal to the code.

    lint/reference.py           fails if docs/reference/metrics.md, configuration.md or policies.md differs from its source
    lint/reference.py --write   writes the rows of metrics.md and the table of cells of policies.md anew

Metrics: the source is crates/daemon/src/metrics/openmetrics.expected, what a busy guard exports. A test of the daemon holds
that file against FAMILIES, so each family is in it. Each family has one row in the page, with its type, its unit, its
labels and its help. `--write` renews the rows where they stand; new families come to the end of the last table.

Configuration: the source is packaging/warmset.toml, which a test of the daemon holds against the defaults. Each key has one
row under the heading of its section, with its default. Defaults that are lists are not compared. A row may name an older
spelling, "(was `KEY`)": the file may have either.

Policies: each policy of the code has one row in policies.md. The table of cells there counts what docs/results/policies.tsv
has, which bench/policies.py measures.
"""

import csv
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXPORTED = ROOT / "crates/daemon/src/metrics/openmetrics.expected"
METRICS_PAGE = ROOT / "docs/reference/metrics.md"
DEFAULTS = ROOT / "packaging/warmset.toml"
CONFIGURATION_PAGE = ROOT / "docs/reference/configuration.md"

# The sources of each family of policies, and the section of the page that has their rows.
POLICY_SOURCES = {
    "Each policy": ROOT / "crates/workingset/src/policy",
    "Caches of objects": ROOT / "crates/workingset/src/objects",
}
POLICIES_PAGE = ROOT / "docs/reference/policies.md"
CELLS = ROOT / "docs/results/policies.tsv"

# What each type adds to the name of a family's samples.
SUFFIX = {"counter": "_total", "info": "_info"}

METRIC_ROW = re.compile(r"^\| `(warmset_\w+)`.*$", re.MULTILINE)
KEY_ROW = re.compile(r"^\| `([a-z-]+)`(?: \(was `([a-z-]+)`\))? \| ([^|]*) \|", re.MULTILINE)
SPEC = re.compile(r"Spec::of::<[^;]*?>\(\s*\"([a-z0-9-]+)\"")
POLICY_ROW = re.compile(r"^\| `([a-z0-9-]+)` \|", re.MULTILINE)
CELLS_TABLE = re.compile(r"^\| run as \|.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass
class Family:
    """A metric, as it is exported."""

    name: str
    kind: str
    unit: str = ""
    help: str = ""
    labels: list[str] = field(default_factory=list)

    def sample(self) -> str:
        return self.name + SUFFIX.get(self.kind, "")

    def row(self) -> str:
        labels = ", ".join(f"`{label}`" for label in self.labels)
        return f"| `{self.sample()}` | {self.kind} | {self.unit.replace('_', ' ')} | {labels} | {self.help} |"


def families() -> list[Family]:
    found: list[Family] = []
    for line in EXPORTED.read_text().splitlines():
        words = line.split(" ", 3)
        if line.startswith("# TYPE "):
            found.append(Family(words[2], words[3]))
        elif line.startswith("# UNIT "):
            found[-1].unit = words[3]
        elif line.startswith("# HELP "):
            found[-1].help = words[3]
        elif not line.startswith("#"):
            for label in re.findall(r'[{,](\w+)="', line.rpartition(" ")[0]):
                if label not in found[-1].labels:
                    found[-1].labels.append(label)
    return found


def renewed(page: str) -> str:
    """The page of metrics with each row as its family says, without rows of families that are gone."""
    rows = {family.sample(): family.row() for family in families()}
    standing = set(METRIC_ROW.findall(page))
    lines = []
    last_row = 0
    for line in page.splitlines():
        row = METRIC_ROW.match(line)
        if row is None:
            lines.append(line)
            continue
        if row[1] in rows:
            lines.append(rows[row[1]])
            last_row = len(lines)
    lines[last_row:last_row] = [row for name, row in rows.items() if name not in standing]
    return "\n".join(lines) + "\n"


def metrics_complaints() -> list[str]:
    page = METRICS_PAGE.read_text()
    have = {row[1]: row[0] for row in METRIC_ROW.finditer(page)}
    want = {family.sample(): family.row() for family in families()}
    complaints = [f"{METRICS_PAGE.name}: {name} has no row" for name in want.keys() - have.keys()]
    complaints += [f"{METRICS_PAGE.name}: {name} is exported no longer" for name in have.keys() - want.keys()]
    differing = [name for name in want.keys() & have.keys() if want[name] != have[name]]
    complaints += [f"{METRICS_PAGE.name}: the row of {name} differs from what is exported" for name in differing]
    return complaints


def keys_of_file() -> dict[str, str]:
    """Every key of the commented configuration, as "section.key", with its default."""
    found = {}
    section = ""
    for line in DEFAULTS.read_text().splitlines():
        heading = re.match(r"#?\[+([a-z]+)\]+$", line)
        key = re.match(r"#?([a-z][a-z-]*) = (.*)$", line)
        if heading:
            section = heading[1]
        elif key:
            found[f"{section}.{key[1]}"] = key[2]
    return found


def keys_of_page() -> list[tuple[str, str, str]]:
    """Every row of the page: its key, the key's older spelling if it has one, and its default."""
    found = []
    section = ""
    for line in CONFIGURATION_PAGE.read_text().splitlines():
        heading = re.match(r"## (?:`\[+([a-z]+)\]+`|.*)", line)
        row = KEY_ROW.match(line)
        if heading:
            section = heading[1] or ""
        elif row:
            older = f"{section}.{row[2]}" if row[2] else ""
            found.append((f"{section}.{row[1]}", older, row[3].strip().strip("`")))
    return found


def configuration_complaints() -> list[str]:
    file = keys_of_file()
    complaints = []
    described = set()
    for key, older, default in keys_of_page():
        name = key if key in file else older
        described.add(name)
        if name not in file:
            complaints.append(f"{CONFIGURATION_PAGE.name}: {key} is not in {DEFAULTS.name}")
            continue
        value = file[name].strip('"')
        is_unset = value.startswith("unset") and default == "unset"
        is_list = value.startswith("[")
        if not (is_unset or is_list or value == default):
            complaints.append(f"{CONFIGURATION_PAGE.name}: {key} is {default} by default; {DEFAULTS.name} says {value}")
    complaints += [f"{CONFIGURATION_PAGE.name}: {name} has no row" for name in file if name not in described]
    return complaints


def policies(sources: Path) -> set[str]:
    found = set()
    for source in sources.glob("*.rs"):
        found.update(SPEC.findall(source.read_text()))
    return found


def cells() -> str:
    """The table of cells: for each policy and program, how many are equal and how far the others are."""
    alike: dict[tuple[str, str], list[dict[str, str]]] = {}
    with open(CELLS, newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            alike.setdefault((row["policy"], row["program"]), []).append(row)
    lines = ["| run as | beside | cells | equal | misses, least and most beside it |", "|---|---|---:|---:|---|"]
    for (policy, program), rows in sorted(alike.items()):
        equal = sum(row["equal"] == "yes" for row in rows)
        spread = "" if equal == len(rows) else spread_of(rows)
        lines.append(f"| `{policy}` | {program} | {len(rows)} | {equal} | {spread} |")
    return "\n".join(lines)


def spread_of(rows: list[dict[str, str]]) -> str:
    """Our misses beside the program's, where they differ."""
    ratios = []
    for row in rows:
        if row["equal"] == "yes":
            continue
        theirs = float(row["its_misses"])
        if row["program"].startswith("cachesim"):
            theirs *= float(row["references"])
        ratios.append(float(row["misses"]) / theirs - 1)
    return f"{100 * min(ratios):+.2f} % to {100 * max(ratios):+.2f} %"


def policies_complaints() -> list[str]:
    page = POLICIES_PAGE.read_text()
    name = POLICIES_PAGE.name
    complaints = []
    sections = dict(section.split("\n", 1) for section in page.split("\n## ")[1:])
    for heading, sources in POLICY_SOURCES.items():
        rows = set(POLICY_ROW.findall(sections.get(heading, "")))
        complaints += [f"{name}, {heading}: {policy} has no row" for policy in policies(sources) - rows]
        complaints += [f"{name}, {heading}: {policy} is no policy" for policy in rows - policies(sources)]
    if cells() not in page:
        complaints.append(f"{name}: the table of cells differs from {CELLS.name}: lint/reference.py --write")
    return complaints


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        METRICS_PAGE.write_text(renewed(METRICS_PAGE.read_text()))
        POLICIES_PAGE.write_text(CELLS_TABLE.sub(lambda _: cells(), POLICIES_PAGE.read_text()))
    elif sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    complaints = metrics_complaints() + configuration_complaints() + policies_complaints()
    for complaint in complaints:
        print(f"reference: {complaint}", file=sys.stderr)
    if not complaints:
        count = sum(len(policies(sources)) for sources in POLICY_SOURCES.values())
        print(f"reference: {len(families())} metrics and {len(keys_of_file())} keys stand in their pages, and {count} policies")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
