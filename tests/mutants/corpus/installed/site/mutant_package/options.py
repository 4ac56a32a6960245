import dataclasses


@dataclasses.dataclass
class Options:
    rate: float = 0.5
    table: dict = dataclasses.field(default_factory=lambda: {"a": 1.0})


DEFAULTS = Options()
unused = 1
