from . import layers, options

__version__ = "1.0"
