"""Searches for changes of a program between two processes that a warm start does not notice.

usage: ./dev mutants [--count N] [--seed S] [--only ID] [--program NAME...] [--real] [--variants N] [--calls] [--trace]
                     [--list] [--jobs N]
"""

import argparse
import sys

from mutants import found, mutant, programs, real_models, search


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", type=int, metavar="ID", help="this one of a seed")
    parser.add_argument("--program", nargs="+", metavar="NAME", help="of these programs alone")
    parser.add_argument("--real", action="store_true", help="of models of installed packages instead")
    parser.add_argument("--variants", type=int, default=0, metavar="N", help="so many mutants as programs, too")
    parser.add_argument("--calls", action="store_true", help="change live objects between calls instead")
    parser.add_argument("--trace", action="store_true", help="trace where no capture holds, too")
    parser.add_argument("--list", action="store_true", help="say how each went")
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side")
    asked = parser.parse_args(arguments)
    known = found.programs()
    corpus = real_models.programs() if asked.real else (*programs.small(), *known)
    chosen = [each for each in corpus if not asked.program or each.name in asked.program]
    if not chosen:
        parser.error(f"no program is called {' or '.join(asked.program)}.")
    chosen += mutant.varied(chosen, asked.seed, asked.variants)
    numbers = range(asked.count) if asked.only is None else [asked.only]
    modules = real_models.modules(chosen)
    options = "".join((
        f"--program {' '.join(asked.program)} " if asked.program else "", "--real " if asked.real else "",
        f"--variants {asked.variants} " if asked.variants else "", "--calls " if asked.calls else ""))
    with search.Search(chosen, asked.seed, asked.trace, asked.jobs, modules, options) as searched:
        if asked.calls:
            searched.run_calls(numbers)
        else:
            if asked.only is None:
                searched.start(found.mutants(each for each in known if each in chosen))
            searched.run(numbers)
        if asked.list:
            searched.list(sys.stdout)
        return searched.report(sys.stdout)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
