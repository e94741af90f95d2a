# Evaluates the flake without nixpkgs, which would need the network: `lib` and `pkgs` have only the names that the flake uses, and
# a package is the description that it is built from.
let
  lib = {
    genAttrs = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
    optionalString = condition: text: if condition then text else "";
    licenses.mit = "MIT";
  };
  pkgs = {
    inherit lib;
    installShellFiles = "installShellFiles";
    stdenv = {
      buildPlatform.canExecute = host: host == "here";
      hostPlatform = "here";
    };
    rustPlatform.buildRustPackage = description: description // { src = toString description.src; };
  };
  flake = import ./flake.nix;
  outputs = flake.outputs {
    self = { shortRev = "0123456"; };
    nixpkgs = {
      inherit lib;
      legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ] (_: pkgs);
    };
  };
  package = outputs.packages.x86_64-linux.default;
  manifest = (builtins.fromTOML (builtins.readFile ../Cargo.toml)).package;
in
assert builtins.attrNames outputs.packages == [ "aarch64-darwin" "aarch64-linux" "x86_64-darwin" "x86_64-linux" ];
assert package.version == manifest.version && package.meta.homepage == manifest.repository;
assert builtins.pathExists package.cargoLock.lockFile && builtins.pathExists "${package.src}/Cargo.toml";
"${package.pname} ${package.version}"
