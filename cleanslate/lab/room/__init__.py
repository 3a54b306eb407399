"""What stands in the machines: programs that run there by themselves, from the standard library alone."""
