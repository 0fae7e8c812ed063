"""A real Dask cluster for tests: a scheduler and workers, each a process of its own on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from workers.process_checks import wait_for

from boids.process_group import end_group

TESTS = Path(__file__).parents[1]
#: Where these tests themselves look for modules; the cluster works in another folder.
PATHS = [str(Path(path).absolute()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


class DaskCluster:
    """Processes of `dask scheduler` and `dask worker`; all of them are ended at the end."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._processes = []
        self.address = ""
        self.scheduler = self.start_scheduler()

    def start_scheduler(self):
        """Start the scheduler, or start it again under its address."""
        file = Path(self._folder.name) / f"scheduler-{len(self._processes)}.json"
        port = self.address.rpartition(":")[2] or "0"
        self.scheduler = self._start("scheduler", "--port", port, "--scheduler-file", str(file))

        def address():
            with suppress(OSError, ValueError):  # not written yet, or not all of it
                return json.loads(file.read_text())["address"]

        self.address = wait_for(address)
        return self.scheduler

    def start_worker(self, *options, nanny=False):
        """Start a worker with one thread."""
        return self._start("worker", self.address, "--nthreads", "1", "--nanny" if nanny else "--no-nanny", *options)

    def kill(self, process):
        """Kill a process as no process can prevent."""
        process.send_signal(signal.SIGKILL)
        process.wait()

    def close(self):
        for process in reversed(self._processes):
            end_group(process.pid, reap=process.poll, grace=0.0)
            process.wait()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _start(self, kind, *words):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), *PATHS]),
            "DASK_TEMPORARY_DIRECTORY": self._folder.name,
            "DASK_LOGGING__DISTRIBUTED": "critical",
            "PYTHONWARNINGS": "ignore",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", "127.0.0.1", "--no-dashboard", *words],
            cwd=self._folder.name,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._processes.append(process)
        return process
