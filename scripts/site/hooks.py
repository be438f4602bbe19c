"""The functions that MkDocs calls: each build of the site belongs to an object of its own.

`mkdocs serve` reads this file once: a change here wants a restart.
"""

from __future__ import annotations

import gc
import html
import io
import logging
import sys
import time
import traceback
from pathlib import Path

code_read_at = time.time()  # when we last looked for changed code


def on_startup(command, dirty):
    """A build keeps nearly all that it makes until its end: to look for garbage is a tenth of its time.

    `mkdocs serve` builds again and again, so it looks for garbage, but seldom.
    """
    if command == "build":
        gc.disable()
    else:
        gc.set_threshold(100_000, 20)


def on_config(config):
    forget_changed_code()
    from scripts.site.build import Build

    config.plugins["handbook"] = Build(config)


def on_serve(server, config, builder):
    """Once a build has stopped, every address shows why, until one goes through: MkDocs would let the browser wait."""
    serve, messages, stopped = server.serve_request, io.StringIO(), False
    logging.getLogger("mkdocs").addHandler(handler := logging.StreamHandler(messages))
    handler.setLevel(logging.WARNING)

    def build():
        nonlocal stopped
        stopped = False
        messages.truncate(messages.seek(0))
        for said_once in logging.getLogger("mkdocs.commands.build").filters:  # a mistake made again is said again
            said_once.msgs.clear()
        try:
            builder()
        except (Exception, SystemExit) as error:
            stopped = True
            if not isinstance(error, SystemExit):  # of which MkDocs has said the reason
                logging.getLogger("mkdocs.handbook").error(traceback.format_exc())

    def show(environ, start_response):
        heads = []
        answer = serve(environ, lambda *head: heads.append(head))  # once a build that goes on has ended
        if not stopped or environ["PATH_INFO"].startswith("/livereload/"):
            start_response(*heads[0])
            return answer
        start_response("500 The build stopped", [("Content-Type", "text/html; charset=utf-8")])
        page = '<meta http-equiv="refresh" content="2"><h1>The build stopped</h1><pre style="white-space: pre-wrap">'
        return [(page + html.escape(messages.getvalue())).encode()]

    server.builder = build
    server.set_app(show)


def forget_changed_code() -> None:
    """`mkdocs serve` builds again in this process: once a file of scripts/ or kernels/ has changed, read all anew."""
    global code_read_at
    names = [name for name in sys.modules if name.split(".")[0] in ("scripts", "kernels")]
    files = [Path(file) for name in names if (file := getattr(sys.modules[name], "__file__", None))]
    if any(not file.exists() or file.stat().st_mtime > code_read_at for file in files):
        for name in names:
            del sys.modules[name]
    code_read_at = time.time()
