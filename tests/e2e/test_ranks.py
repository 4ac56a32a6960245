"""Programs of several ranks, run again and again: what a rank is belongs to what a capture depends on."""

import pathlib
import subprocess

from e2e import forked

JOB = pathlib.Path(__file__).with_name("ranks_job.py")
TOLERANCE = 1e-5


def run(site, folder, ranks):
    """The results of each rank; ranks start together."""
    folder.mkdir()
    jobs = [
        site.keep(subprocess.Popen(
            [forked.python(), str(JOB), str(rank), str(ranks), str(folder / "meeting")], env=site.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        for rank in range(ranks)]
    results = [site.finish(job) for job in jobs]
    wrong = [
        (rank, name, row) for rank, rows in enumerate(results) for name, row in rows.items()
        if not row["error"] <= TOLERANCE]
    assert wrong == []
    return results


def test_every_run_of_every_rank_is_right(site, tmp_path):
    for number, ranks in enumerate((2, 4, 2)):
        results = run(site, tmp_path / str(number), ranks)
        # What depends on no rank starts warm on each; what does, under its own rank or not at all.
        assert all(rows["same"]["hits"] == (number > 0) for rows in results), results
