#!/usr/bin/env python3
"""Checks what the tables of virtual machines were made by: lint/tables.py

Each line of docs/results/lab/*.jsonl.gz is one run. It must name the commit of the programs, without uncommitted changes: nobody could make such a
table again. Tables that cannot say that are kept in docs/archive/lab, and no page of docs/results may claim anything from them.
"""

import gzip
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "docs/results/lab"
COMMIT = re.compile(r"[0-9a-f]{7,40}")
# Of builds with uncommitted changes, or that did not say their commit, until they are made anew: four hours of machines.
LEFT = {"build.jsonl.gz", "decisions.jsonl.gz", "storm-1g.jsonl.gz", "storm-2g.jsonl.gz"}



def commit(line: dict) -> str | None:
    """The commit that a run names: that of its machine, or its own where the line is of a situation."""
    return line.get("machine", line).get("commit")


def faults(path: Path) -> list[str]:
    with gzip.open(path, "rt") as lines:
        named = {commit(json.loads(line)) for line in lines}
    return sorted(f"{path.name}: made by {name}" for name in named if not COMMIT.fullmatch(name or ""))


def main() -> None:
    tables = sorted(TABLES.glob("*.jsonl.gz"))
    found = [fault for path in tables if path.name not in LEFT for fault in faults(path)]
    if found:
        print("lint/tables.py: these lines name no clean commit; make them anew, or move the table to docs/archive/lab:", file=sys.stderr)
        print("\n".join(f"  {fault}" for fault in found), file=sys.stderr)
        sys.exit(1)
    print(f"tables: all runs of {len(tables) - len(LEFT)} tables name a clean commit; {len(LEFT)} are left to be made anew")


main()
