#!/bin/sh
# Checks that every subcommand has a manual page and completions: pages.sh PROGRAMS pages|lab-pages
#
# The subcommands are those of the programs' --help. groff must format every page without a warning, and each installed shell must
# read its completions.
set -eu
programs=$1
of_what=$2

fail() {
    echo "pages.sh: $1" >&2
    exit 1
}

subcommands() { # of a program, by its help
    "$1" --help | sed -n '/^Options:/q; s/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -vx help
}

checked=0
# What warmset-tools does, warmset runs: there is one page for both.
case $of_what in
pages) sets='warmset:warmset:pages warmset-tools:warmset:pages/tools' ;;
*) sets=warmset-lab:warmset-lab:lab-pages ;;
esac
for of in $sets; do
    program=${of%%:*}
    pages=$programs/${of##*:}
    title=${of#*:}
    title=${title%:*}
    names=$(subcommands "$programs/$program")
    [ "$(echo "$names" | wc -l)" -gt 3 ] || fail "$program --help lists only: $names"
    for name in $names; do
        [ -n "$(find "$pages" -name "$title-$name.1*")" ] || fail "$title-$name(1) is missing"
        for shell in "bash/$program" "zsh/_$program" "fish/$program.fish"; do
            [ -e "$pages/$shell" ] || shell=$shell.bash
            grep -qw -- "$name" "$pages/$shell" || fail "$shell does not know $name"
        done
        checked=$((checked + 1))
    done
done
[ "$of_what" != pages ] || for option in $("$programs/warmsetd" --help | sed -n 's/^ .*--\([a-z]*\).*/\1/p'); do
    grep -q -- "--$option" "$programs/pages/bash/warmsetd" || fail "warmsetd's completions do not know --$option"
    zcat -f "$programs"/pages/man8/warmsetd.8* | grep -q "$option" || fail "warmsetd(8) does not know --$option"
    checked=$((checked + 1))
done
# every SUBDIRECTORY COMMAND...: runs the command on each file there
every() {
    files=$(find "$programs/$of_what" -path "*/$1/*" -type f)
    shift
    for file in $files; do "$@" "$file" || fail "$file: $* fails"; done
}
every bash bash -n
! command -v zsh >/dev/null 2>&1 || every zsh zsh -n
! command -v fish >/dev/null 2>&1 || every fish fish -n
if command -v groff >/dev/null 2>&1; then
    pages=$(find "$programs/$of_what" -path '*/man[0-9]/*')
    for page in $pages; do
        said=$(zcat -f "$page" | groff -Kutf8 -man -ww -Tutf8 2>&1 >/dev/null | grep -v 'cannot select font\|can.t find font' || true)
        [ -z "$said" ] || fail "$page: $said"
    done
fi
echo "pages: $checked subcommands and options have their pages and completions"
