"""Runbooks written as YAML playbooks, run over SSH on GPU hosts."""

__version__ = "0.1.0"
