"""Maps and lists from the sources whose templates are rendered one by one, when somebody looks at them.

So `d: {a: 1, b: "{{ d.a }}"}` works, and an undefined name in one entry hurts only who uses that entry. A lazy
container is a real dict or list: what has been looked at is kept in it, rendered. Code written in C (`str.join`)
reads such containers past these methods; the environment settles them before it calls anything like that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, SupportsIndex

from cleanslate.model import SourceList, SourceMap, SourceText

_MAYBE = (SourceText, SourceMap, SourceList, dict, list, tuple)


class Settle(Protocol):
    """Renders one raw value lazily; it never raises, a failure becomes an Undefined."""

    def __call__(self, raw: Any, /) -> Any: ...  # noqa: D102


class LazyMap(dict[Any, Any]):
    """A mapping whose values are rendered on access."""

    __slots__ = ("_settle", "_todo")

    def __init__(self, raw: Mapping[Any, Any], settle: Settle) -> None:
        super().__init__(raw)
        self._settle = settle
        self._todo = {key for key, value in raw.items() if isinstance(value, _MAYBE)}

    def settled(self) -> LazyMap:
        """Render what is still unrendered, one level deep."""
        for key in list(self._todo):
            self[key]
        return self

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if key in self._todo:
            value = self._settle(value)
            super().__setitem__(key, value)
            self._todo.discard(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        self._todo.discard(key)
        super().__setitem__(key, value)

    def get(self, key: Any, default: Any = None) -> Any:
        """Give the rendered value, or the default."""
        return self[key] if key in self else default  # noqa: SIM401 - dict.get would not render

    # dict(lazy) and **lazy look here first, and then ask for each item properly.
    def __iter__(self) -> Iterator[Any]:
        return super().__iter__()

    def items(self) -> Any:
        """Give each key with its rendered value."""
        return dict.items(self.settled())

    def values(self) -> Any:
        """Give the rendered values."""
        return dict.values(self.settled())

    def copy(self) -> dict[Any, Any]:
        """Give a plain mapping."""
        return dict(self.items())

    def pop(self, key: Any, *default: Any) -> Any:
        """Take an entry out."""
        if key in self:
            self[key]
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        """Take the last entry out."""
        self.settled()
        return super().popitem()

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Give the rendered value, or store the default."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **more: Any) -> None:
        """Take over entries that are rendered already."""
        for key, value in dict(*others, **more).items():
            self[key] = value

    def __eq__(self, other: object) -> bool:
        return dict.__eq__(self.settled(), other.settled() if isinstance(other, LazyMap) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        return dict(self.items()) | dict(other)

    def __ror__(self, other: Any) -> Any:
        return dict(other) | dict(self.items())

    def __repr__(self) -> str:
        return dict.__repr__(self.settled())

    def __reduce__(self) -> Any:
        return (dict, (self.copy(),))


class LazyList(list[Any]):
    """A list whose items are rendered on access."""

    __slots__ = ("_settle", "_todo")

    def __init__(self, raw: Iterable[Any], settle: Settle) -> None:
        super().__init__(raw)
        self._settle = settle
        self._todo = {index for index, value in enumerate(super().__iter__()) if isinstance(value, _MAYBE)}

    def settled(self) -> LazyList:
        """Render what is still unrendered, one level deep."""
        for index in sorted(self._todo):
            self._item(index)
        return self

    def _item(self, index: int) -> Any:
        value = super().__getitem__(index)
        if index in self._todo:
            value = self._settle(value)
            super().__setitem__(index, value)
            self._todo.discard(index)
        return value

    def __getitem__(self, index: Any) -> Any:
        if self._todo and isinstance(index, int):
            place = index + len(self) if index < 0 else index
            if place >= 0:
                return self._item(place)
        return list.__getitem__(self.settled(), index)

    def __iter__(self) -> Iterator[Any]:
        if not self._todo:
            return super().__iter__()
        return (self._item(index) for index in range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return (self._item(index) for index in range(len(self) - 1, -1, -1))

    def __contains__(self, value: object) -> bool:
        return any(item is value or item == value for item in self)

    def __eq__(self, other: object) -> bool:
        return list.__eq__(self.settled(), other.settled() if isinstance(other, LazyList) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __lt__(self, other: Any) -> bool:
        return list(self) < list(other)

    def __le__(self, other: Any) -> bool:
        return list(self) <= list(other)

    def __gt__(self, other: Any) -> bool:
        return list(self) > list(other)

    def __ge__(self, other: Any) -> bool:
        return list(self) >= list(other)

    def __add__(self, other: Any) -> Any:
        return list(self) + (list(other) if isinstance(other, list) else other)

    def __radd__(self, other: Any) -> Any:
        return other + list(self)

    def __mul__(self, times: SupportsIndex) -> list[Any]:
        return list(self) * times

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return list.__repr__(self.settled())

    def __reduce__(self) -> Any:
        return (list, (list(self),))

    def copy(self) -> list[Any]:
        """Give a plain list."""
        return list(self)

    def index(self, *arguments: Any) -> int:
        """Give the place of a value."""
        return list.index(self.settled(), *arguments)

    def count(self, value: Any) -> int:
        """How often a value is in it."""
        return list.count(self.settled(), value)

    def append(self, value: Any) -> None:
        """Add at the end."""
        list.append(self.settled(), value)

    def extend(self, values: Iterable[Any]) -> None:
        """Add several at the end."""
        list.extend(self.settled(), list(values))

    def insert(self, index: SupportsIndex, value: Any) -> None:
        """Add in the middle."""
        list.insert(self.settled(), index, value)

    def pop(self, index: SupportsIndex = -1) -> Any:
        """Take an item out."""
        return list.pop(self.settled(), index)

    def remove(self, value: Any) -> None:
        """Take a value out."""
        list.remove(self.settled(), value)

    def reverse(self) -> None:
        """Turn it round."""
        list.reverse(self.settled())

    def sort(self, **options: Any) -> None:
        """Sort it in place."""
        list.sort(self.settled(), **options)
