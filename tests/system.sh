#!/bin/sh
# What the tests need from the system, installed where that can be done; otherwise it is said which tests are skipped.
# Usage: tests/system.sh   (add a line at the end for each program)
set -eu

# need COMMAND TESTS PACKAGE…: have a command, or say which tests are skipped without it.
need() {
    command=$1 tests=$2
    shift 2
    if command -v "$command" >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "installing $* (for $tests)"
        export DEBIAN_FRONTEND=noninteractive
        if apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends "$@" >/dev/null; then
            return 0
        fi
    fi
    echo "SKIPPED: $tests, because there is no $command; install it (Debian: apt-get install $*)"
}

need chromium "browser tests of the report" chromium fonts-dejavu-core
