"""Imports modules from memory: the sources that the controller sent, under their own names.

This file is executed as text at the start of the agent, before anything of ours can be imported.
"""

import sys

PACKAGES = ("cleanslate", "cleanslate.remote")


class Loader:
    """Finds and executes modules in `sources`: name -> source text, or marshalled code of this very Python."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        """Give the spec of a module that was sent, None for every other."""
        if name not in self.sources:
            return None
        spec_class = type(sys.__spec__)  # importlib.machinery would cost its import
        return spec_class(name, self, origin="(sent)", is_package=name in PACKAGES)

    def create_module(self, spec):
        """Let Python make an ordinary module."""

    def exec_module(self, module):
        """Run the module's code in it."""
        name = module.__name__
        code = self.sources[name]
        if isinstance(code, bytes):
            import marshal

            code = marshal.loads(code)
        else:
            code = compile(code, name.replace(".", "/") + ".py", "exec", dont_inherit=True)
        exec(code, module.__dict__)

    def get_source(self, name):
        """Give the source text for tracebacks, None where only code was sent."""
        source = self.sources.get(name)
        return source if isinstance(source, str) else None
