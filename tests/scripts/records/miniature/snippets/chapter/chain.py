# %% [markdown]
# # A chain of imports

# %% tags=["functions"]
from pathlib import Path

from kernels.base import Counter, double
from kernels.child import apart

print(double(apart(6)))

# %% tags=["methods"]
Counter().up(int(Path("snippets/chapter/count.txt").read_text()))
