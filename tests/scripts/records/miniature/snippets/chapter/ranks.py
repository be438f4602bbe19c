# %% tags=["work"]
from kernels.bench.parallel.ranks import meet, other

rank, ranks = meet()
if rank:
    other()
else:
    print(ranks)
