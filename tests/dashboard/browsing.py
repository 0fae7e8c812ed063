"""A dashboard in a thread or a process of its own, for the tests and for the pictures of the docs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager


@contextmanager
def served(*paths, **options):
    """Serve a dashboard in a thread, and give its address."""
    from boids.dashboard.serving import listen

    listening = listen(paths, port=0, **options)
    thread = threading.Thread(target=listening.serve)
    thread.start()
    try:
        yield listening
    finally:
        listening.end()
        thread.join(timeout=20)
        assert not thread.is_alive()


@contextmanager
def dashboard_process(folder, *arguments):
    """Serve the runs of a folder as a person would, and give the address."""
    command = [sys.executable, "-m", "boids", "dashboard", *map(str, arguments), "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def until(test, seconds=30.0):
    """Wait until something is true, and return it."""
    end = time.monotonic() + seconds
    while not (found := test()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found
