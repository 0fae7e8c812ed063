"""The dashboard's server: who may look, what it answers, and that it cannot be made to write."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from importlib.resources import files
from urllib.parse import urlsplit

import pytest
from browsing import served
from shown_runs import made_run

from boids.cli import main
from boids.errors import InputError

pytest.importorskip("uvicorn", reason="the server needs the extra `dashboard`")
pytest.importorskip("starlette", reason="the server needs the extra `dashboard`")
from boids.dashboard.guard import COOKIE, Guard, checked_token
from boids.dashboard.serving import listen


def asked(url, path="/", method="GET", **headers):
    """Return status, headers and text of an answer, without following where it leads."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    made_run(folder / "s.db", count=40, constraints=1)
    (folder / "broken.db").write_bytes(b"nothing")
    with served(folder / "s.db", folder / "broken.db") as listening:
        yield listening.url


@pytest.fixture(scope="module")
def key(dashboard):
    return json.loads(asked(dashboard, "/api/runs")[2])["runs"][0]["key"]


def test_the_page_and_all_it_asks_for_are_here(dashboard):
    status, headers, page = asked(dashboard)
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    wanted = re.findall(r'(?:src|href)="([^"#:]+)"', page)
    scripts = [name for name in wanted if name.endswith(".js")]
    assert "main.js" in scripts
    for name in wanted:
        status, headers, text = asked(dashboard, f"/{name}")
        assert status == 200, name
        if name.endswith(".js") and "vendor" not in name:
            wanted += [each for each in re.findall(r'from "\./([\w.]+)"', text) if each not in wanted]
    assert {"runs.js", "table.js", "compare.js", "parameters.js"} <= set(wanted)
    # Nothing points to the network: the page works offline.
    for name in wanted:
        text = asked(dashboard, f"/{name}")[2]
        assert not re.findall(r"(?:fetch\(|import |src=|url\()[\"'`]?https?:", text), name


def test_the_plotting_library_comes_with_its_licence():
    vendor = files("boids.dashboard").joinpath("page", "vendor")
    assert "MIT License" in vendor.joinpath("uPlot.LICENSE").read_text()
    assert "uPlot" in vendor.joinpath("uPlot.iife.min.js").read_text()[:200]


@pytest.mark.parametrize("path", ["/nothing", "/../server.py", "/%2e%2e/server.py", "/vendor/../../guard.py"])
def test_nothing_else_is_served(dashboard, path):
    assert asked(dashboard, path)[0] == 404


def test_what_is_known_of_runs_and_trials(dashboard, key):
    listed = json.loads(asked(dashboard, "/api/runs")[2])
    assert listed["runs"][0]["id"] == "made"
    assert "broken.db" in listed["remarks"][0]
    trial = json.loads(asked(dashboard, f"/api/runs/{key}/trials/16")[2])
    assert trial["error"] == "the mesh could not be made"
    assert len(trial["values"]) == 10
    assert json.loads(asked(dashboard, f"/api/runs/{key}/importance")[2])["names"]
    drawn = json.loads(asked(dashboard, f"/api/runs/{key}/coordinates?name=x%5B0%5D&name=x%5B4%5D")[2])
    assert [axis["name"] for axis in drawn["axes"]] == ["x[0]", "x[4]"]


@pytest.mark.parametrize("path", ["/api/runs/none/importance", "/api/runs/none/trials/0", "/api/runs/KEY/trials/99"])
def test_what_there_is_not_is_404(dashboard, key, path):
    status, _, text = asked(dashboard, path.replace("KEY", key))
    assert status == 404
    assert "There is no such" in json.loads(text)["error"]


