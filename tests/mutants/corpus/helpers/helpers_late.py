AMOUNT = 0.75


def late(x):
    return x * AMOUNT
