"""Where roles, files, templates and files of steps are looked for, as Ansible does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cleanslate.model import Role
from cleanslate.playbook.values import nearest
from cleanslate.yamlfile import shown_path

_ROOT_SIGNS = ("invoke.yaml", ".git", "ansible.cfg")
_YAML_ENDS = ("", ".yml", ".yaml", ".json")


def role_search_paths(playbook_dir: Path, *, parent: Role | None = None) -> list[Path]:
    """The folders in which a role is looked for, first to last: `roles/` beside the playbook, that of the repository
    (the nearest folder above with an `invoke.yaml`, `ansible.cfg` or `.git`) and of the current folder, Ansible's own
    places, where `parent` (the role that asks) lies, and the playbook's folder.
    """
    paths = [playbook_dir / "roles"]
    root = repository_of(playbook_dir)
    if root is not None:
        paths.append(root / "roles")
    paths += [Path.cwd() / "roles", Path("~/.ansible/roles").expanduser()]
    paths += [Path("/usr/share/ansible/roles"), Path("/etc/ansible/roles")]
    if parent is not None:
        paths.append(parent.path.parent)
    paths.append(playbook_dir)
    return list({path.absolute(): path for path in paths}.values())


def repository_of(folder: Path) -> Path | None:
    """The repository that a folder is in: the nearest one above with an `invoke.yaml`, `ansible.cfg` or `.git`."""
    here = folder.absolute()
    return next((up for up in (here, *here.parents) if any((up / sign).exists() for sign in _ROOT_SIGNS)), None)


def expanded(name: str) -> Path:
    """A path with `~` taken for the home folder, where there is one of that name."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def search_folders(*, file: Path, role: Role | None, playbook_dir: Path) -> list[Path]:
    """The folders around a place in the sources in which its files are, nearest first."""
    folders: list[Path] = []
    if role is not None:
        folders += [role.path, *(parent.path for parent in reversed(role.parents))]
    folders += [file.parent, playbook_dir]
    return list({folder.absolute(): folder for folder in folders}.values())


def file_places(name: str, folder: str, *, file: Path, role: Role | None, playbook_dir: Path) -> list[Path]:
    """Where a controller's file may lie; `folder` is `files`, `templates` or `vars`."""
    given = expanded(name)
    if given.is_absolute():
        return [given]
    around = search_folders(file=file, role=role, playbook_dir=playbook_dir)
    return [place for base in around for place in (base / folder / name, base / name)]


def tasks_file_places(name: str, *, file: Path, role: Role | None, playbook_dir: Path) -> list[Path]:
    """Where a file of steps may lie: beside the file that names it first, then in the role, then by the playbook."""
    given = expanded(name)
    if given.is_absolute():
        return [given]
    folders = [file.parent, file.parent / "tasks"]
    if role is not None:
        folders += [role.path / "tasks", role.path]
    folders += [playbook_dir, playbook_dir / "tasks"]
    return [folder / name for folder in dict.fromkeys(folders)]


def role_file(folder: Path, name: str) -> Path | None:
    """A role's file by its name without ending (`main`), or as it is written (`sub/more.yml`)."""
    if Path(name).suffix in _YAML_ENDS[1:]:
        return folder / name if (folder / name).is_file() else None
    found = (folder / f"{name}{end}" for end in (".yml", ".yaml", ".json", ""))
    return next((path for path in found if path.is_file()), None)


def role_files(folder: Path, name: str) -> list[Path]:
    """A role's file of variables, or all files of the folder of that name (`vars/main/`), sorted."""
    one = role_file(folder, name)
    if one is not None:
        return [one]
    many = folder / name
    if not many.is_dir():
        return []
    return sorted(
        path
        for path in many.rglob("*")
        if path.is_file() and path.suffix in _YAML_ENDS and not path.name.startswith(".")
    )


def near_file(name: str, places: Iterable[Path]) -> str:
    """What to do about a file that is at none of the places: one with a near name, or where it was looked for."""
    places = list(places)
    nearby = {
        item.name for place in places if place.parent.is_dir() for item in place.parent.iterdir() if item.is_file()
    }
    stems = {Path(one).stem: one for one in sorted(nearby)}
    near = nearest(Path(name).stem, stems, cutoff=0.7)
    hint = f'did you mean "{stems[near]}"?' if near else None
    looked = "looked in " + ", ".join(dict.fromkeys(shown_path(place.parent) for place in places))
    return f"{hint} ({looked})" if hint else looked
