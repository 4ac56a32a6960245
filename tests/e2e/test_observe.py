"""What somebody on call looks at: whose turn it is in the queue, why a request missed, where a compile's time went."""

import re

import pytest
from e2e.processes import Daemon, HeldWorkers, start, wait_for


@pytest.fixture
def daemon(tmp_path):
    made = []

    def make(*arguments):
        made.append(Daemon(tmp_path, *arguments))
        return made[-1]

    yield make
    for each in made:
        each.process.kill()
        each.process.wait()


def compiled_by(daemon):
    """The namespaces of what was compiled, in order."""
    return re.findall(r"compiled .*namespace=(\S+)", daemon.log.read_text())


def test_a_tenant_with_a_long_queue_does_not_delay_another(daemon, site):
    busy = daemon()
    workers = HeldWorkers(busy.process.pid)

    def ask(tenant, width):
        waiting = busy.status()["queue"]
        before = waiting["running"] + waiting["waiting"]
        job = start(site, (32, width, 8, 4), STOKER_URL=busy.url, STOKER_NAMESPACE=tenant)
        wait_for(lambda: sum(busy.status()["queue"][key] for key in ("running", "waiting")) > before)
        return job

    jobs = [ask("flood", 16 * count) for count in range(1, 5)]
    jobs.append(ask("other", 80))
    workers.release()
    assert [site.finish(job)["source"] for job in jobs] == ["compiled"] * 5
    # One ran already; then the other's turn comes, whoever came before.
    assert compiled_by(busy) == ["flood", "other", "flood", "flood", "flood"]


def test_a_full_queue_is_closed_to_who_filled_it_alone(daemon, site):
    busy = daemon("--queue-limit", "2")
    workers = HeldWorkers(busy.process.pid)
    jobs = [start(site, (32, 16 * count, 8, 4), STOKER_URL=busy.url, STOKER_NAMESPACE="flood")
            for count in range(1, 4)]
    wait_for(lambda: busy.status()["queue"]["waiting"] == 1)
    wait_for(lambda: 'stoker_http_requests_total{route="/v1/compile",code="503"}'
             in busy.call("GET", "/metrics")[1].decode())
    jobs.append(start(site, (32, 80, 8, 4), STOKER_URL=busy.url, STOKER_NAMESPACE="other"))
    wait_for(lambda: busy.status()["queue"]["waiting"] == 2)
    workers.release()
    assert [site.finish(job)["source"] for job in jobs] == ["compiled"] * 4  # Who was refused came again.
    assert compiled_by(busy).index("other") == 1
