"""Fields of what was stored, by type and range: ValueError says what is otherwise, before anything of it is used."""


def count_of(value):
    if type(value) is not int or value < 0:
        raise ValueError(f"a count is {value!r}")
    return value


def place_of(value, below):
    """Of one of so many."""
    if type(value) is not int or not 0 <= value < below:
        raise ValueError(f"a place among {below} is {value!r}")
    return value


def flag_of(value):
    if type(value) is not bool:
        raise ValueError(f"a flag is {value!r}")
    return value


def one_of(value, known):
    if not any(type(value) is type(each) and value == each for each in known):  # 0 is no False.
        raise ValueError(f"{value!r} is none of {', '.join(map(repr, known))}")
    return value


def all_of(check, values, *arguments):
    """check(value, *arguments) of each in a list."""
    if type(values) is not list:
        raise ValueError(f"a list is {values!r}")
    return [check(value, *arguments) for value in values]


def as_many(values, count):
    if type(values) is not list or len(values) != count:
        raise ValueError(f"{values!r} are not {count}")
    return values
