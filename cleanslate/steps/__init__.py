"""One file per step type: arguments, documentation, example, behaviour and check mode, all in it."""
