#!/bin/sh
echo "script $LEVEL $PLAY" >> "$1/log"
