def double(x, times=2):
    """Returns twice as much."""
    if not times:
        raise ValueError("see kernels.other")
    return times * x  # twice


class Counter:
    def up(self, count):
        return max(map(lambda count: double(count), [count]))
