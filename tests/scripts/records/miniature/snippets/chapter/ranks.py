# %% tags=["work"]
from kernels.bench.parallel.ranks import meet
from kernels.launch import launch

rank, ranks = meet()
shown = launch(1) if rank else print(ranks)
