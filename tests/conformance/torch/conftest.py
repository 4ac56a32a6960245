import os
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parents[2] / "client" / "python")]

os.environ["STOKER_CAPTURES"] = "off"  # These tests are about tracing.
