from .inner import chosen

level = 2.0
