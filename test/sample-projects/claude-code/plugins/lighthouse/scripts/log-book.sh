#!/bin/sh
cat >> log-book.jsonl
echo >> log-book.jsonl
