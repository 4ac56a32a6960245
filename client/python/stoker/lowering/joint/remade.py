"""What a backward graph computes again, rather than be given it by the forward: what follows point by point from one tensor
that is kept anyway, or takes no more room. Memory is what training runs out of, and what is computed again in the kernel
that reads it costs no more than to be written and read."""

import torch

from ...aten_ops import RULES
from ...graph.layout import is_tensor
from ...pytorch.operators import CONVERT, VIEWS, OpOverload
from ...pytorch.sizes import example_of
from ..views import owner_of, viewed

aten = torch.ops.aten
# Modules of aten_ops/ whose rules read what is in memory: all of it, or anywhere.
_READ_MEMORY = frozenset(("attention", "contraction", "convolution", "indexing", "ordering", "pooling", "resizing", "searching"))
_CREATION = frozenset(("full", "scalar_tensor", "zeros", "ones", "arange", "full_like", "zeros_like", "ones_like"))
_LOG_SOFTMAX = "aten._log_softmax.default"
_SOFTMAX = ("aten._softmax.default", _LOG_SOFTMAX)
_MOST_OPERATIONS = 32  # Between one tensor that is kept and all that is computed again from it.
_MUCH = 8  # What has fewer bytes than an eighth of another's is small beside it.
_MOST_ROOTS = 8
# What is made again is as near to what it was as kernels are to each other: enough but where the least difference counts. The
# gradient of a maximum goes where a value equals it.
_STEPS = frozenset((
    "eq", "ne", "lt", "le", "gt", "ge", "sign", "sgn", "signbit", "heaviside", "floor", "ceil", "round", "trunc", "frac", "fmod",
    "remainder", "floor_divide", "isclose", "isin", "searchsorted", "bucketize", "amax", "amin", "max", "min", "aminmax", "argmax",
    "argmin"))


def make_again(graph, sides):
    """Changes the graph of forward and backward. `sides`: a joint_graph.Sides of it."""
    remade = _Remade(graph, sides)
    if remade.take_softmax_apart():
        remade = _Remade(graph, sides)
    found = remade.found()
    if found:
        remade.put_again(found)


