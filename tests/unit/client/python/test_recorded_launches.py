"""Kernels that are taken from a recorded graph and launched again; a driver of the test's own answers."""

import ctypes
import types

import pytest

from stoker.runtime.convolutions import cudnn, recorded

KERNEL, FILL = 0, 2  # CUgraphNodeType.
CLUSTER, PROGRAMMATIC, PRIORITY = 4, 6, 8  # CUlaunchAttributeID.


def node(kind=KERNEL, function=70, **attributes):
    return types.SimpleNamespace(kind=kind, function=function, attributes={int(name[1:]): value for name, value in attributes.items()})


class Library:
    """The driver: what is given to a stream is in `given` while it records. It notes launches."""

    def __init__(self, refuses=()):
        self.given, self.refuses = [], refuses
        self.launched, self.destroyed = [], []
        for name in ("StreamCreate", "StreamBeginCapture_v2", "StreamEndCapture", "GraphGetNodes", "GraphNodeGetType",
                     "GraphKernelNodeGetParams_v2", "GraphKernelNodeGetAttribute", "GraphDestroy", "LaunchKernelEx"):
            setattr(self, f"cu{name}", self._answering(name))

    def _answering(self, name):
        def answer(*arguments):
            return 801 if name in self.refuses else getattr(self, f"_{name}")(*arguments) or 0
        return answer

    def _StreamCreate(self, stream, flags):
        stream._obj.value = 5

    def _StreamBeginCapture_v2(self, stream, mode):
        assert (stream.value, mode) == (5, 2)
        self.given = []

    def _StreamEndCapture(self, stream, graph):
        graph._obj.value = 9

    def _GraphGetNodes(self, graph, nodes, count):
        count._obj.value = len(self.given)
        for place in range(min(len(nodes), len(self.given))):
            nodes[place] = place + 1

    def _GraphNodeGetType(self, node, kind):
        kind._obj.value = self.given[node.value - 1].kind

    def _GraphKernelNodeGetParams_v2(self, node, parameters):
        for name, value in zip(("gx", "gy", "gz", "bx", "by", "bz", "shared_bytes", "values", "extra"), range(1, 10)):
            setattr(parameters._obj, name, value)
        parameters._obj.function = self.given[node.value - 1].function
        parameters._obj.kernel = 71

    def _GraphKernelNodeGetAttribute(self, node, number, value):
        attributes = self.given[node.value - 1].attributes
        if number == 1:
            return 1  # This driver does not know it.
        value._obj[0] = attributes.get(number, 0)

    def _GraphDestroy(self, graph):
        self.destroyed.append(graph.value)

    def _LaunchKernelEx(self, configuration, function, values, extra):
        of = configuration._obj
        attributes = ctypes.cast(of.attributes, ctypes.POINTER(recorded._Attribute)) if of.attributes else None
        self.launched.append((
            function, values, extra, of.stream, (of.gx, of.gy, of.gz, of.bx, of.by, of.bz, of.shared_bytes),
            {attributes[place].number: attributes[place].value[0] for place in range(of.count)}))


def recorded_by(library, *nodes):
    recorder = recorded.Recorder(recorded.Driver(library))
    return recorder.recorded(lambda stream: library.given.extend(nodes))


def test_a_kernel_is_launched_as_it_was_recorded():
    library = Library()
    launch = recorded_by(library, node(_4=8, _5=1, _8=3))
    launch(0)
    launch(12)
    launch(12)
    shape = (1, 2, 3, 4, 5, 6, 7)
    assert library.launched == [(70, 8, 9, stream, shape, {CLUSTER: 8, 5: 1}) for stream in (None, 12, 12)]
    assert library.destroyed == []
    del launch
    assert library.destroyed == [9]


def test_one_without_attributes_and_of_a_library_s_kernels():
    library = Library()
    recorded_by(library, node(function=None))(3)
    assert library.launched == [(71, 8, 9, 3, (1, 2, 3, 4, 5, 6, 7), {})]


def test_streams_that_come_and_go_leave_nothing():
    library = Library()
    launch = recorded_by(library, node())
    for stream in range(1, 100):
        launch(stream)
    assert [each[3] for each in library.launched] == list(range(1, 100)) and len(launch._ready) <= 8


@pytest.mark.parametrize("nodes", [[], [node(), node()], [node(FILL), node()], [node(FILL)], [node(_6=1)], [node(_16=1)]])
def test_what_is_not_one_plain_kernel_stays_the_library_s(nodes):
    library = Library()
    assert recorded_by(library, *nodes) is None and library.destroyed == [9]


@pytest.mark.parametrize("what", [
    "StreamCreate", "StreamBeginCapture_v2", "StreamEndCapture", "GraphGetNodes", "GraphNodeGetType", "GraphKernelNodeGetParams_v2"])
def test_a_driver_that_refuses_records_nothing(what):
    assert recorded_by(Library([what]), node()) is None


def test_an_old_driver_records_nothing():
    with pytest.raises(AttributeError):
        recorded.Driver(types.SimpleNamespace(cuStreamCreate=None))
    assert recorded.Recorder(None).recorded(lambda stream: 1 / 0) is None


def test_what_fails_as_it_is_recorded_is_not_launched():
    library = Library()

    def give(stream):
        library.given.append(node())
        raise recorded.Refused("a run gave 5003")

    assert recorded.Recorder(recorded.Driver(library)).recorded(give) is None and library.destroyed == [9]


def test_a_launch_that_fails_says_so():
    library = Library(["LaunchKernelEx"])
    with pytest.raises(recorded.Refused, match="gave 801"):
        recorded_by(library, node())(0)


@pytest.fixture
def runs(monkeypatch):
    """_Runs, with what is given to the library, what is launched, and whether a stream is recorded by somebody else."""
    def made(library, is_steady=True):
        given, state = [], types.SimpleNamespace(is_capturing=False)
        recorder = recorded.Recorder(recorded.Driver(library))
        monkeypatch.setattr(cudnn, "_recorder", lambda device: recorder)
        monkeypatch.setattr(cudnn.torch.cuda, "device", lambda device: cudnn.torch.inference_mode(False))
        monkeypatch.setattr(cudnn.devices, "stream_of", lambda device: 3)
        monkeypatch.setattr(cudnn.devices, "is_capturing", lambda: state.is_capturing)

        def give(stream):
            given.append(stream)
            library.given.append(node())

        return cudnn._Runs(None, give, is_steady), given, state
    return made


def test_the_library_runs_twice_and_is_recorded_once(runs):
    library = Library()
    run, given, _ = runs(library)
    for _ in range(6):
        run()
    assert given == [3, 3, 5] and [each[3] for each in library.launched] == [3] * 4


def test_nothing_is_recorded_while_a_graph_is(runs):
    library = Library()
    run, given, state = runs(library)
    state.is_capturing = True
    for _ in range(5):
        run()
    assert given == [3] * 5
    state.is_capturing = False
    for _ in range(4):
        run()
    assert given == [3] * 7 + [5] and len(library.launched) == 2
    state.is_capturing = True  # A launch is recorded as any.
    run()
    assert len(library.launched) == 3


@pytest.mark.parametrize("refuses, is_steady", [(["GraphGetNodes"], True), ([], False)])
def test_what_cannot_be_recorded_is_tried_once_and_runs_as_before(runs, refuses, is_steady):
    library = Library(refuses)
    run, given, _ = runs(library, is_steady)
    for _ in range(6):
        run()
    assert given == [3, 3] + [5] * is_steady + [3] * 4 and not library.launched