def test_events_begin_with_everything(dashboard, key):
    with urllib.request.urlopen(f"{dashboard}api/events?run={key}&run=unknown", timeout=20) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        text = b""
        while text.count(b"event: facts") < 2:
            text += stream.readline()
        text += stream.readline()
    events = re.findall(r"event: (\w+)\ndata: (.*)\n", text.decode())
    assert [name for name, _ in events] == ["runs", "trials", "facts", "facts"]
    assert len(json.loads(events[1][1])["columns"]["number"]) == 40
    assert "no such run" in json.loads(events[3][1])["trouble"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_can_only_be_read(dashboard, method):
    assert asked(dashboard, "/api/runs", method=method)[0] == 405


# ------------------------------------------------------------------------------------------------- who may look


@pytest.mark.parametrize(
    ("host", "header", "fine"),
    [
        ("127.0.0.1", "127.0.0.1:8765", True),
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "LOCALHOST:80", True),
        ("127.0.0.1", "[::1]:8765", True),
        ("127.0.0.1", "evil.example:8765", False),
        ("127.0.0.1", "127.0.0.1.evil.example", False),
        ("127.0.0.1", "192.168.1.5", False),
        ("127.0.0.1", "", False),
        ("0.0.0.0", "192.168.1.5:8765", True),
        ("0.0.0.0", "evil.example", False),
        ("my.machine", "my.machine:1", True),
    ],
)
def test_only_our_own_names_are_answered(host, header, fine):
    assert Guard(None, host, None).knows(header) is fine


def test_a_page_of_somebody_elses_gets_no_answer(dashboard):
    status, _, text = asked(dashboard, "/api/runs", Host="evil.example")
    assert status == 421
    assert "made" not in text


def test_a_token_is_asked_for_and_kept_in_a_cookie(tmp_path):
    made_run(tmp_path / "s.db", count=3)
    with served(tmp_path, token="correct-horse") as listening:
        assert listening.url.endswith("/?token=correct-horse")
        for headers in (
            {},
            {"Cookie": f"{COOKIE}=correct-horsf"},
            {"Authorization": "Bearer wrong"},
            {"Cookie": "=;;\x01"},
        ):
            status, answer, text = asked(listening.url, "/api/runs", **headers)
            assert status == 403
            assert "set-cookie" not in answer
            assert "boids dashboard" in text
        assert asked(listening.url, "/?token=correct-hors")[0] == 403
        status, answer, _ = asked(listening.url, "/?token=correct-horse")
        assert (status, answer["location"]) == (303, "/")
        cookie = answer["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert asked(listening.url, "/api/runs", Cookie=cookie.partition(";")[0])[0] == 200
        assert asked(listening.url, "/api/runs", Authorization="Bearer correct-horse")[0] == 200
        assert asked(listening.url, "/api/runs", Cookie=cookie.partition(";")[0], Host="evil.example")[0] == 421


def test_other_addresses_always_have_a_token(tmp_path):
    listening = listen([tmp_path], host="0.0.0.0", port=0)
    listening._listener.close()
    assert len(listening.token) >= 24
    assert listening.token in listening.url


@pytest.mark.parametrize("token", ["", "short", "with spaces in it", "a;b=c;d=e"])
def test_poor_tokens_are_refused(token):
    with pytest.raises(InputError, match="--token must have at least 8"):
        checked_token(token)


# ------------------------------------------------------------------------------------------------- the command


def test_wrong_input_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["dashboard", "nowhere"]) == 2
    assert "There is no file or folder 'nowhere'" in capsys.readouterr().err
    assert main(["dashboard", "--token", "x"]) == 2
    assert main(["dashboard", "--host", "300.1.1.1", "--port", "0"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "choose others with --host and --port" in said[1]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_the_command_serves_the_current_folder_until_it_is_interrupted(tmp_path):
    command = [sys.executable, "-m", "boids", "dashboard", "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said = json.loads(process.stdout.readline())
        assert said["token"] is None
        assert json.loads(asked(said["url"], "/api/runs")[2]) == {"runs": [], "remarks": []}
        made_run(tmp_path / "boids-runs.db", count=3)  # where `boids run` keeps runs
        made_run(tmp_path / "elsewhere.db", "other", count=3)
        for _ in range(100):
            found = json.loads(asked(said["url"], "/api/runs")[2])["runs"]
            if found:
                break
            threading.Event().wait(0.1)
        assert [run["id"] for run in found] == ["made"]
        # A browser that looks on does not keep it from ending.
        stream = urllib.request.urlopen(f"{said['url']}api/events", timeout=20)
        stream.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        stream.close()
        assert process.returncode == 0
        assert errors == ""
    finally:
        process.kill()
        process.communicate()