class _Remade:
    def __init__(self, graph, sides):
        self._graph = graph
        self._sides = sides
        self._in_memory = self._needed_in_memory()
        self._compared = self._compared_in_backward()
        # Whoever holds an input fills it with the next batch, or adds to it in place, and so with results.
        self._unsteady = {node for node in graph.nodes if node.op == "placeholder"}
        self._unsteady.update(owner_of(result) for result in sides.results)
        self._roots = {}

    def found(self):
        """Nodes of the forward that the backward makes again."""
        by_root, kept, found = {}, set(), set()
        for node in self._graph.nodes:
            if not self._is_given(node):
                continue
            roots = self._roots_of(node)
            if node in roots:
                kept.add(node)
            else:
                root = next(iter(self._large(roots, node)), None)
                by_root.setdefault(root, []).append(node)
        for root, nodes in by_root.items():
            if root is None or root in kept or self._pays(root, nodes):
                if self._operations(nodes) <= _MOST_OPERATIONS:
                    found.update(nodes)
        return found

    def _is_given(self, node):
        """Does the backward read it, whoever else does?"""
        return node in self._sides.forward and is_tensor(node.meta.get("val")) and any(
            self._sides.is_of_backward(user) for user in node.users)

    def _needed_in_memory(self):
        """Nodes of the forward that the backward needs in memory, or views of them."""
        found = set()
        for node in reversed(self._graph.nodes):
            if node.op == "output":
                continue
            of_memory = node in self._sides.gradients or any(
                user in found if _is_view(user) else self._sides.is_of_backward(user) and _reads_memory(user)
                for user in node.users)
            if of_memory:
                found.add(node)
        return found

    def _compared_in_backward(self):
        """Nodes with floats from which what the backward compares follows point by point."""
        found = set()
        for node in reversed(self._graph.nodes):
            if _is_of_floats(node) and any(
                    _is_step(user) and self._sides.is_of_backward(user) or user in found and (_is_view(user) or _is_quick(user))
                    for user in node.users):
                found.add(node)
        return found

    def _is_made_again(self, node):
        return _is_view(node) or _is_quick(node) and node not in self._in_memory and node not in self._compared and all(
            self._stays(source, node) for source in node.all_input_nodes)

    def _stays(self, source, node):
        """Is it what it was when the backward runs, or noticed where it is not? Of what is large a copy may be kept."""
        owner = owner_of(source)
        if owner not in self._unsteady or self._is_given(owner) or self._is_given(source) or not is_tensor(owner.meta.get("val")):
            return True
        sizes = _bytes_of(owner), _bytes_of(node)
        return None not in sizes and sizes[0] * _MUCH > sizes[1]

    def _roots_of(self, node):
        """What it follows from that is not made again: a dict, as an ordered set. Of what the backward reads that is itself, where
        more than one of these is large."""
        waiting = [node]
        while waiting:
            each = waiting[-1]
            if each in self._roots:
                waiting.pop()
            elif not self._is_made_again(each):
                self._roots[each] = {each: None}
            else:
                sources = [source for source in each.all_input_nodes if _has_tensors(source)]
                missing = [source for source in sources if source not in self._roots]
                waiting.extend(missing)
                if not missing:
                    self._roots[each] = self._united(each, [self._roots[source] for source in sources])
        return self._roots[node]

    def _united(self, node, found):
        roots = {}
        for each in found:
            roots.update(each)
        if not is_tensor(node.meta.get("val")):  # Several views.
            return roots
        is_simple = len(roots) <= _MOST_ROOTS and None not in (_bytes_of(each) for each in (node, *roots))
        if is_simple and (len(self._large(roots, node)) <= 1 or not self._is_given(node)):
            return roots
        return {node: None}

    @staticmethod
    def _large(roots, node):
        """Those beside which the node is not large."""
        size = _bytes_of(node)
        return [root for root in roots if _bytes_of(root) * _MUCH > size]

    def _pays(self, root, nodes):
        """Does the forward keep less, if it keeps what all of them follow from, or a copy of that?"""
        if not is_tensor(root.meta.get("val")):
            return False
        if root in self._unsteady:  # Views of it take no room.
            return sum(_bytes_of(node) for node in nodes if not _is_view(node)) > _bytes_of(root)
        together = sum(_bytes_of(node) for node in nodes)
        return together > _bytes_of(root) or together == _bytes_of(root) and all(_is_view(node) for node in nodes)

    def _operations(self, nodes):
        """How many operations all of them take, what they share counted once."""
        seen, waiting = set(), list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in seen and self._follows(node):
                seen.add(node)
                waiting.extend(source for source in node.all_input_nodes if _has_tensors(source))
        return sum(not _is_view(node) for node in seen)

    def _follows(self, node):
        """Is it made again where something is that follows from it?"""
        return node not in self._roots_of(node)

    # ---- What is changed ---------------------------------------------------------------------------

    def put_again(self, found):
        """The backward makes what was found again."""
        roots = dict.fromkeys(root for node in self._graph.nodes if node in found for root in self._roots_of(node))
        made = {root: self._copy_of(root) for root in roots if root in self._unsteady and not self._is_given(root)}
        for node in list(self._graph.nodes):
            if not self._sides.is_of_backward(node):
                continue
            for source in node.all_input_nodes:
                if source in found:
                    node.replace_input_with(source, self._again(source, node, made))

    def _copy_of(self, root):
        """Made in the forward."""
        after = root if root.op == "call_function" else self._graph.find_nodes(op="placeholder")[-1]
        with self._graph.inserting_after(after):
            made = self._graph.call_function(aten.clone.default, (root,))
        made.meta["val"] = aten.clone.default(root.meta["val"])
        self._sides.put_beside(made, root)
        return made

    def _again(self, node, before, made):
        """The node as the backward makes it, with all that it follows from down to what is kept."""
        waiting = [node]
        while waiting:
            each = waiting[-1]
            sources = [source for source in each.all_input_nodes if _has_tensors(source) and self._follows(source)]
            missing = [source for source in sources if source not in made]
            if not missing:
                waiting.pop()
                if each not in made:
                    with self._graph.inserting_before(before):
                        made[each] = self._graph.node_copy(each, lambda source: made.get(source, source))
                    self._sides.put_beside(made[each], before)
            waiting.extend(missing)
        return made[node]

    def take_softmax_apart(self):
        """Of what would be kept of the size of all rows, the largest element and the sum of each are enough. Was there any?"""
        found = [
            node for node in self._graph.nodes
            if str(node.target) in _SOFTMAX and self._is_given(node) and node not in self._in_memory and _may_be_apart(node)]
        for node in found:
            _Apart(self._graph, self._sides, node).take(str(node.target) == _LOG_SOFTMAX)
        return bool(found)


