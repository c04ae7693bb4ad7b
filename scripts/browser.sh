#!/bin/sh
# Makes sure that there is a Chromium for the browser tests: installs Debian's where that is possible, else says what is missing.
# Its headless shell draws no windows that nobody sees, and needs two thirds of the time for a page.
set -eu
cd "$(dirname "$0")/.."

if ! [ -d web ]; then
  echo "==> No browser tests yet: the web UI comes with a later part"
  exit 0
fi
if command -v chromium-headless-shell >/dev/null; then exit 0; fi

as_root=
if [ "$(id -u)" != 0 ]; then as_root="sudo -n"; fi
install() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::http::Timeout=20 install -y -qq --no-install-recommends "$1" >/dev/null
}
if command -v apt-get >/dev/null && $as_root true 2>/dev/null; then
  echo "==> Installing Chromium for the browser tests"
  command -v chromium >/dev/null || $as_root apt-get update -qq
  if install chromium-headless-shell 2>/dev/null || command -v chromium >/dev/null || install chromium; then exit 0; fi
elif command -v chromium >/dev/null; then
  exit 0
fi
echo "The browser tests need Chromium, and installing it needs root once. On Debian or Ubuntu: sudo apt install chromium" >&2
exit 1
