"""A web server for a built site, as a static host serves it: below a path, texts compressed."""

import gzip
import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TEXTS = {".html", ".css", ".js", ".json", ".svg", ".xml", ".txt", ".map", ".py", ".ipynb"}


@contextmanager
def serve(folder: Path, prefix: str = "/handbook/") -> Iterator[str]:
    """The address of the folder's index page, served on a free port until the block ends.

    A file is read when it is asked for, so the folder may be filled, or change, while it is served.
    """

    class Handler(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def translate_path(self, path: str) -> str:
            return super().translate_path(path.removeprefix(prefix))

        def send_head(self):
            if not self.path.startswith(prefix):
                return self.send_error(404)
            file = Path(self.translate_path(self.path))
            if file.is_dir() and self.path.partition("?")[0].endswith("/"):
                file /= "index.html"
            if not (file.is_file() and file.suffix in TEXTS):
                return super().send_head()
            body = compressed_bytes(file, file.stat().st_mtime_ns)
            self.send_response(200)
            self.send_header("Content-Type", f"{self.guess_type(file)}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            return io.BytesIO(body)

        def end_headers(self) -> None:
            self.send_header("Cache-Control", "max-age=600")
            super().end_headers()

        def log_message(self, *arguments: object) -> None:
            """Says nothing: a test's output is its own."""

    server = Server(("127.0.0.1", 0), partial(Handler, directory=folder))
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


@lru_cache(maxsize=256)
def compressed_bytes(file: Path, modified: int) -> bytes:
    """The file's bytes, compressed; anew when it was modified."""
    return gzip.compress(file.read_bytes(), compresslevel=6)
