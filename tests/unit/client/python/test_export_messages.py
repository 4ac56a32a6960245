from stoker.export_archive.__main__ import tell


def test_what_an_archive_says_does_not_steer_a_terminal(capsys):
    tell("schema \x1b]0;title\x07 \x9b2J 8\nstoker: all is well, model é")
    assert capsys.readouterr().err == (
        "stoker: schema \\x1b]0;title\\x07 \\x9b2J 8\\nstoker: all is well, model é\n")
