#!/bin/sh
# Headless rendering needs system libraries that pip cannot bring: libEGL and libGL, or OSMesa.
set -eu
has() { ldconfig -p 2>/dev/null | grep -q "$1"; }
if { has libEGL.so.1 && has libGL.so.1; } || has libOSMesa.so; then exit 0; fi
ask="Rendering needs OpenGL: install the system packages libegl1 and libgl1 (or libosmesa6), then run this again."
if ! command -v apt-get >/dev/null 2>&1; then echo "$ask" >&2; exit 1; fi
if [ "$(id -u)" = 0 ]; then sudo=""; elif sudo -n true 2>/dev/null; then sudo="sudo"; else echo "$ask" >&2; exit 1; fi
{ $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libegl1 libgl1; } \
    || { echo "$ask" >&2; exit 1; }
