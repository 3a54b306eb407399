#!/bin/sh
# A module of the oldest kind: it is given a file with its arguments as name=value.
. "$1"
printf '{"changed": true, "echo": "%s", "mode": "%s"}\n' "$word" "$(stat -c %a "$1")"
