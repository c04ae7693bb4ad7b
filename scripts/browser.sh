#!/bin/sh
# Makes sure that there is a Chromium for the browser tests: installs Debian's where that is possible, else says what is missing.
set -eu
cd "$(dirname "$0")/.."

if ! [ -d web ]; then
  echo "==> No browser tests yet: the web UI comes with a later part"
  exit 0
fi
if command -v chromium >/dev/null; then exit 0; fi

as_root=
if [ "$(id -u)" != 0 ]; then as_root="sudo -n"; fi
if command -v apt-get >/dev/null && $as_root true 2>/dev/null; then
  echo "==> Installing Chromium for the browser tests"
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
  exit 0
fi
echo "The browser tests need Chromium, and installing it needs root once. On Debian or Ubuntu: sudo apt install chromium" >&2
exit 1