class _Apart:
    """Adds what a softmax consists of before it."""

    def __init__(self, graph, sides, node):
        self._graph, self._sides, self._node = graph, sides, node

    def take(self, is_log):
        x, dim = self._node.args[:2]
        dtype = self._node.meta["val"].dtype
        wide = x
        if x.meta["val"].dtype in (torch.bfloat16, torch.float16):
            wide = self._call(CONVERT, x, dtype=torch.float32)
        shifted = self._call(aten.sub.Tensor, wide, self._call(aten.amax.default, wide, [dim], True))
        powers = self._call(aten.exp.default, shifted)
        over = self._call(aten.sum.dim_IntList, powers, [dim], True)
        if is_log:
            result = self._call(aten.sub.Tensor, shifted, self._call(aten.log.default, over))
        else:
            result = self._call(aten.div.Tensor, powers, over)
        if result.meta["val"].dtype != dtype:
            result = self._call(CONVERT, result, dtype=dtype)
        self._node.replace_all_uses_with(result)
        self._graph.erase_node(self._node)

    def _call(self, target, *arguments, **keywords):
        def value(each):
            return each.meta["val"] if isinstance(each, torch.fx.Node) else each

        with self._graph.inserting_before(self._node):
            made = self._graph.call_function(target, arguments, keywords)
        made.meta["val"] = target(*(value(each) for each in arguments), **keywords)
        self._sides.put_beside(made, self._node)
        return made


def _may_be_apart(node):
    value = node.args[0].meta["val"]
    return value.dim() and not any(type(size) is int and size == 0 for size in value.shape) and not node.kwargs


def _is_view(node):
    """Or several, as split() gives them."""
    return node.op == "call_function" and (node.target in VIEWS or viewed(node) is not None)


def _has_tensors(node):
    return isinstance(node.meta.get("val"), (torch.Tensor, list, tuple))


def _is_step(node):
    """Of floats: what kernels leave of one may be on one side of a step or the other."""
    return isinstance(node.target, OpOverload) and node.target.overloadpacket.__name__ in _STEPS and any(
        _is_of_floats(source) for source in node.all_input_nodes)


def _is_of_floats(node):
    value = node.meta.get("val")
    return is_tensor(value) and value.dtype.is_floating_point


def _is_quick(node):
    """Is it computed point by point, and the same each time?"""
    target = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload) or str(target) not in RULES:
        return False
    value = node.meta.get("val")
    if not is_tensor(value) or torch.Tag.nondeterministic_seeded in target.tags or _is_step(node):
        return False
    if any(is_tensor(source.meta.get("val")) and source.meta["val"].device != value.device for source in node.all_input_nodes):
        return False
    return torch.Tag.pointwise in target.tags or target is CONVERT or (
        target.namespace == "aten" and target.overloadpacket.__name__ in _CREATION)


def _reads_memory(node):
    rule = RULES.get(str(node.target))
    return rule is None or rule.__module__.rpartition(".")[2] in _READ_MEMORY


def _bytes_of(node):
    """With sizes that vary as they were traced; None where a run says what they are."""
    value = node.meta.get("val")
    if not is_tensor(value):
        return None
    size = value.element_size() if isinstance(value, torch.Tensor) else value.dtype.itemsize
    for each in value.shape:
        example = example_of(each)
        if example is None:
            return None
        size *= example
    return size
