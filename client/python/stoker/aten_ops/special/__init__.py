"""Functions of mathematical physics: their rules, in one module for each way of computing them."""

from . import functions, polynomials, zeta

__all__ = ["functions", "polynomials", "zeta"]
