#!/bin/sh
# The report of `warmset analyze` in a browser without a screen: report.sh PROGRAMS
#
# At the width of a desk and of a phone: every picture is laid out, nothing is wider than the window, the console is silent, and the
# numbers shown are those of --json. With SHOTS=FOLDER, pictures of the page are left there, light, dark and as printed.
set -eu
cd "$(dirname "$0")/../.."
warmset=$PWD/$1/warmset
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "SKIPPED: report: no Chromium is installed" >&2
    exit 0
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
traces="fixtures/traces/gzip-lackey.txt.zst fixtures/traces/web07.trace.xz"

# shellcheck disable=SC2086
"$warmset" analyze $traces --json -o "$scratch/report.html" >"$scratch/report.json"

# What the browser makes of it, as the page's last element. The page as it is has no script.
cat >"$scratch/probe.js" <<'SCRIPT'
addEventListener('load', () => {
  document.querySelectorAll('details').forEach((details) => { details.open = true });
  const box = (element) => { const it = element.getBoundingClientRect(); return [it.width, it.height] };
  const probe = document.createElement('pre');
  probe.id = 'probe';
  probe.textContent = JSON.stringify({
    pictures: [...document.querySelectorAll('figure svg')].map((svg) => [...box(svg), svg.querySelectorAll('path,polyline').length]),
    text: Math.min(...[...document.querySelectorAll('figure svg text')].map((text) => box(text)[1])),
    wide: document.documentElement.scrollWidth - innerWidth,
    links: [...document.querySelectorAll('nav a')].every((link) => document.querySelector(link.getAttribute('href'))),
    reachable: [...document.querySelectorAll('.wide')].every((part) => part.tabIndex === 0),
    tables: [...document.querySelectorAll('table')].map((table) =>
      [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))),
    fetched: performance.getEntriesByType('resource').map((entry) => entry.name),
  });
  document.body.append(probe);
});
SCRIPT
{ cat "$scratch/report.html"; printf '<script>'; cat "$scratch/probe.js"; printf '</script>'; } >"$scratch/probe.html"

browse() { # browse WIDTH OPTIONS…
    width=$1
    shift
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --user-data-dir="$scratch/profile" \
        --window-size="$width,900" --enable-logging=stderr "$@" 2>"$scratch/log"
}

for width in 1400 500; do
    browse "$width" --dump-dom "file://$scratch/probe.html" >"$scratch/dom.html"
    if grep CONSOLE "$scratch/log"; then
        echo "report.sh: the console is not silent" >&2
        exit 1
    fi
    python3 - "$scratch" "$width" <<'CHECK'
import html, json, re, sys
folder, width = sys.argv[1:]
dom = open(folder + '/dom.html').read()
found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
assert found, 'the browser did not run to the end'
probe, told = json.loads(html.unescape(found.group(1))), json.load(open(folder + '/report.json'))
assert len(probe['pictures']) == 9 * len(told), probe['pictures']
for wide, high, curves in probe['pictures']:
    assert wide > 400 and high > 200 and curves > 0, (wide, high, curves)
assert probe['wide'] <= 0, f"{probe['wide']} pixels wider than the window"
assert probe['text'] >= 9, f"letters of {probe['text']} pixels"
assert probe['links'] and probe['reachable'], 'not all can be reached by keyboard'
assert probe['fetched'] == [], probe['fetched']
needs, windows, claims = (next(table[1:] for table in probe['tables'] if name in table[0]) for name in ('LRU pages', 'sum at faults', 'OPT'))
assert needs == [[it['program']['name'], f"{need['ratio']:g}", str(need['lru_pages']), f"{need['ws_pages']:.1f}", str(need['theta'])]
                 for it in told for need in it['program']['needs']], needs
assert [row[1:6] for row in windows] == [[str(at['theta']), f"{at['size']:.3f}", str(at['peak']), str(at['enough']), str(at['faults'])]
                                         for it in told for at in it['windows']], windows
assert [row[3:8] for row in claims] == [[f"{claim[name]:.0f}" for name in ('ws', 'lru', 'opt', 'fifo', 'two_q')]
                                        for it in told for claim in it['curves']['claims']], claims
print(f'report.sh: {width} wide: {len(probe["pictures"])} pictures, {sum(map(len, probe["tables"]))} rows')
CHECK
done

[ -n "${SHOTS:-}" ] || exit 0
mkdir -p "$SHOTS"
for shot in desk:1400: phone:500: dark:1400:--blink-settings=preferredColorScheme=0; do
    IFS=: read -r name width option <<SHOT
$shot
SHOT
    # shellcheck disable=SC2086
    browse "$width" $option --window-size="$width,5200" --hide-scrollbars --screenshot="$SHOTS/$name.png" "file://$scratch/report.html"
done
browse 1400 --print-to-pdf="$SHOTS/printed.pdf" "file://$scratch/report.html"
