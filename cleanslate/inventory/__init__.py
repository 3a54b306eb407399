"""Hosts and groups: inventories in every form that Ansible knows, host patterns, variables in Ansible's order."""

from cleanslate.inventory.changes import add_host
from cleanslate.inventory.check import check_variable_files
from cleanslate.inventory.layers import find_host, host_layers, inventory_variables
from cleanslate.inventory.patterns import match_hosts
from cleanslate.inventory.sources import load_inventory
from cleanslate.inventory.tree import all_members
from cleanslate.inventory.varfiles import Layer

__all__ = [
    "Layer",
    "add_host",
    "all_members",
    "check_variable_files",
    "find_host",
    "host_layers",
    "inventory_variables",
    "load_inventory",
    "match_hosts",
]
