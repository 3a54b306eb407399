"""In which order roles stand around a step: dependencies before their dependents, parents outside."""

from __future__ import annotations

from collections.abc import Sequence

from cleanslate.model import Role


def all_roles(roles: Sequence[Role]) -> list[Role]:
    """Roles with their dependencies before them."""
    found: list[Role] = []
    for role in roles:
        found += all_roles(role.dependencies)
        found.append(role)
    return found


def role_chain(role: Role | None) -> tuple[Role, ...]:
    """The roles whose variables a step of `role` sees, outermost first, dependencies before their dependents."""
    if role is None:
        return ()
    chain: dict[int, Role] = {}

    def visit(one: Role) -> None:
        for dependency in one.dependencies:
            visit(dependency)
        chain[id(one)] = one

    for parent in role.parents:
        chain[id(parent)] = parent
    visit(role)
    return tuple(chain.values())
