# %% tags=["rows"]
from kernels.other import show

show("squares", n=3, square=9.0)
show("cubes", n=3, cube=27.0)
