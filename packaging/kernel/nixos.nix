# A module of NixOS: its kernel with Warmset's floors. Name it in `imports`, beside the patch that a release has. Older releases of
# NixOS call structuredExtraConfig extraStructuredConfig.
{ pkgs, ... }:
{
  boot.kernelPackages = pkgs.linuxPackages_6_12;
  boot.kernelPatches = [
    {
      name = "warmset";
      patch = ./warmset-0.1.0-linux-6.12.patch;
      structuredExtraConfig.WORKINGSET_PROTECTION = pkgs.lib.kernel.yes;
    }
  ];
  boot.kernel.sysctl."vm.workingset_protection" = 1;
}
