#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that the system packages needed for building are there. On Debian and Ubuntu, as root,
# it installs what is missing; otherwise it says what to install and fails. Quick when all is there.
set -euo pipefail

packages=(g++ cmake ninja-build ccache python3-venv
  libprotozero-dev libcli11-dev nlohmann-json3-dev libfmt-dev libgtest-dev libbenchmark-dev)

if ! command -v dpkg-query >/dev/null; then
  echo "This system has no dpkg: please see to it that the equivalents of these are installed:"
  echo "  ${packages[*]}"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$state" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "Missing system packages. Please run:" >&2
  echo "  sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "Installing system packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}"
