"""What Python's own functions compute by, besides their arguments, is a premise: settings of the process, codecs, factories in C."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked
from e2e.hits import start

JOB = pathlib.Path(__file__).parent / "interpreter_job.py"
RENAMED = {"of_another_codecs_name", "of_another_handlers_name", "of_bytes_elsewhere", "of_bytes_made_elsewhere"}
WARM = RENAMED | {
    "of_a_list", "of_digits", "of_small_numbers", "of_rounding", "of_a_codec", "of_what_handles_errors"}


@pytest.fixture(scope="module")
def recorded(make_site):
    site = make_site()
    assert start(site, JOB) == set()
    return site


def test_what_is_as_it_was_starts_warm_but_for_factories_that_tell_of_the_process(recorded):
    assert start(recorded, JOB) == WARM


@pytest.mark.parametrize("statement", [
    "sys.set_int_max_str_digits(5000)", "torch.set_flush_denormal(True)", "set_rounding_up()"])
def test_a_setting_counts_for_all_frames(recorded, statement):
    assert start(recorded, JOB, statement) == set()


def test_a_codec_of_the_program_counts_where_code_encodes(recorded):
    changed = start(recorded, JOB, "register('stokertest', 7)")
    assert changed == WARM - {"of_a_codec"}
    renamed = start(recorded, JOB, "ALIASES['stokeralias'] = 'utf-16'; codecs.register_error('stokerhandler', codecs.ignore_errors)")
    assert renamed == WARM - RENAMED
    handled = start(recorded, JOB, "codecs.register_error('backslashreplace', lambda error: ('?' * 9, error.end))")
    assert handled == WARM - {"of_what_handles_errors"}


def test_what_is_called_while_a_first_call_imports_gives_its_results(make_site):
    site = make_site()
    for hits in (False, True):
        done = subprocess.run(
            [forked.python(), str(JOB.with_name("nested_calls_job.py"))], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["inner"] and said["outer"] and said["calls"] > 5
        assert bool(said["hits"]) is hits
