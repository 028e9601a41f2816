#!/bin/sh
cat > /dev/null
echo looked >> looked-up.txt
