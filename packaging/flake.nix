# `nix run ./packaging -- --demo` in a checkout. The flake is here and not at the top, because nix accepts a folder:
# `nix run 'git+ADDRESS?dir=packaging'`.
{
  description = "A terminal session inspector: why did this LLM session overflow its context window?";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      manifest = (builtins.fromTOML (builtins.readFile ../Cargo.toml)).package;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forEachSystem = nixpkgs.lib.genAttrs systems;
      clawscope =
        pkgs:
        pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          inherit (manifest) version;
          src = ../.;
          cargoLock.lockFile = ../Cargo.lock;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The tests need the gateway, pi and a browser, which a build without network does not have.
          doCheck = false;
          env.CLAWSCOPE_COMMIT = self.shortRev or "";
          postInstall = pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            $out/bin/clawscope man --out man
            installManPage man/*.1
            installShellCompletion --cmd clawscope \
              --bash <($out/bin/clawscope completions bash) \
              --zsh <($out/bin/clawscope completions zsh) \
              --fish <($out/bin/clawscope completions fish)
          '';
          meta = {
            inherit (manifest) description;
            homepage = manifest.repository;
            license = pkgs.lib.licenses.mit;
            mainProgram = manifest.name;
          };
        };
    in
    {
      packages = forEachSystem (system: {
        default = clawscope nixpkgs.legacyPackages.${system};
      });
    };
}
