#!/bin/sh
# The working sets of real programs: working-sets.sh PROGRAMS [DIRECTORY [MILLIONS]]
#
# Records each program under Valgrind, up to MILLIONS (30) of references of its own, into DIRECTORY, analyzes it, and writes
# docs/results/working-sets.md with its pictures. Of a database server it takes four times as many, and of a browser twenty times: it is
# mostly its start, and 600 million are a fifth of a whole run.
# A trace that is there is not recorded again; a program that is not installed is passed over, and the page says so.
# Needs valgrind, gcc, sqlite3, mariadb-server, python3, chromium, xterm and xvfb for all of it.
set -eu
cd "$(dirname "$0")/.."
warmset=$PWD/$1/warmset
directory=${2:-/tmp/warmset-working-sets}
millions=${3:-30}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
here=$PWD
missing=''

# record NAME NEEDS SKIP COMMAND…: from after SKIP million references on
record() {
    name=$1 needs=$2 skip=$3
    shift 3
    command -v "$needs" >/dev/null 2>&1 || {
        missing="$missing $name"
        return 0
    }
    [ -e "$directory/$name.parquet" ] && return 0
    echo "recording $name" >&2
    "$warmset" trace --alone --skip "${skip}000000" --references "${limit:-$millions}000000" -o "$directory/$name.parquet" -- "$@" >"$directory/$name.out" 2>&1 </dev/null ||
        { tail -n 3 "$directory/$name.out" >&2; missing="$missing $name"; }
}

cat >"$directory/compiled.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *left, *right; int key; char name[16]; };
static struct node *insert(struct node *at, int key) {
    if (!at) { at = calloc(1, sizeof *at); at->key = key; snprintf(at->name, sizeof at->name, "n%d", key); return at; }
    if (key < at->key) at->left = insert(at->left, key); else at->right = insert(at->right, key);
    return at;
}
static long sum(const struct node *at) { return at ? at->key + sum(at->left) + sum(at->right) + (long)strlen(at->name) : 0; }
int main(int count, char **words) {
    struct node *root = 0;
    for (int i = 1; i < count; i++) root = insert(root, atoi(words[i]));
    printf("%ld\n", sum(root));
}
C
cat >"$directory/mix.sql" <<'SQL'
create table item(id integer primary key, name varchar(40), price int, owner int);
create table owner(id integer primary key, name varchar(40));
SQL
awk 'BEGIN {
    srand(7)
    for (i = 1; i <= 60; i++) printf "insert into owner values(%d, \047owner %d\047);\n", i, i * 7919 % 997
    for (i = 1; i <= 1200; i++) printf "insert into item values(%d, \047item %d\047, %d, %d);\n", i, i * 31 % 1009, rand() * 1000, 1 + rand() * 60
    for (i = 1; i <= 150; i++) {
        printf "select * from item where id = %d;\n", 1 + rand() * 1200
        if (i % 15 == 0) print "select owner.name, count(*), avg(price) from item join owner on owner.id = item.owner group by owner.name order by 2 desc limit 5;"
        if (i % 5 == 0) printf "update item set price = price + 1 where owner = %d;\n", 1 + rand() * 60
    }
}' >>"$directory/mix.sql"

record ls ls 0 ls -lR /usr/share/doc
# The compiler proper: what cpp leaves, to assembler.
command -v gcc >/dev/null 2>&1 && gcc -E "$directory/compiled.c" -o "$directory/compiled.i"
record cc1 gcc 0 "$(gcc -print-prog-name=cc1 2>/dev/null || echo cc1)" -fpreprocessed -quiet -O1 "$directory/compiled.i" -o /dev/null
record sqlite3 sqlite3 0 sqlite3 :memory: ".read $directory/mix.sql"
record python3 python3 0 "$(python3 -c 'import sys; print(sys.executable)')" -c 'import json, re, collections
words = [f"{n * 7919 % 10007:05d}" for n in range(3000)]
for turn in range(20):
    text = json.dumps(words); counted = collections.Counter(re.findall("[0-9]+", text))
    words.sort(key=lambda word: (counted[word], word[::-1]))'
browser=$(command -v chromium || echo chromium)
real=/usr/lib/chromium/chromium
[ -x "$real" ] && browser=$real
limit=$((millions * 20)) record chromium chromium 0 "$browser" --headless --no-sandbox --single-process --no-zygote --disable-gpu --dump-dom 'data:text/html,<p>a page</p>'
if command -v Xvfb >/dev/null 2>&1; then
    [ -e "$directory/xterm.parquet" ] || { Xvfb :77 >/dev/null 2>&1 & screen=$!; sleep 3; }
    DISPLAY=:77 record xterm xterm 0 xterm -e sh -c 'ls -l /usr/bin | head -n 200'
    [ -z "${screen:-}" ] || kill "$screen"
else
    missing="$missing xterm"
fi
if command -v mariadbd >/dev/null 2>&1; then
    [ -e "$directory/mariadbd.parquet" ] || {
        rm -rf "$directory/data"
        mariadb-install-db --no-defaults --auth-root-authentication-method=normal --datadir="$directory/data" --user="$(id -un)" >"$directory/install.out" 2>&1
        { printf 'create database d;\nuse d;\n'; cat "$directory/mix.sql"; } >"$directory/bootstrap.sql"
        echo "recording mariadbd" >&2
        # Its start is 250 million references. Valgrind carries neither io_uring nor room for a pool of 8 TiB.
        "$warmset" trace --alone --skip 400000000 --references "$((millions * 4))000000" -o "$directory/mariadbd.parquet" -- mariadbd --no-defaults --bootstrap \
            --user="$(id -un)" --datadir="$directory/data" --innodb-buffer-pool-size=8M --innodb-log-file-size=4M --skip-grant-tables \
            --innodb-buffer-pool-size-max=8M --innodb-use-native-aio=0 \
            <"$directory/bootstrap.sql" >"$directory/mariadbd.out" 2>&1 || missing="$missing mariadbd"
    }
else
    missing="$missing mariadbd"
fi

pictures=docs/results/working-sets
mkdir -p "$here/$pictures"
for trace in "$directory"/*.parquet; do
    name=$(basename "$trace" .parquet)
    echo "analyzing $name" >&2
    "$warmset" analyze "$trace" --json --pictures "$directory/pictures" --force -o "$directory/$name.html" >"$directory/$name.json"
    cp "$directory/pictures/$name-lifetime.svg" "$here/$pictures/"
done
for name in ls cc1 sqlite3 chromium; do
    [ -e "$directory/pictures/$name-map.svg" ] && cp "$directory/pictures/$name-map.svg" "$directory/pictures/$name-size.svg" "$here/$pictures/"
done
python3 bench/working-sets.py "$directory" "$millions" "$missing" >"$directory/page.md"
mv "$directory/page.md" docs/results/working-sets.md
