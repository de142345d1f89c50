#!/usr/bin/env python3
"""The repository's address and the contact's are written in Cargo.toml; every other place has the same.

    lint/urls.py    fails where a tracked file has another address of this project

To move the repository, change `repository` and `authors` under [workspace.package] in Cargo.toml, run this script, and
change what it prints.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Files that must have the address, with the text around it.
REQUIRED = {
    "packaging/arch/PKGBUILD": "url='{repository}'",
    "packaging/kubernetes/chart/Chart.yaml": "home: {repository}",
    "SECURITY.md": "<{contact}>",
    "CODE_OF_CONDUCT.md": "<{contact}>",
}
# Not ours: sources of others, and traces.
LEFT_OUT = ("fixtures/", "fuzz/corpus/", "kernel/series-", "Cargo.lock")

URL = re.compile(r"https?://[^\s'\"<>)\]`]+")
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")


def tracked() -> list[str]:
    names = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    return [name for name in names if not name.startswith(LEFT_OUT) and (ROOT / name).is_file()]


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def is_ours(url: str, repository: str) -> bool:
    """Whether a URL means this project's repository: by its host, or by its last part."""
    host = re.match(r"https?://([^/:]+)", url)[1]
    repository_host = re.match(r"https?://([^/:]+)", repository)[1]
    path = url.partition("://")[2].split("/")[1:]
    return (host == repository_host and path[:1] != []) or any(part.removesuffix(".git") == "warmset" for part in path)


def faults_in(name: str, text: str, repository: str, contact: str) -> list[str]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for url in URL.findall(line):
            plain = url.rstrip(".,;:")
            ends_well = plain == repository or plain.startswith((f"{repository}/", f"{repository}.git", f"{repository}#"))
            if is_ours(plain, repository) and not ends_well:
                found.append(f"{name}:{number}: {plain} is not below {repository}")
        for address in ADDRESS.findall(line):
            if address.startswith("warmset@") and address != contact:
                found.append(f"{name}:{number}: {address} is not {contact}")
    return found


def faults_of_packages(repository: str) -> list[str]:
    """Each crate that is packaged tells the address in its metadata."""
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version=1"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    packages = json.loads(done.stdout)["packages"]
    return [
        f"{package['name']}: Cargo.toml has no `repository.workspace = true`"
        for package in packages
        if package["repository"] != repository
    ]


def main() -> int:
    argparse.ArgumentParser(description="One address of the repository, and one of the contact.").parse_args()
    package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    repository = package["repository"]
    addresses = ADDRESS.findall(" ".join(package["authors"]))
    if len(addresses) != 1:
        print("urls: Cargo.toml: authors must have one address, of the contact", file=sys.stderr)
        return 1
    contact = addresses[0]

    faults = faults_of_packages(repository)
    for name, pattern in REQUIRED.items():
        expected = pattern.format(repository=repository, contact=contact)
        if expected not in (ROOT / name).read_text():
            faults.append(f"{name}: {expected} is missing")
    names = tracked()
    for name in names:
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        faults += faults_in(name, text, repository, contact)
    for fault in faults:
        print(f"urls: {fault}", file=sys.stderr)
    print(f"urls: {len(names)} files, {len(faults)} faults; the repository is {repository}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
