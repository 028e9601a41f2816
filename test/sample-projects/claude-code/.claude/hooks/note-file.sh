#!/bin/sh
sed -n 's/.*"file_path":"\([^"]*\)".*/\1/p' >> "$CLAUDE_PROJECT_DIR/written.txt"
