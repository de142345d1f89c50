"""The documentation as a site: site.py check | site.py write DIRECTORY | site.py built DIRECTORY

check  checks that every link in the repository's pages leads to a file and a heading that exist
write  writes the pages to DIRECTORY/src for mdBook, with the files that they link to; only links to directories are changed
built  checks that every link in the site that mdBook built leads to a file
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Pages in reading order. After them, all pages of some directories, each under a heading.
FIRST = [
    "README.md",
    "docs/fleet.md",
    "docs/sweeps.md",
    "python/README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/releasing.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "CHANGELOG.md",
]
DIRECTORIES = {
    "docs/guide": "Guides",
    "docs/reference": "Reference",
    "docs/results": "What was measured",
    "docs/archive": "Older measurements",
    "docs/adr": "Decisions",
}
LINK = re.compile(r"(!?\[[^\]\n]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^```.*?^```\s*?$|`[^`\n]*`", re.S | re.M)


def pages():
    """Tracked Markdown, by its path in the repository."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True)
    return {name: (ROOT / name).read_text() for name in sorted(names.stdout.split())}


def links(text):
    """Targets of links outside code, without those to other sites."""
    for match in LINK.finditer(FENCE.sub("", text)):
        if not re.match(r"[a-z]+:", match[2]):
            yield urllib.parse.unquote(match[2])


def headings(text):
    """The anchors of a page's headings."""
    titles = re.findall(r"^#+ +(.+?) *$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def target(page, link):
    """The file that a link of a page leads to, and the anchor."""
    path, _, anchor = link.partition("#")
    found = (ROOT / page).parent / path if path else ROOT / page
    return found.resolve(), anchor


def check():
    texts, broken, count = pages(), [], 0
    for page, text in texts.items():
        for link in links(text):
            path, anchor = target(page, link)
            count += 1
            inside = path.is_relative_to(ROOT) and path.exists()
            name = str(path.relative_to(ROOT)) if inside else ""
            if not inside or (anchor and name in texts and anchor not in headings(texts[name])):
                broken.append(f"{page}: {link}")
    if broken:
        raise SystemExit("site.py: these links lead to no file or heading:\n  " + "\n  ".join(broken))
    print(f"site: {count} links in {len(texts)} pages lead to files and headings that exist")


def title(text, name):
    found = re.search(r"^# (.+)$", text, re.M)
    return re.sub(r"[\[\]]", "", found[1]) if found else name


def write(directory):
    texts, src = pages(), directory / "src"
    shutil.rmtree(src, ignore_errors=True)
    chosen = [name for name in FIRST if name in texts]
    summary = ["# Summary", ""] + [f"- [{title(texts[name], name)}]({name})" for name in chosen]
    for path, heading in DIRECTORIES.items():
        own = [name for name in texts if name.startswith(path + "/")]
        if not own:
            continue
        index = f"{path}/README.md"
        if index in own:
            # mdBook takes it as the index of its directory.
            own.remove(index)
        else:
            index = f"{path}/index.md"
            texts[index] = f"# {heading}\n\n" + "".join(f"- [{title(texts[it], it)}]({it[len(path) + 1:]})\n" for it in own)
        summary += [f"- [{heading}]({index})"] + [f"  - [{title(texts[name], name)}]({name})" for name in own]
        chosen += [index] + own
    texts["SUMMARY.md"] = "\n".join(summary) + "\n"
    for name in chosen + ["SUMMARY.md"]:
        place = src / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(LINK.sub(lambda match: link_in_site(match, name, src), texts[name]) if name in chosen else texts[name])
    shutil.copy(ROOT / "packaging/site/book.toml", directory / "book.toml")
    print(f"site: {len(chosen)} pages in {src}")


def link_in_site(match, page, src):
    """The link as it is in the site: a directory becomes its list of pages, and a file that is no page is copied."""
    link = urllib.parse.unquote(match[2])
    path, _ = target(page, link)
    if re.match(r"[a-z]+:", link) or not path.is_relative_to(ROOT) or not path.exists():
        return match[0]
    name = path.relative_to(ROOT)
    if str(name) in DIRECTORIES:
        return f"{match[1]}{link.rstrip('/')}/index.md{match[3]}"
    if path.is_dir():
        # A directory of sources has no page: only the text of the link stays.
        return match[1].lstrip("!").removeprefix("[").removesuffix("](")
    if path.name == "README.md":
        # mdBook turns it into the index of its directory.
        return f"{match[1]}{link.replace('README.md', 'index.md')}{match[3]}"
    place = src / name
    if path.is_file() and not place.exists() and path.suffix != ".md":
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    return match[0]


class Links(html.parser.HTMLParser):
    """The links in a page of the site."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


def built(directory):
    broken, count = [], 0
    for page in sorted(directory.rglob("*.html")):
        if page.name in ("print.html", "404.html", "toc.html"):
            continue
        parser = Links()
        parser.feed(page.read_text())
        for link in parser.found:
            path = urllib.parse.unquote(link.partition("#")[0])
            if re.match(r"[a-z]+:", link) or not path:
                continue
            count += 1
            if not (page.parent / path).exists():
                broken.append(f"{page.relative_to(directory)}: {link}")
    if broken:
        raise SystemExit("site.py: these links of the site lead to no file:\n  " + "\n  ".join(broken))
    print(f"site: {count} links of the site lead to files that exist")


match sys.argv[1:]:
    case ["check"]:
        check()
    case ["write", where]:
        write(pathlib.Path(where))
    case ["built", where]:
        built(pathlib.Path(where))
    case _:
        raise SystemExit(__doc__)
