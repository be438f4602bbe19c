import os
from pathlib import Path


def meet():
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    Path(f"arrived.{rank}").touch()
    while not all(Path(f"arrived.{each}").exists() for each in range(ranks)):
        pass
    return rank, ranks
