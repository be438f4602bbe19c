"""Writes the API: a page for each folder of kernels/, ``docs/api/FOLDER.md``, and one for the modules at its top.

A link to a symbol is ``api.md#kernels.flash.attention.flash_attention``, so nobody has to know which page has it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from scripts.site.fences.symbols import api_page, docstring_line

LINK = re.compile(r"(\]\((?:\.\./)*api)\.md(?=#(kernels\.[\w.]+)\))")
MARK = "<!-- the modules of this folder -->"


def modules(page: str, root: Path) -> list[str]:
    """The modules of a folder, by the name of its page; ``kernels`` is the page of those at the top."""
    kernels = root / "kernels"
    files = kernels.glob("*.py") if page == "kernels" else (kernels / page).rglob("*.py")
    paths = sorted(file.relative_to(root).with_suffix("") for file in files if file.name != "__init__.py")
    return [".".join(path.parts) for path in paths]


def list_modules(markdown: str, page: str, root: Path) -> str:
    """The page's Markdown, in which the modules of its folder replace the mark."""
    if MARK not in markdown:
        return markdown
    sections = [
        f"::: {module}\n    options: {{toc_label: {module.split('.', 1)[1]}}}" for module in modules(page, root)
    ]
    return markdown.replace(MARK, "\n\n".join(sections))


def redirect_links(markdown: str, root: Path) -> str:
    """The page's Markdown, in which each link to a symbol of ``api.md`` leads to the page of its folder."""
    return LINK.sub(lambda link: f"{link[1]}/{api_page(link[2], root)}.md", markdown)


def module_sections(pages: Iterable[Path], root: Path) -> str:
    """A section a page, below its title: a line a module, what it is for."""
    sections = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        title = re.search(r"^# API: (.+)$", text, re.MULTILINE)[1]
        module_lines = [module_line(module, page, root) for module in modules(page.stem, root)]
        sections.append(f"## {title[0].upper()}{title[1:]}\n\n" + "\n".join(module_lines))
    return "\n\n".join(sections)


def public_names(root: Path) -> str:
    """Each name that `kernels` itself gives, with a link to where it is."""
    module = ast.parse((root / "kernels" / "__init__.py").read_text(encoding="utf-8"))
    (module_of,) = (
        each.value for each in module.body if isinstance(each, ast.Assign) and each.targets[0].id == "MODULE_OF"
    )
    modules = {name: f"kernels.{path}" for name, path in ast.literal_eval(module_of).items()}
    return "\n".join(f"- `{name}`: [`{path}.{name}`](../api.md#{path}.{name})" for name, path in modules.items())


def module_line(module: str, page: Path, root: Path) -> str:
    """The anchor has the module's name: it stood here when the API was one page."""
    purpose = docstring_line(f"{module.replace('.', '/')}.py", root)
    return f"- [`{module.removeprefix('kernels.')}`](api/{page.name}#{module}){{ #{module} }}: {purpose}"
