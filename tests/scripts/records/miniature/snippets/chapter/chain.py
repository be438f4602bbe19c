# %% [markdown]
# # A chain of imports
#
# chain imports middle, and middle imports base.

# %% tags=["functions"]
from kernels.base import Counter
from kernels.middle import quadruple

print(quadruple(3))

# %% tags=["methods"]
Counter.at(1).up().double()
