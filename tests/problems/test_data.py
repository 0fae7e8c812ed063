"""Files that the package does not ship: where they are found, and what a download leaves behind when it fails."""

import hashlib
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from boids.errors import ProblemError
from boids.problems import data

CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = "thing.bin"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A data folder and an empty cache of the test's own."""
    given, cache = tmp_path / "data", tmp_path / "caches" / "boids"
    given.mkdir()
    monkeypatch.setenv("BOIDS_DATA", str(given))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))
    return given, cache


def put(folder: Path, content: bytes = CONTENT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_bytes(content)
    return path


# Finding


def test_the_data_folder_comes_before_the_cache(places: tuple[Path, Path]) -> None:
    given, cache = places
    assert data.find(FILE) is None
    in_cache = put(cache)
    assert data.find(FILE) == in_cache
    in_data = put(given)
    assert data.find(FILE) == in_data


def test_without_a_data_folder_the_cache_is_used(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    put(places[0])
    in_cache = put(places[1])
    for value in ("", None):
        if value is None:
            monkeypatch.delenv("BOIDS_DATA")
        else:
            monkeypatch.setenv("BOIDS_DATA", value)
        assert data.find(FILE) == in_cache
        assert "it is not set" in data.places()


def test_a_data_folder_may_be_relative_or_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for value in ("mine", "~/mine"):
        monkeypatch.setenv("BOIDS_DATA", value)
        assert data.find(FILE) == path


def test_a_data_folder_that_does_not_exist_is_named_in_messages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BOIDS_DATA", str(tmp_path / "typo"))
    assert data.find(FILE) is None
    assert "typo, which is no folder" in data.places()


def test_a_checksum_is_checked_and_a_sound_copy_elsewhere_will_do(places: tuple[Path, Path]) -> None:
    given, cache = places
    broken = put(given, b"something else")
    assert data.find(FILE) == broken
    with pytest.raises(ProblemError, match=f"must have the SHA-256 {SHA256}, but has "):
        data.find(FILE, SHA256)
    sound = put(cache)
    assert data.find(FILE, SHA256) == sound
    put(given)  # the checksum of the replaced file is computed anew
    assert data.find(FILE, SHA256) == given / FILE


def test_a_folder_is_no_file(places: tuple[Path, Path]) -> None:
    (places[0] / FILE).mkdir()
    assert data.find(FILE) is None


@pytest.mark.parametrize(
    ("system", "variables", "expected"),
    [
        ("linux", {}, "~/.cache/boids"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "~/.cache/boids"),  # invalid, says the XDG specification
        ("darwin", {}, "~/Library/Caches/boids"),
        ("win32", {}, "~/AppData/Local/boids"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/boids"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/boids"),
    ],
)
def test_the_cache_follows_the_platform(
    system: str, variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(Path, "home", classmethod(lambda cls: tmp_path))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert data.cache_folder().as_posix() == expected.replace("~", tmp_path.as_posix())


def test_a_user_without_a_home_can_still_use_the_data_folder(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home(cls: type[Path]) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", classmethod(no_home))
    monkeypatch.delenv("XDG_CACHE_HOME")
    path = put(places[0])
    assert data.find(FILE) == path
    assert "this user has none" in data.places()
    with pytest.raises(ProblemError, match="set XDG_CACHE_HOME"):
        data.cache_folder()


# Downloading


class Server(BaseHTTPRequestHandler):
    """Sends CONTENT from /good, and what may go wrong from elsewhere."""

    requests: list[str]

    def do_GET(self) -> None:
        self.requests.append(self.path)
        if self.path == "/missing":
            self.send_error(404)
            return
        body = {"/wrong": b"<html>moved</html>", "/endless": CONTENT * 3}.get(self.path, CONTENT)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:5000] if self.path == "/cut" else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(Server, "requests", [], raising=False)
    running = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    thread.join()
    running.server_close()


def offer(monkeypatch: pytest.MonkeyPatch, *addresses: str, system: tuple[str, str] | None = None) -> None:
    monkeypatch.setattr(data, "DOWNLOADS", {"thing": (data.Download(FILE, SHA256, addresses, system),)})


def test_a_download_goes_into_the_cache_once(
    server: str, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, f"{server}/good")
    steps: list[tuple[int, int | None]] = []
    path = data.fetch("thing", progress=lambda *step: steps.append(step))
    assert path == places[1] / FILE
    assert path.read_bytes() == CONTENT
    assert os.listdir(places[1]) == [FILE]
    assert steps[-1] == (len(CONTENT), len(CONTENT))
    assert steps == sorted(steps)
    assert data.fetch("thing") == data.find(FILE, SHA256) == path
    assert Server.requests == ["/good"]


def test_a_file_in_the_data_folder_is_not_downloaded_again(
    server: str, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, f"{server}/good")
    path = put(places[0])
    assert data.fetch("thing") == path
    assert Server.requests == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission to execute")
def test_programs_may_be_executed_and_data_may_not(
    server: str, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, f"{server}/good", system=data.this_system())
    assert stat.S_IMODE(data.fetch("thing").stat().st_mode) == 0o755
    (places[1] / FILE).unlink()
    offer(monkeypatch, f"{server}/good")
    assert stat.S_IMODE(data.fetch("thing").stat().st_mode) == 0o644


def test_the_next_address_is_tried(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "http://127.0.0.1:1/none", *(f"{server}/{way}" for way in ("missing", "wrong", "cut", "good")))
    assert data.fetch("thing").read_bytes() == CONTENT
    assert Server.requests == ["/missing", "/wrong", "/cut", "/good"]


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("missing", "404"),
        ("wrong", "sent 18 bytes with the SHA-256"),
        ("cut", "5000 bytes"),
        ("endless", "with the SHA-256"),
    ],
)
def test_a_failed_download_says_why_and_leaves_nothing(
    way: str, words: str, server: str, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "MAXIMUM_BYTES", len(CONTENT))
    offer(monkeypatch, f"{server}/{way}")
    with pytest.raises(ProblemError, match=words) as raised:
        data.fetch("thing")
    assert f"{server}/{way}" in str(raised.value)
    assert str(places[1]) in str(raised.value)
    assert os.listdir(places[1]) == []


def test_what_is_far_too_long_is_not_read_to_its_end(
    server: str, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "MAXIMUM_BYTES", len(CONTENT))
    monkeypatch.setattr(data, "BLOCK", 100)
    offer(monkeypatch, f"{server}/endless")
    received: list[int] = []
    with pytest.raises(ProblemError, match="with the SHA-256"):
        data.fetch("thing", progress=lambda so_far, _: received.append(so_far))
    assert len(CONTENT) < received[-1] <= len(CONTENT) + 100


def test_without_a_connection_the_remedy_is_named(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    offer(monkeypatch, "http://127.0.0.1:1/none")  # nobody listens there
    with pytest.raises(ProblemError, match="download it elsewhere and put it into"):
        data.fetch("thing")
    assert os.listdir(places[1]) == []


def test_a_broken_file_in_the_cache_is_replaced_only_by_a_sound_one(
    server: str, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(places[1], b"cut off")
    offer(monkeypatch, f"{server}/wrong")
    with pytest.raises(ProblemError):
        data.fetch("thing")
    assert path.read_bytes() == b"cut off"
    offer(monkeypatch, f"{server}/good")
    assert data.fetch("thing").read_bytes() == CONTENT


def test_an_interrupted_download_leaves_nothing(
    server: str, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(received: int, expected: int | None) -> None:
        raise KeyboardInterrupt

    offer(monkeypatch, f"{server}/good")
    with pytest.raises(KeyboardInterrupt):
        data.fetch("thing", progress=interrupt)
    assert os.listdir(places[1]) == []


def test_a_cache_that_cannot_be_written_is_named(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    places[1].parent.write_text("a file where the folder should be")
    offer(monkeypatch, "http://127.0.0.1:1/none")
    with pytest.raises(ProblemError, match="set XDG_CACHE_HOME to another folder"):
        data.fetch("thing")


def test_what_cannot_be_fetched_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProblemError, match="what can be fetched is mopta"):
        data.fetch("motpa")
    monkeypatch.setattr(data, "this_system", lambda: ("plan9", "mips"))
    assert data.download_for("mopta") is None
    with pytest.raises(ProblemError, match="none of them runs on this system, plan9 mips"):
        data.fetch("mopta")


@pytest.mark.parametrize(
    ("system", "machine", "file"),
    [
        ("linux", "x86_64", "mopta08_elf64.bin"),
        ("win32", "AMD64", "mopta08_amd64.exe"),
        ("darwin", "arm64", "mopta08_macos_arm64.bin"),
        ("linux", "aarch64", None),
        ("darwin", "x86_64", None),
    ],
)
def test_each_system_gets_its_own_program(
    system: str, machine: str, file: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    download = data.download_for("mopta")
    assert (None if download is None else download.file) == file


def test_programs_have_the_published_checksums() -> None:
    assert {download.file: download.sha256 for download in data.DOWNLOADS["mopta"]} == {
        "mopta08_elf64.bin": "2ad78a256980134c2a84debd4ff15a53534c812f48175577f9155cdd22d6ffb5",
        "mopta08_amd64.exe": "dffab0f371747c55cb386c580e4980ce822db9d113d711359c7fb0856da39ecd",
        "mopta08_macos_arm64.bin": "7499786d2514af2256fa18489e657e7cae84d1909dc0710e6ae240f31a50efac",
    }


def test_the_table_of_downloads_is_sound() -> None:
    for downloads in data.DOWNLOADS.values():
        for download in downloads:
            assert len(download.sha256) == 64
            assert int(download.sha256, 16) >= 0
            assert all(address.startswith(("https://", "http://")) for address in download.addresses)
            assert all(address.endswith(f"/{download.file}") for address in download.addresses)


def test_finding_does_not_import_the_network() -> None:
    code = "import sys, boids.problems.data as data; data.find('x'); print('urllib.request' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
