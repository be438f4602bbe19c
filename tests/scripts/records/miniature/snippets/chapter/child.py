# %% tags=["apart"]
from kernels.child import apart

print(apart(7))
