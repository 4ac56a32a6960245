"""targets.py: what several processes report is summed, and what did not run is said."""

from targets import main

REPORT = """\
cpu/x86-64-v4+amx_bf16+avx512_bf16 4 4 4
cpu/x86-64-v3 3 2 0
cpu/x86-64-v4+avx512_bf16+avx512_fp16 5 0 0
cpu/x86-64-v3 1 1 0
"""


def test_Main_ReportsOfProcesses_PrintsSums(tmp_path, capsys):
    path = tmp_path / "targets.txt"
    path.write_text(REPORT)
    main([path])
    assert capsys.readouterr().out == """\
x86-64-v3: 4 kernels compiled, 3 run
x86-64-v4+amx_bf16+avx512_bf16: 4 kernels compiled, 4 run with emulated tiles
x86-64-v4+avx512_bf16+avx512_fp16: 5 kernels compiled, none run
x86 targets: 3 compiled, 2 run
"""


def test_Main_NoReport_SaysSo(tmp_path, capsys):
    main([tmp_path / "none"])
    assert capsys.readouterr().out == "x86 targets: 0 compiled, 0 run\n"
