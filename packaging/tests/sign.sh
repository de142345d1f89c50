#!/bin/sh
# Tests packaging/sign and the commands of docs/releasing.md with keys that are thrown away.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v ssh-keygen >/dev/null 2>&1; then
    echo "SKIPPED: sign: ssh-keygen is not installed" >&2
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
identity=$(sed -n 's/^identity=//p' packaging/sign)

fail() {
    echo "sign.sh: $1" >&2
    cat "$scratch/said" >&2
    exit 1
}
does() { # does WHAT COMMAND...: it succeeds
    what=$1
    shift
    "$@" >"$scratch/said" 2>&1 || fail "$what: $* failed"
}
count=0
refuses() { # refuses WHAT MESSAGE COMMAND...: it fails with this message
    what=$1
    message=$2
    shift 2
    if "$@" >"$scratch/said" 2>&1; then fail "$what was accepted"; fi
    grep -q -- "$message" "$scratch/said" || fail "$what was refused with another message than \"$message\""
    count=$((count + 1))
}
verify() { packaging/sign verify "$scratch/dist" "$scratch/signers"; }
# A release as it was after the signature, for the next change.
reset() {
    rm -rf "$scratch/dist"
    cp -r "$scratch/signed" "$scratch/dist"
}

for key in ours other; do ssh-keygen -q -t ed25519 -N '' -C "$key" -f "$scratch/$key"; done
echo "$identity namespaces=\"warmset-release\" $(cat "$scratch/ours.pub")" >"$scratch/signers"
mkdir "$scratch/dist"
for file in warmset_1_amd64.deb warmset-1.tar.gz warmset-1.cdx.json; do echo "$file" >"$scratch/dist/$file"; done
(cd "$scratch/dist" && sha256sum -- * >SHA256SUMS)

refuses 'a release without a signature' 'are not signed' verify
does 'a signature' packaging/sign sums "$scratch/dist" "$scratch/ours" "$scratch/signers"
does 'its verification' verify
cp -r "$scratch/dist" "$scratch/signed"

# What the page tells a user to run, with a download of one file.
rm "$scratch/dist/warmset-1.tar.gz" "$scratch/dist/warmset-1.cdx.json"
cp "$scratch/signers" "$scratch/dist/allowed_signers"
sed -n '/^ssh-keygen -Y verify/p; /^sha256sum --check/p' docs/releasing.md >"$scratch/page"
[ "$(wc -l <"$scratch/page")" = 2 ] || fail "docs/releasing.md does not have the two commands for users"
does "the page's commands" sh -euc "cd $scratch/dist; . $scratch/page"
echo changed >"$scratch/dist/warmset_1_amd64.deb"
refuses "a changed file, by the page's commands" FAILED sh -euc "cd $scratch/dist; . $scratch/page"

reset
echo changed >"$scratch/dist/warmset-1.tar.gz"
refuses 'a changed file' 'not the one that was signed' verify
refuses 'a signature of sums that are wrong' 'are wrong' packaging/sign sums "$scratch/dist" "$scratch/ours" "$scratch/signers"
(cd "$scratch/dist" && sha256sum -- warmset* >SHA256SUMS)
refuses 'a changed file with its sum' 'not a signature of these sums' verify

reset
rm "$scratch"/dist/warmset*
refuses 'sums without a file' 'not the one that was signed' verify

reset
rm "$scratch/dist/SHA256SUMS.sig"
ssh-keygen -q -Y sign -f "$scratch/other" -n warmset-release "$scratch/dist/SHA256SUMS"
refuses 'the signature of another key' 'not a signature of these sums' verify
refuses 'another key at signing' 'does not allow the key' packaging/sign sums "$scratch/dist" "$scratch/other" "$scratch/signers"
[ ! -e "$scratch/dist/SHA256SUMS.sig" ] || fail 'a refused key leaves its signature'

reset
rm "$scratch/dist/SHA256SUMS.sig"
ssh-keygen -q -Y sign -f "$scratch/ours" -n git "$scratch/dist/SHA256SUMS"
refuses 'a signature for another purpose' 'not a signature of these sums' verify

reset
sed 's/warmset-release/git/' "$scratch/signers" >"$scratch/git-signers"
refuses 'a key that may sign commits only' 'not a signature of these sums' packaging/sign verify "$scratch/dist" "$scratch/git-signers"
sed 's/ namespaces/ valid-before="20200101",namespaces/' "$scratch/signers" >"$scratch/old-signers"
refuses 'a key that has run out' 'not a signature of these sums' packaging/sign verify "$scratch/dist" "$scratch/old-signers"

# The list of this repository has no fault that would let a key in for other purposes.
sed '/^#/d; /^$/d' packaging/allowed_signers >"$scratch/lines"
while read -r line; do
    case $line in
    "$identity "*'namespaces="warmset-release"'*) ;;
    *) fail "packaging/allowed_signers has a line for another identity or purpose: $line" ;;
    esac
done <"$scratch/lines"
refuses 'a throwaway key, by the list of this repository' 'not a signature of these sums' packaging/sign verify "$scratch/dist"
echo "sign: signed and verified, by the script and by the page's commands; $count forgeries refused"
