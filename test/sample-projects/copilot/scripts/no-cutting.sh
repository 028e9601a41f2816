#!/bin/sh
# Says no in JSON, as Copilot's hooks do.
if grep -q "\"toolName\":\"bash\".*$WORD"; then
  echo '{"permissionDecision":"deny","permissionDecisionReason":"Strings are not cut."}'
fi
