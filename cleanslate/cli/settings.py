"""The repository's settings (invoke.yaml), and where its things are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanslate.cli.again import again
from cleanslate.dataclass import dataclass
from cleanslate.errors import InputError, suggest

if TYPE_CHECKING:
    from cleanslate.report.notify import Notify


def project_root(start: Path | None = None) -> Path:
    """The repository: the nearest folder upwards with an invoke.yaml or playbooks, else the one that `inv` lies in."""
    made_again = again()
    if made_again is not None and start is None:
        return Path(made_again.root)
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "invoke.yaml").is_file() or (folder / "playbooks").is_dir():
            return folder
    home = Path(__file__).resolve().parent.parent.parent
    return home if (home / "invoke.yaml").is_file() else here


@dataclass(frozen=True)
class Settings:
    """What invoke.yaml says under `cleanslate:`; paths are absolute."""

    root: Path
    inventory: Sequence[str]
    runs: Path
    forks: int
    accept_new_host_keys: bool
    on_hangup: str = "stop"
    rerun_of: str | None = None
    notify: Notify | None = None


_KNOWN = ("inventory", "runs", "forks", "on_hangup", "accept_new_host_keys", "notify")


def settings_of(context: Any) -> Settings:
    """Read the settings from Invoke's configuration; InputError for a word that we do not know."""
    root = project_root()
    given = context.config.get("cleanslate", {}) or {}
    for key in given:
        if key not in _KNOWN:
            raise InputError(
                f'invoke.yaml: cleanslate has no setting "{key}"',
                fix=suggest(key, _KNOWN) or f"known: {', '.join(_KNOWN)}",
            )
    on_hangup = str(given.get("on_hangup", "stop"))
    if on_hangup not in ("stop", "continue"):
        raise InputError(f'invoke.yaml: on_hangup is stop or continue, not "{on_hangup}"')
    inventory = given.get("inventory", ["inventory/lab.yml"])
    sources = [inventory] if isinstance(inventory, str) else list(inventory)
    made_again = again()
    return Settings(
        root=root,
        inventory=[str(root / source) for source in sources],
        runs=Path(made_again.runs) if made_again else root / str(given.get("runs", ".runs")),
        forks=int(given.get("forks", 50)),
        accept_new_host_keys=bool(given.get("accept_new_host_keys", False)),
        on_hangup=on_hangup,
        rerun_of=made_again.of if made_again else None,
        notify=_notify(given.get("notify")),
    )


def _notify(given: Any) -> Notify | None:
    if not given:
        return None
    from cleanslate.cli.notifying import notify_setting

    return notify_setting(given)


def find_playbook(root: Path, name: str) -> Path:
    """The file of a playbook: a path, or NAME for playbooks/NAME.yml. InputError suggests names that are near."""
    given = Path(name).expanduser()
    if given.is_file():
        return given.resolve()
    folder = root / "playbooks"
    for ending in (".yml", ".yaml"):
        if (folder / f"{name}{ending}").is_file():
            return (folder / f"{name}{ending}").resolve()
    known = [path.stem for path in sorted(folder.glob("*.y*ml"))]
    if given.suffix in (".yml", ".yaml") or os.sep in name:
        raise InputError(f'there is no playbook file "{name}"', fix=suggest(given.stem, known))
    listed = f"known: {', '.join(known)}" if known else f"{folder} has none"
    raise InputError(f'there is no playbook "{name}"', fix=suggest(name, known) or listed)
