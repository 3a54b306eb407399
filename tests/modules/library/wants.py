#!/usr/bin/python
"""WANT_JSON: a module without Ansible's library; it is given a file with its arguments as JSON."""

import json
import sys

with open(sys.argv[1]) as file:
    print(json.dumps({"changed": False, "given": json.load(file)["word"]}))
