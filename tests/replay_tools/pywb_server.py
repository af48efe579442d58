"""Runs pywb: `python pywb_server.py WARC WACZ CDXJ ARCHIVE` in an empty folder, with pywb in PYTHONPATH.

It prints its port. The collections `warc` and `wacz` are added as a person would add them; `folder` is the archive of
a crawl with the exported index.
"""

import sys
from pathlib import Path

import pywb.apps.cli  # noqa: F401  # it prepares gevent, before all else of pywb
import yaml
from pywb.apps.frontendapp import FrontEndApp
from pywb.manager.manager import main as manage
from pywb.utils.geventserver import GeventServer, RequestURIWSGIHandler

warc, wacz, cdxj, archive = sys.argv[1:]
for name, arguments in (("warc", [warc]), ("wacz", ["--unpack-wacz", wacz])):
    manage(["init", name])
    manage(["add", name, *arguments])
collections = {"folder": {"index_paths": cdxj, "archive_paths": archive + "/"}}
Path("config.yaml").write_text(yaml.safe_dump({"collections": collections, "framed_replay": False}))
server = GeventServer(FrontEndApp(config_file="config.yaml"), hostname="127.0.0.1", handler_class=RequestURIWSGIHandler)
print(server.port, flush=True)
server.join()
