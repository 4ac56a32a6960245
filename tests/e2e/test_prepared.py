"""Packed weights on the host: what one process packed, the next one finds."""

import pytest

# 31 MB of packed weights: enough to be kept.
WIDTH = 262144


@pytest.fixture
def start(site):
    """Runs the job with weights of a seed; tells where its packed weights came from."""

    def run(seed=0):
        result = site.run("mlp", seed, WIDTH)
        assert result["error"] <= 1e-5
        assert result["repeats"]
        assert result["warnings"] == []
        return result["last"]["prepared_from"]

    return run


def files(site):
    return sorted((site.cache / "prepared").glob("*"))


def test_next_process_finds_what_the_first_one_packed(site, start):
    assert start() == "parameters"
    [kept] = files(site)
    assert kept.suffix == ".prepared"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert start() == "file"
    assert files(site) == [kept]
    size = f"{kept.stat().st_size / 2**20:.1f} MiB"
    assert f"{kept.parent}, {size} of at most 4.0 GiB" in site.tool("doctor")
    assert site.stats()["prepared"] == {"found": 1, "made": 1}
    assert "weights       1 found packed, 1 packed\n" in site.tool("stats")


def test_other_weights_are_packed(site, start):
    assert start(seed=0) == "parameters"
    assert start(seed=1) == "parameters"
    assert len(files(site)) == 2
    assert start(seed=0) == "file"
    assert start(seed=1) == "file"


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty"])
def test_damaged_file_is_made_again(site, start, damage):
    assert start() == "parameters"
    [kept] = files(site)
    content = bytearray(kept.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 1
    kept.write_bytes({"flipped": content, "truncated": content[:-1], "empty": b""}[damage])
    assert start() == "parameters"
    assert files(site) == [kept]
    assert start() == "file"


def test_other_start_of_the_daemon_changes_nothing(site, start):
    assert start() == "parameters"
    site.stop()
    assert start() == "file"


def test_limit_of_nothing_keeps_nothing(site, start):
    site.env["STOKER_PREPARED_MIB"] = "0"
    assert start() == "parameters"
    assert start() == "parameters"
    assert files(site) == []
    assert site.stats()["prepared"] == {"found": 0, "made": 0}
    assert "none are kept" in site.tool("doctor")
