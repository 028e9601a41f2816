#!/bin/sh
# Reads the command of the call, and refuses to sink anything.
if grep -q '"tool_name":"Bash".*"command":"[^"]*sink' ; then
  echo "Boats are not sunk here." >&2
  exit 2
fi
