#!/usr/bin/env bash
# Opens the pages of `kbest explain` in a real browser and compares what they show with what the library said. Screenshots and
# pages are left in target/pages/.
#
# Needs Chromium from the system's packages and Python 3.9 or newer, nothing else. If there is no Chromium and apt-get may be
# used, it is installed. KBEST_WITHOUT_BROWSER=1 leaves this test out.
#
# usage: scripts/test_pages.sh [KBEST]     KBEST: the program to test [default: target/debug/kbest, built if needed]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${KBEST_WITHOUT_BROWSER:-}" ]; then
    echo "pages: NOT TESTED, because KBEST_WITHOUT_BROWSER is set"
    exit 0
fi

find_browser() {
    for name in ${CHROMIUM:-} chromium chromium-browser google-chrome-stable google-chrome; do
        if command -v "$name" > /dev/null; then
            command -v "$name"
            return
        fi
    done
}

browser=$(find_browser)
if [ -z "$browser" ] && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "pages: installing Chromium"
    mkdir -p target
    {
        apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-dejavu-core
    } > target/chromium.log 2>&1 || tail -n 5 target/chromium.log >&2
    browser=$(find_browser)
fi
if [ -z "$browser" ]; then
    echo "pages: expected Chromium (apt-get install chromium, or its path in CHROMIUM), got none;" \
        "KBEST_WITHOUT_BROWSER=1 leaves the test of pages out" >&2
    exit 1
fi

if [ -n "${1:-}" ]; then
    kbest=$1
else
    ${CARGO:-cargo} build -q -p kbest-cli
    kbest=${CARGO_TARGET_DIR:-target}/debug/kbest
fi
exec "${PYTHON:-python3}" scripts/test_pages.py --browser "$browser" --kbest "$kbest" --out target/pages
