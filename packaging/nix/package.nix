# nix-build -E '(import <nixpkgs> {}).callPackage ./packaging/nix/package.nix {}'; the outputs are the guard and the tools.
{ lib, rustPlatform, stdenv }:

rustPlatform.buildRustPackage {
  pname = "warmset";
  version = "0.1.0";
  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  outputs = [ "out" "tools" ];
  # The guard is linked statically, so that no shared library can be paged out beneath it.
  buildInputs = [ stdenv.cc.libc.static ];

  buildPhase = ''
    patchShebangs packaging
    for part in guard desktop tools; do packaging/compile $part target; done
  '';
  # packaging/files says which file goes where.
  installPhase = ''
    PREFIX=$out SYSCONFDIR=$out/etc packaging/install install target/release warmset
    PREFIX=$tools packaging/install install target/release warmset-tools
  '';
  # The tests want a machine with /proc and /sys of its own.
  doCheck = false;

  meta = {
    description = "Guard against memory shortage";
    homepage = "https://example.org/warmset";
    license = with lib.licenses; [ mit asl20 ];
    mainProgram = "warmset";
    platforms = lib.platforms.linux;
  };
}
