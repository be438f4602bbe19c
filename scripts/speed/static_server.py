"""A web server for a built site, as a static host serves it: below a path, texts compressed."""

import gzip
import mimetypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

TEXTS = {".html", ".css", ".js", ".json", ".svg", ".xml", ".txt", ".map", ".py", ".ipynb"}
TYPES = mimetypes.MimeTypes()
TYPES.add_type("font/woff2", ".woff2")
TYPES.add_type("text/plain", ".py")
TYPES.add_type("application/x-ipynb+json", ".ipynb")


@contextmanager
def serve(folder: Path, prefix: str = "/handbook/") -> Iterator[str]:
    """The address of the folder's index page, served on a free port until the block ends.

    A file is read when it is asked for, so the folder may be filled, or change, while it is served.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            file = find(folder, prefix, path)
            if file is not None and file.is_dir():
                self.send_response(301)
                self.send_header("Location", f"{path}/")
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif file is not None:
                self.answer(200, file)
            elif (folder / "404.html").is_file():
                self.answer(404, folder / "404.html")
            else:
                self.send_error(404)

        do_HEAD = do_GET

        def answer(self, status: int, file: Path) -> None:
            compress = file.suffix in TEXTS and "gzip" in self.headers.get("Accept-Encoding", "")
            body = compressed_bytes(file, file.stat().st_mtime_ns) if compress else file.read_bytes()
            kind = TYPES.guess_type(file.name)[0] or "application/octet-stream"
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8" if file.suffix in TEXTS else kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "max-age=600")
            self.send_header("Vary", "Accept-Encoding")
            if compress:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Says nothing: a test's output is its own."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        server.server_close()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a browser that leaves a page drops what it was loading
            super().handle_error(*arguments)


def find(folder: Path, prefix: str, path: str) -> Path | None:
    """The file for a path; a folder where the path lacks its closing slash; None where there is neither."""
    if f"{path}/" == prefix:
        return folder
    if not path.startswith(prefix):
        return None
    file = (folder / path.removeprefix(prefix)).resolve()
    if not file.is_relative_to(folder.resolve()):
        return None
    if path.endswith("/"):
        file /= "index.html"
        return file if file.is_file() else None
    return file if file.exists() else None


@lru_cache(maxsize=256)
def compressed_bytes(file: Path, modified: int) -> bytes:
    """The file's bytes, compressed; anew when it was modified."""
    return gzip.compress(file.read_bytes(), compresslevel=6)
