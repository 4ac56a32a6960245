import check_signals

PATH = "client/python/stoker/a.py"


def complaints(text, path=PATH):
    return check_signals.complaints({path: text})


def test_what_is_caught_is_handed_on():
    caught = "try:\n    f()\nexcept OSError as error:\n    {}\n    done()\n"
    assert not complaints(caught.format("let_through(error)"))
    assert complaints(caught.format("note(error)")) == [
        f"{PATH}:3: what a signal handler raised may be lost here: let_through() comes first."]
    assert len(complaints("try:\n    f()\nexcept (Own, KeyError):\n    pass\n")) == 1
    assert len(complaints("try:\n    f()\nexcept:\n    pass\n")) == 1


def test_what_no_handler_raises_or_what_goes_on_may_be_caught():
    assert not complaints("try:\n    f()\nexcept Own:\n    pass\n")
    assert not complaints("try:\n    f()\nexcept ValueError:\n    undo()\n    raise\n")
    assert not complaints("try:\n    f()\nexcept ValueError:\n    pass\n", "client/python/stoker/base/background.py")


def test_python_s_own_way_to_suppress_is_not_used():
    assert len(complaints("with contextlib.suppress(OSError):\n    f()\n")) == 1
    assert not complaints("with contextlib.suppress(NotPortable):\n    f()\n")
    assert not complaints("with suppressed(OSError):\n    f()\n")


def test_what_goes_through_things_calls_nothing_that_a_handler_ends_unseen():
    assert len(complaints("any(map(f, values))\nlist(filter(self.f, values))\n")) == 2
    assert not complaints("map(len, values), filter(None, values), map(operator.neg, values), (f(x) for x in values)\n")
    assert not complaints("map(f, values)\n", "client/python/stoker/runtime/binding.py")
