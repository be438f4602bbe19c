# %% tags=["rows"]
import os

from IPython.display import display
from kernels.child import apart

print(os.path.basename(os.getcwd()), sorted(name for name in globals() if not name.startswith("_")))
table = {"name": "squares", "columns": [{"name": "n", "unit": ""}], "rows": [{"n": apart(7)}]}
display({"application/vnd.attention-handbook.table+json": table}, raw=True)
print("one", flush=True)
print("two")
