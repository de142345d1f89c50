#!/bin/sh
# Compares what each way of installing puts where with packaging/files: packages.sh TARGET
#
# `make install` and `make uninstall`, the Debian packages, and the install steps of PKGBUILD, warmset.spec, APKBUILD and the Nix
# expression, which are run here without makepkg, rpmbuild, abuild and nix. Each must install exactly what the list says for its
# directories, and a unit must start an installed program.
set -eu
cd "$(dirname "$0")/../.."
target=$1
case $target in
/*) ;;
*) target=$PWD/$target ;;
esac
programs=$target/release
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "packages.sh: $1" >&2
    exit 1
}

# The list, for directories in the environment: "MODE PATH".
listed() { packaging/install list "$programs" "$@" | LC_ALL=C sort; }

# What is in a tree: "MODE PATH".
found() { (cd "$1" && find . -type f -printf '%m /%P\n' | LC_ALL=C sort); }

same() { # same NAME LISTED FOUND
    diff "$2" "$3" >&2 || fail "$1 differs from packaging/files (above: < listed, > installed)"
    echo "packages: $1: $(wc -l <"$3") files as listed"
}

# Every program that a unit of a tree names is in the tree, or is the system's.
started() {
    find "$1" -name '*.service' -exec sed -n 's/^Exec[A-Za-z]*=[-@:+!]*\([^ ]*\).*/\1/p' {} + | sort -u >"$scratch/started"
    while read -r program; do
        case $program in
        *warmset*) [ -x "$1$program" ] || fail "a unit starts $program, which is not installed" ;;
        esac
    done <"$scratch/started"
}

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# make install and make uninstall
make --no-print-directory install TARGET="$target" DESTDIR="$scratch/local" PREFIX=/usr/local
listed >"$scratch/list"
found "$scratch/local" >"$scratch/now"
same 'make install' "$scratch/list" "$scratch/now"
started "$scratch/local"
"$scratch/local/usr/local/bin/warmset" check "$scratch/local/etc/warmset/warmset.toml" >/dev/null
"$scratch/local/usr/local/sbin/warmsetd" --version >/dev/null
make --no-print-directory uninstall TARGET="$target" DESTDIR="$scratch/local" PREFIX=/usr/local
[ -z "$(find "$scratch/local" -type f -o -type d -name 'warmset*')" ] || fail "make uninstall leaves $(find "$scratch/local" -type f -o -name 'warmset*')"

# The Debian packages. Their manual pages are compressed, the licence is in the file copyright, and postinst makes the group.
export PREFIX=/usr ZSHDIR=/usr/share/zsh/vendor-completions LICENSEDIR=/usr/share/doc
for package in warmset warmset-tools; do
    deb=$(find "$target/debian" -name "${package}_*.deb")
    [ -f "$deb" ] || fail "there is no package $package in $target/debian: run make deb"
    rm -rf "$scratch/deb"
    dpkg-deb --extract "$deb" "$scratch/deb"
    listed "$package" | grep -v ' /usr/lib/sysusers.d/' | sed 's#/share/man/.*#&.gz#; s#/LICENSE-MIT$#/copyright#' | LC_ALL=C sort >"$scratch/list"
    found "$scratch/deb" >"$scratch/now"
    same "$(basename "$deb")" "$scratch/list" "$scratch/now"
    [ "$package" != warmset ] || started "$scratch/deb"
done
# The guard's package is what a machine gets; 3.2 MB is a moment on any line.
size=$(stat -c %s "$target"/debian/warmset_*.deb)
[ "$size" -le 3200000 ] || fail "the package warmset has $size bytes; it may have 3200000"
unset ZSHDIR LICENSEDIR

# The source as the archive has it, with the programs where `packaging/compile` puts them.
tree=$scratch/src/warmset-$version
mkdir -p "$tree"
git ls-files -co --exclude-standard packaging docs valgrind qemu README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE |
    tar -c -T - -f - | tar -x -C "$tree" -f -
