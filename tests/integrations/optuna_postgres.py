"""A PostgreSQL server of a test's own, which runs as an ordinary user and ends with the test."""

import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest


def programs():
    """The folder of the newest server's programs, None if there is none."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else list(Path("/usr/lib/postgresql").glob("*/bin"))
    folders = [folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()]
    return max(folders, key=lambda folder: [int(part) for part in re.findall(r"\d+", str(folder))], default=None)


@contextmanager
def server():
    """Start a server and give the address of its database; skip the test where that is not possible."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    # Not pytest's own folder, which an ordinary user may not enter.
    place = tempfile.mkdtemp(prefix="boids-pg-")
    ordinary = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        nobody = pwd.getpwnam("nobody")
        os.chown(place, nobody.pw_uid, nobody.pw_gid)
        ordinary = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def call(program, *arguments):
        done = subprocess.run(
            [str(folder / program), "-D", f"{place}/data", *arguments],
            cwd=place, env={**os.environ, "LC_ALL": "C", "HOME": place}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, **ordinary,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout

    port = free_port()
    try:
        call("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {port} -k {place} -c listen_addresses=127.0.0.1 -c fsync=off"
        call("pg_ctl", "-w", "-l", f"{place}/log", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://tester@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
