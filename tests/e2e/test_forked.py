"""A forked process behaves as one that an interpreter was started for."""

import os
import signal
import subprocess
import sys

import pytest
from e2e import forked
from e2e.processes import is_alive, wait_for

PROGRAMS = {
    "arguments": "import os, sys; print(sys.argv, __name__, os.getcwd(), os.environ['NAME'], sys.path[:2])",
    "input": "print(input())",
    "status": "import atexit, sys; atexit.register(print, 'end'); sys.exit(3)",
    "said at its end": "raise SystemExit('said')",
    "nothing said": "raise SystemExit",
    "signal": "import os; os.abort()",
    "threads": "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()",
    "not flushed": "import os; print('kept back'); os._exit(0)",
    "its own main": "import sys; print(sys.modules['__main__'].__dict__ is globals(), '__file__' in globals())",
}


def run(python, *arguments, **options):
    done = subprocess.run(
        [python, *arguments], env={**os.environ, "NAME": "value"} | options.pop("env", {}), capture_output=True,
        text=True, timeout=300, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_would(name, tmp_path):
    expected, found = (
        run(python, "-c", PROGRAMS[name], "a", "b c", cwd=tmp_path, input="line\n")
        for python in (sys.executable, forked.python()))
    assert found == expected


def test_a_file_is_main_and_its_folder_is_searched_first(tmp_path):
    (tmp_path / "other.py").write_text("VALUE = 5\n")
    program = tmp_path / "program.py"
    program.write_text("import os, other; print(other.VALUE, __file__, __name__)\n")
    expected, found = (run(python, str(program), cwd="/") for python in (sys.executable, forked.python()))
    assert found == expected == (0, f"5 {program} __main__\n", "")
    assert run(forked.python(), str(program), env={"PYTHONSAFEPATH": "1"})[0] == 1


def test_an_error_has_its_traceback():
    status, out, said = run(forked.python(), "-c", "1 / 0")
    assert status == 1 and not out and said.endswith("ZeroDivisionError: division by zero\n")


def test_pytorch_is_there_and_nothing_of_stoker():
    program = "import sys; print('torch' in sys.modules, [n for n in sys.modules if n.startswith('stoker')])"
    assert run(forked.python(), "-c", program)[1] == "True []\n"


def test_what_inductor_sets_where_it_has_run_is_heeded():
    program = "import os, sys; print('torch' in sys.modules, os.environ['TORCHINDUCTOR_CACHE_DIR'])"
    env = {"TORCHINDUCTOR_CACHE_DIR": "/elsewhere"}
    assert run(forked.python(), "-c", program, env=env)[1] == "True /elsewhere\n"


@pytest.mark.parametrize("env", [{"PYTHONHASHSEED": "5"}, {"OMP_NUM_THREADS": "3"}, {"TORCH_LOGS": ""}])
def test_what_an_interpreter_or_pytorch_reads_at_its_start_makes_a_new_process(env):
    assert run(forked.python(), "-c", "import sys; print('torch' in sys.modules)", env=env)[1] == "False\n"


def test_files_that_are_handed_on_have_their_numbers(tmp_path):
    """Wherever the server has its own."""
    (tmp_path / "file").write_text("handed on")
    given = [os.open(tmp_path / "file", os.O_RDONLY) for _ in range(12)]
    handed, kept = given[::2], given[1::2]
    program = (
        f"import os, sys; print([os.pread(file, 9, 0).decode() for file in {handed}], 'torch' in sys.modules, "
        f"[file for file in {kept} if os.path.exists(f'/proc/self/fd/{{file}}')])")
    done = subprocess.run(
        [forked.python(), "-c", program], pass_fds=handed, capture_output=True, text=True, timeout=300)
    for file in given:
        os.close(file)
    assert done.stdout == f"{['handed on'] * len(handed)} True []\n", done.stderr


def test_more_files_than_are_handed_on_make_a_new_process(tmp_path):
    files = [os.open(tmp_path, os.O_RDONLY) for _ in range(80)]
    done = subprocess.run(
        [forked.python(), "-c", "import sys; print('torch' in sys.modules)"], pass_fds=files, capture_output=True,
        text=True, timeout=300)
    for file in files:
        os.close(file)
    assert done.stdout == "False\n", done.stderr


def test_two_servers_have_their_own_hashes():
    hashes = set()

    def other_hash():
        hashes.add(run(forked.python(), "-c", "print(hash('a'))")[1])
        return len(hashes) == forked.SERVERS

    wait_for(other_hash)


def start(program):
    process = subprocess.Popen([forked.python(), "-c", program], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


WAITS = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(300)"


def test_signals_are_sent_on():
    process, _ = start(WAITS)
    process.terminate()
    assert process.wait(60) == -signal.SIGTERM
    handled, _ = start("import signal, sys\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\n" + WAITS)
    handled.send_signal(signal.SIGUSR1)
    assert handled.wait(60) == 7


def test_it_is_killed_with_who_asked_for_it():
    process, pid = start(WAITS)
    process.kill()
    process.wait()
    wait_for(lambda: not is_alive(pid))
