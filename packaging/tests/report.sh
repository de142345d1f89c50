#!/bin/sh
# Tests the pages of `warmset analyze` and `warmset report` in a headless browser: report.sh PROGRAMS
#
# At the widths of a desktop, a tablet and a phone: every picture is laid out, nothing is wider than the window, the console is empty, and the
# numbers are those of --json. With SHOTS=DIRECTORY, it writes screenshots of the first page there: light, dark and printed.
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
"$warmset" report --from fixtures/lab/storm-6.12-1024-*.rec.gz --json -o "$scratch/hosts.html" >"$scratch/hosts.json"

# Appends the browser's measurements to the page as its last element. The page itself has no script.
cat >"$scratch/probe.js" <<'SCRIPT'
addEventListener('load', () => {
  // The browser has no window of fewer than 500 pixels, so a phone is a narrow page in one.
  const width = Number(new URLSearchParams(location.search).get('width'));
  document.documentElement.style.width = width + 'px';
  document.querySelectorAll('details').forEach((details) => { details.open = true });
  const box = (element) => { const it = element.getBoundingClientRect(); return [it.width, it.height] };
  const probe = document.createElement('pre');
  probe.id = 'probe';
  probe.textContent = JSON.stringify({
    pictures: [...document.querySelectorAll('figure svg')].map((svg) => [...box(svg), svg.querySelectorAll('path,polyline').length]),
    text: Math.min(...[...document.querySelectorAll('figure svg text')].map((text) => box(text)[1])),
    wide: Math.max(...[...document.querySelectorAll('main *')].filter((part) => !part.closest('table')).map((part) => part.getBoundingClientRect().right)) - width,
    aside: Math.max(...[...document.querySelectorAll('figure .wide')].map((part) => part.scrollWidth - part.clientWidth)),
    cut: [...document.querySelectorAll('figure svg text')].filter((text) => { const own = text.getBoundingClientRect(), all = text.closest('svg').getBoundingClientRect(); return own.left < all.left - 1 || own.right > all.right + 1 || own.bottom > all.bottom + 1 }).map((text) => text.textContent),
    links: [...document.querySelectorAll('nav a')].every((link) => document.querySelector(link.getAttribute('href'))),
    reachable: [...document.querySelectorAll('.wide')].every((part) => part.tabIndex === 0),
    tables: [...document.querySelectorAll('table')].map((table) =>
      [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))),
    fetched: performance.getEntriesByType('resource').map((entry) => entry.name),
  });
  document.body.append(probe);
});
SCRIPT
probed() { # probed PAGE: writes the page with the script at its end
    { cat "$scratch/$1.html"; printf '<script>'; cat "$scratch/probe.js"; printf '</script>'; } >"$scratch/$1-probe.html"
}
probed report
probed hosts

browse() { # browse WIDTH OPTIONS…
    width=$1
    shift
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --user-data-dir="$scratch/profile" \
        --window-size="$width,900" --enable-logging=stderr "$@" 2>"$scratch/log"
}

shown() { # shown PAGE WIDTH: writes the page as the browser has it to dom.html
    browse "$2" --dump-dom "file://$scratch/$1-probe.html?width=$2" >"$scratch/dom.html"
    if grep CONSOLE "$scratch/log"; then
        echo "report.sh: the browser's console has the messages above" >&2
        exit 1
    fi
}

for width in 1400 500 390; do
    shown report "$width"
    python3 - "$scratch" "$width" <<'CHECK'
import html, json, re, sys
directory, width = sys.argv[1:]
dom = open(directory + '/dom.html').read()
found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
assert found, 'the browser did not run to the end'
probe, told = json.loads(html.unescape(found.group(1))), json.load(open(directory + '/report.json'))
assert len(probe['pictures']) == 9 * len(told), probe['pictures']
for wide, high, curves in probe['pictures']:
    assert wide > 340 and high > 200 and curves > 0, (wide, high, curves)
assert probe['wide'] <= 0, f"{probe['wide']} pixels wider than the window"
assert probe['aside'] <= 0, f"a picture is {probe['aside']} pixels wider than its place"
assert probe['cut'] == [], f"texts beyond their picture: {probe['cut']}"
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
    shown hosts "$width"
    python3 - "$scratch" "$width" <<'CHECK'
import html, json, re, sys
directory, width = sys.argv[1:]
found = re.search(r'<pre id="probe">(.*?)</pre>', open(directory + '/dom.html').read(), re.S)
assert found, 'the browser did not run to the end'
probe, told = json.loads(html.unescape(found.group(1))), json.load(open(directory + '/hosts.json'))
assert len(probe['pictures']) == 5 and all(high > 200 and curves > 0 for _, high, curves in probe['pictures']), probe['pictures']
assert probe['wide'] <= 0 and probe['aside'] <= 0 and probe['cut'] == [] and probe['text'] >= 9 and probe['links'] and probe['reachable'] and probe['fetched'] == [], probe
hosts, counted, bought = (next(table[1:] for table in probe['tables'] if name in table[0])
                          for name in ('samples missing', 'allocations that reclaimed', 'stalled, gap found'))
assert len(told) == 10 and [row[0] for row in hosts] == [it['name'] for it in told], hosts
lost = [it['cost']['stalled'] / 1e4 / (it['cost']['pressure_known'] / 1e9) for it in told]
assert [row[5] for row in hosts] == [f'{share:.2f} %' for share in lost] and lost == sorted(lost, reverse=True), lost
assert [row[2] for row in counted] == [str(it['cost']['allocation_stalls']) for it in told], counted
# In these ten recordings the gap avoids most stalls, which is its purpose.
stalls = {arm: sum(it['cost']['allocation_stalls'] for it in told if arm in it['name']) for arm in ('warmset', 'classic')}
assert stalls['warmset'] * 10 < stalls['classic'] and len(bought) == 10, stalls
print(f'report.sh: {width} wide: {len(told)} hosts')
CHECK
done

[ -n "${SHOTS:-}" ] || exit 0
mkdir -p "$SHOTS"
for shot in desktop:1400: phone:500: dark:1400:--blink-settings=preferredColorScheme=0; do
    IFS=: read -r name width option <<SHOT
$shot
SHOT
    # shellcheck disable=SC2086
    browse "$width" $option --window-size="$width,5200" --hide-scrollbars --screenshot="$SHOTS/$name.png" "file://$scratch/report.html"
done
browse 1400 --print-to-pdf="$SHOTS/printed.pdf" "file://$scratch/report.html"