mkdir -p "$tree/target"
ln -s "$programs" "$tree/target/release"

# The PKGBUILD
for package in warmset warmset-tools; do
    mkdir "$scratch/arch-$package"
    # shellcheck disable=SC2016
    startdir=$PWD srcdir=$scratch/src pkgdir=$scratch/arch-$package bash -euc '
        source "$startdir/packaging/arch/PKGBUILD"
        [[ " ${pkgname[*]} " == *" $1 "* ]]
        cd "$srcdir" && "package_$1"
        for file in "${backup[@]-}"; do [[ -z $file || -f $pkgdir/$file ]]; done' bash "$package"
    SBINDIR=/usr/bin LIBEXECDIR=/usr/bin listed "$package" >"$scratch/list"
    found "$scratch/arch-$package" >"$scratch/now"
    same "PKGBUILD's $package" "$scratch/list" "$scratch/now"
done
started "$scratch/arch-warmset"

# The rpm spec, with Fedora's values of its macros
awk '/^%[a-z]/ { inside = ($1 == "%install"); next } inside' packaging/rpm/warmset.spec |
    sed "s#%{buildroot}#$scratch/rpm#g; s#%{_prefix}#/usr#g; s#%{_bindir}#/usr/bin#g; s#%{_sbindir}#/usr/sbin#g
        s#%{_libexecdir}#/usr/libexec#g; s#%{_unitdir}#/usr/lib/systemd/system#g; s#%{_userunitdir}#/usr/lib/systemd/user#g
        s#%{_mandir}#/usr/share/man#g; s#%{_sysconfdir}#/etc#g" >"$scratch/rpm-install"
! grep -n '%{' "$scratch/rpm-install" || fail "the spec's %install has the macros above, which this test does not know"
(cd "$tree" && sh -eu "$scratch/rpm-install")
listed >"$scratch/list"
found "$scratch/rpm" >"$scratch/now"
same 'warmset.spec' "$scratch/list" "$scratch/now"
# Every file is in a package: %files has each of them.
sed 's/^%config(noreplace) //; s/\*$//' "$tree/warmset.files" "$tree/warmset-tools.files" | LC_ALL=C sort >"$scratch/files"
cut -d ' ' -f 2 "$scratch/list" | LC_ALL=C sort >"$scratch/paths"
diff "$scratch/paths" "$scratch/files" >&2 || fail "%files of warmset.spec differs (above)"
started "$scratch/rpm"

# The APKBUILD
# shellcheck disable=SC2016
builddir=$tree pkgdir=$scratch/apk subpkgdir=$scratch/apk-tools startdir=$PWD sh -euc '
    . "$startdir/packaging/alpine/APKBUILD"
    mkdir -p "$pkgdir" "$subpkgdir"
    cd "$builddir"
    package
    _tools'
for package in warmset warmset-tools; do
    part=$scratch/apk${package#warmset}
    listed "$package" | grep -v ' /usr/lib/systemd/' >"$scratch/list"
    found "$part" >"$scratch/now"
    same "APKBUILD's $package" "$scratch/list" "$scratch/now"
done

# The Nix expression
awk "/installPhase = ''/ { inside = 1; next } /'';/ { inside = 0 } inside" packaging/nix/package.nix >"$scratch/nix-install"
(cd "$tree" && out=$scratch/nix tools=$scratch/nix-tools sh -eu "$scratch/nix-install")
for package in warmset warmset-tools; do
    part=$scratch/nix${package#warmset}
    PREFIX=$part SYSCONFDIR=$part/etc listed "$package" | sed "s#$part##" >"$scratch/list"
    found "$part" >"$scratch/now"
    same "package.nix's $package" "$scratch/list" "$scratch/now"
done
grep -qF "ExecStart=$scratch/nix/sbin/warmsetd" "$scratch/nix/lib/systemd/system/warmsetd.service" || fail "the Nix package's unit starts another warmsetd"
