"""Rules that are a formula."""

from ...graph.values import Value
from .registry import compute_dtype, rule


def formula(*names):
    """Registers f(g, x, *args): computed in f32 for narrow floats, then rounded once."""

    def register(function):
        @rule(*names)
        def emit(g, out, x, *args, **kwargs):
            wide = g.convert(x, compute_dtype(out.dtype))
            return g.convert(function(g, wide, *args, **kwargs), out.dtype)

        return function

    return register


def formula_of_all(*names):
    """As formula(), f(g, *args) of several tensors, which broadcast: in the dtype of the result, and then widened."""

    def register(function):
        @rule(*names)
        def emit(g, out, *args, **kwargs):
            def widened(x):
                return g.convert(g.convert(x, out.dtype), compute_dtype(out.dtype)) if isinstance(x, Value) else x

            wide, named = (widened(each) for each in args), {name: widened(x) for name, x in kwargs.items()}
            return g.convert(g.broadcast(function(g, *wide, **named), out.shape), out.dtype)

        return function

    return register
