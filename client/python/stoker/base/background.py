"""Threads of Stoker's own: what goes wrong in one is one line of a warning, and no traceback in the job's output."""

import threading

from .log import warn_of_bug


def start(name, consequence, function, *arguments):
    """A thread that calls function(*arguments). `consequence`: of its not coming to an end, as warn_of_bug says it."""
    def run():
        try:
            function(*arguments)
        except Exception as error:
            warn_of_bug(consequence, error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
