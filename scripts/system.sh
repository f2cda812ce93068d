#!/bin/sh
# Install the Debian packages that are missing. usage: system.sh SUDO PACKAGE...
set -eu
sudo=$1; shift
missing=
for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "Installing Debian packages:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list of words on purpose
$sudo apt-get install -y -qq $missing >/dev/null
