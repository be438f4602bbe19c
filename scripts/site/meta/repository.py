"""Links to the repository, and from a page to its own file in it.

Both follow from the address that a reader is told to clone; without it there is neither.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

# By host: what stands between a repository's address and a file's path, where that can be edited.
EDIT_PATHS = {"github.com": "edit/main/", "gitlab.com": "-/edit/main/"}


def browser_address(clone: str) -> str:
    """What a browser opens of ``clone``, the address that git takes; empty if that is no page."""
    return clone.removesuffix("/").removesuffix(".git") if clone.startswith(("https://", "http://")) else ""


def clone_commands(repository: str) -> str:
    """The commands that bring a copy and lead into it; empty if nobody knows from where."""
    return f"git clone {repository} handbook && cd handbook" if repository else ""


def set_links(config) -> None:
    """Tell the theme where the repository is, and MkDocs how its pages are edited; a page asks nothing of its host."""
    config.repo_url = browser_address(config.extra["repository"])
    config.repo_name = urlsplit(config.repo_url).path.strip("/")
    config.edit_uri = edit_uri(config.repo_url) + "docs/" if edit_uri(config.repo_url) else ""


def edit_uri(repository: str) -> str:
    """Between a repository's address and the path of a file in it; empty if the host is not known."""
    return EDIT_PATHS.get(urlsplit(repository).netloc, "")


def edit_address(path: Path, root: Path, repository: str) -> str | None:
    """Where a file below ``root`` is edited."""
    between = edit_uri(repository)
    return f"{repository}/{between}{path.relative_to(root).as_posix()}" if between else None
