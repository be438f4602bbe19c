"""What the others stand on."""


def double(x):
    """Twice as much."""
    return 2 * x  # twice


class Counter:
    """Counts."""

    def __init__(self):
        self.count = 0

    def up(self):
        self.count += 1
        return self

    def double(self):
        return max(map(lambda count: double(count), [self.count]))

    @classmethod
    def at(cls, count):
        counter = cls()
        counter.count = count
        return counter

    def down(self):
        self.count -= 1
        return self


def unused():
    return [x for x in range(3)]
