#!/bin/sh
echo "$# $1 $2"
echo second
