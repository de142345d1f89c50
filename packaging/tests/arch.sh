#!/bin/sh
# Runs package() of the PKGBUILD on the programs just built: arch.sh PROGRAMS
#
# Only Arch has makepkg. This checks that every file that package() names exists, and that the unit starts an installed program.
set -eu
cd "$(dirname "$0")/../.."
programs=$PWD/$1
command -v bash >/dev/null 2>&1 || {
    echo "SKIPPED: arch: no bash to read the PKGBUILD" >&2
    exit 0
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/src" "$scratch/pkg"
# The tree as in the source archive, with the programs where cargo puts them.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
tree=$scratch/src/warmset-$version
mkdir -p "$tree/target/release"
git ls-files | tar -c -T - -f - | tar -x -C "$tree" -f -
cp -r "$programs/warmset" "$programs/warmset-tools" "$programs/warmsetd" "$programs/warmset-hold" "$programs/pages" "$tree/target/release/"

srcdir=$scratch/src pkgdir=$scratch/pkg bash -euc '
    source packaging/arch/PKGBUILD
    for name in build check package; do declare -F "$name" >/dev/null; done
    for file in "${backup[@]}"; do echo "$file"; done >"$srcdir/backup"
    cd "$srcdir" && package'
while read -r file; do [ -f "$scratch/pkg/$file" ]; done <"$scratch/src/backup"
"$scratch/pkg/usr/bin/warmset" check "$scratch/pkg/etc/warmset/warmset.toml" >/dev/null
"$scratch/pkg/usr/bin/warmsetd" --version >/dev/null
sed -n 's/^Exec[A-Za-z]*=\([^ ]*\).*/\1/p' "$scratch"/pkg/usr/lib/systemd/system/*.service | while read -r program; do
    [ "$program" = /bin/kill ] || [ -x "$scratch/pkg$program" ] || {
        echo "arch.sh: the unit starts $program, which is not installed" >&2
        exit 1
    }
done
echo "arch: $(find "$scratch/pkg" -type f | wc -l) files are installed"
