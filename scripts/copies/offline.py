"""The site as one archive that opens from a disk, with search, figures and pieces.

A browser that reads from a disk opens no folder as a page, no module and no worker.  So links name the file, the
modules are put into one plain script, and ``offline.js`` stands in for the worker of the search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

HERE = Path(__file__).parent
FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # so that the same contents make the same archive
EXCLUDED = {"sitemap.xml", "sitemap.xml.gz", "objects.inv", "downloads"}
LINK = re.compile(r'(?<=href=")(?![a-z]+:|//)([^"#?]*)(?=[#?"])')
IMPORT_MAP = re.compile(r'<script type="importmap">.*?"([^"]*)vendor/lit-html\.js".*?</script>', re.DOTALL)
PRELOAD = re.compile(r'<link rel="preload"[^>]*>')  # a browser gives no font from a disk to whoever asks so early
SCRIPTS = '<script src="{0}live/offline.js"></script><script defer src="{0}live/bundle.js"></script>'
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:(default) |((?:const|let|function\*?|class) (\w+)))", re.MULTILINE)
LIT_EXPORTS = re.compile(r"export\{([^}]*)\};")  # of lit-html, at its end
DYNAMIC_IMPORT = re.compile(r"\bimport\(")


def write(site: Path, archive: Path, name: str = "attention-handbook") -> None:
    """Write ``archive``, which unpacks to the folder NAME: its index.html is the first page."""
    with ZipFile(archive, "w") as zip_file:
        for path, content in sorted(contents(site)):
            entry = ZipInfo(f"{name}/{path}", FIXED_DATE)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            zip_file.writestr(entry, content)


def contents(site: Path) -> Iterator[tuple[str, bytes]]:
    """Each file of the copy: where it lies and what is in it."""
    for path in site.rglob("*"):
        relative_path = path.relative_to(site)
        if path.is_dir() or relative_path.parts[0] in EXCLUDED:
            continue
        content = path.read_bytes()
        if path.suffix == ".html":
            content = offline_page(content.decode()).encode()
        elif relative_path.as_posix() == "javascripts/handbook.js":
            content = DYNAMIC_IMPORT.sub("importModule(", content.decode()).encode()
        elif relative_path.as_posix() == "search/search_index.json":
            yield "search/search_index.js", index_script(content.decode()).encode()
        yield relative_path.as_posix(), content
    yield "live/offline.js", (HERE / "offline.js").read_bytes()
    yield "live/bundle.js", module_bundle(site).encode()


def offline_page(html: str) -> str:
    """A page whose links name files, and whose scripts are plain ones."""
    html = PRELOAD.sub("", LINK.sub(lambda link: file_address(link[1]), html))
    return IMPORT_MAP.sub(lambda match: SCRIPTS.format(match[1]), html)


def file_address(address: str) -> str:
    """``../chapters/primer/`` is a folder, of which the file is wanted; nothing is the page itself."""
    last = address.rpartition("/")[2]
    if address and last in ("", ".", ".."):
        return f"{address.rstrip('/') or '.'}/index.html"
    return address


def index_script(text: str) -> str:
    """The search's index as a script."""
    search_index = json.loads(text)
    for entry in search_index["docs"]:
        page, hash_sign, anchor = entry["location"].partition("#")
        entry["location"] = file_address(page or "./") + hash_sign + anchor
    return f"var __index = {json.dumps(search_index, ensure_ascii=False, separators=(',', ':'))}"


def module_bundle(site: Path) -> str:
    """The modules of the pieces, each in a function that runs when it is first asked for."""
    files = {path.name: path for path in [*sorted((site / "live").glob("*.js")), site / "javascripts" / "find.js"]}
    files["lit-html"] = site / "vendor" / "lit-html.js"
    return "\n".join(module_function(name, path.read_text(encoding="utf-8")) for name, path in files.items())


def module_function(name: str, text: str) -> str:
    exports = ["default: $default" if default else symbol for default, _, symbol in EXPORT.findall(text)]
    for names in LIT_EXPORTS.findall(text):
        exports += [": ".join(reversed(each.split(" as "))) for each in names.split(",")]
    text = LIT_EXPORTS.sub("", re.sub(r"^//# sourceMappingURL.*$", "", text, flags=re.MULTILINE))
    text = IMPORT.sub(import_as_require, text)
    text = EXPORT.sub(lambda line: "const $default = " if line[1] else line[2], text)
    text = DYNAMIC_IMPORT.sub("importModule(", text)
    return f"modules[{json.dumps(name)}] = () => {{ {text}\nreturn {{ {', '.join(exports)} }}; }};"


def import_as_require(line: re.Match) -> str:
    return f"const {{ {line[1].replace(' as ', ': ')} }} = requireModule({json.dumps(line[2].removeprefix('./'))});"
