class JITFunction:
    def __init__(self, fn):
        self.fn = fn

    def __getitem__(self, grid):
        return lambda *args: self.run(*args, grid=grid)

    def run(self, *args, grid): ...
