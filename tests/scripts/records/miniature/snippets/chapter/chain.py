# %% [markdown]
# # A chain of imports

# %% tags=["functions"]
from pathlib import Path

from kernels.base import Counter
from kernels.middle import quadruple

print(quadruple(3))

# %% tags=["methods"]
Counter().up(int(Path("snippets/chapter/count.txt").read_text()))
