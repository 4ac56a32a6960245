"""The dashboard in a browser: what it shows is what the daemon counted, on a phone and in the dark, too."""

import re
import shutil
import struct
import subprocess

import pytest
from e2e.processes import Daemon, run

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
SMALL = (32, 48, 8, 4)
PHONE, DESK = (390, 844), (1280, 900)

pytestmark = pytest.mark.skipif(not BROWSER, reason="chromium-headless-shell is missing")


@pytest.fixture
def daemon(daemon):
    return daemon()


def browse(tmp_path, url, size, *arguments):
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/browser",
         f"--window-size={size[0]},{size[1]}", "--virtual-time-budget=8000", *arguments, url],
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def text_of(page, name):
    [text] = re.findall(rf'id="{name}"[^>]*>([^<]*)<', page)
    return text


def test_the_page_shows_what_was_counted(daemon, site, tmp_path):
    for _ in range(2):
        run(site, SMALL, STOKER_URL=daemon.url)
    page = browse(tmp_path, daemon.url, DESK, "--dump-dom")
    assert re.search(r'data-refreshes="\d+"', page)
    assert re.search(r'id="trouble"[^>]*hidden', page)
    assert text_of(page, "compiles") == "1"
    assert text_of(page, "hit-rate") == "50.0 %"
    assert text_of(page, "queue") == "0, 0"
    [slowest] = re.findall(r'id="slowest".*?</table>', page, re.DOTALL)
    [link] = re.findall(r'href="#(default/[0-9a-f]{64})"', slowest)
    page = browse(tmp_path, f"{daemon.url}/#{link}", DESK, "--dump-dom", "--timeout=60000")
    assert re.findall(r"<h3>(\w+)</h3>", page) == ["groups", "plan", "graph"]


@pytest.mark.parametrize("size", [PHONE, DESK])
@pytest.mark.parametrize("scheme, dark", [("light", False), ("dark", True)])
def test_it_fits_a_phone_and_a_desk_in_light_and_dark(daemon, tmp_path, size, scheme, dark):
    picture = tmp_path / "picture.png"
    browse(tmp_path, daemon.url, size, f"--screenshot={picture}", "--hide-scrollbars",
           f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    assert (width, height) == size
    numpy = pytest.importorskip("numpy")
    pillow = pytest.importorskip("PIL.Image")
    pixels = numpy.asarray(pillow.open(picture).convert("L"))
    # The paper's color is the one that most of the page has.
    assert (numpy.median(pixels) < 96) == dark
    # Nothing goes beyond the right edge: it is paper there, from top to bottom.
    assert numpy.ptp(pixels[:, -4:].astype(int)) < 8
