"""The `inv` command: Invoke with our tasks bundled, so that it works from any folder."""

from __future__ import annotations

import sys
from typing import Any

from invoke import Collection, ParseError, Parser, Program
from invoke.exceptions import Exit, UnexpectedExit

import cleanslate
from cleanslate.cli import namespace
from cleanslate.cli.ansible_options import concerns, refuse_ansible_options
from cleanslate.cli.ours import tell_problems
from cleanslate.cli.settings import project_root
from cleanslate.cli.startup import leave
from cleanslate.errors import InputError


class Inv(Program):  # type: ignore[misc]  # invoke has no types
    """Invoke's program; a command line that cannot be understood exits with 64, as wrong input does."""

    def parse_collection(self) -> None:
        """Take our tasks, and the settings of the repository that the person stands in."""
        super().parse_collection()
        root = project_root()
        self.config.set_project_location(str(root))
        self.config.load_project()

    def _make_parser(self) -> Any:
        """Invoke's parser, of the tasks that the command line names: to describe all of them to it takes 20 ms."""
        named = [name for name in self.collection.task_names if name in self.core.unparsed]
        if not named or self.args.complete.value or self.args.help.value:
            return super()._make_parser()
        tasks = Collection(*(self.collection[name] for name in named))
        return Parser(initial=self.initial_context, contexts=tasks.to_contexts())

    def run(self, argv: Any = None, exit: bool = True) -> None:
        """Run the command line."""
        try:
            self._refuse_ansible_options(sys.argv[1:] if argv is None else argv)
            self._run(argv)
        except InputError as error:
            tell_problems(error)
            sys.exit(error.exit_code)
        except ParseError as error:
            from cleanslate.cli.misspelt import explain

            what, fix = explain(error, self.namespace.task_names)
            tell_problems(InputError(what, fix=fix))
            sys.exit(64)
        except UnexpectedExit as error:
            sys.exit(error.result.exited)
        except Exit as error:
            if error.message:
                print(error.message, file=sys.stderr)
            sys.exit(error.code)
        except KeyboardInterrupt:
            sys.exit(130)

    def _refuse_ansible_options(self, argv: Any) -> None:
        name = concerns(argv)
        if name is not None:
            refuse_ansible_options(argv[argv.index(name) + 1 :], self.namespace[name].spellings())

    def _run(self, argv: Any) -> None:
        self.create_config()
        self.parse_core(argv)
        self.parse_collection()
        self.parse_tasks()
        self.parse_cleanup()
        self.update_config()
        self.execute()


def main() -> None:
    """Start here."""
    try:
        Inv(name="cleanslate", binary="inv", version=cleanslate.__version__, namespace=namespace).run()
    except SystemExit as end:
        leave(end.code)
    leave(0)


if __name__ == "__main__":
    main()
