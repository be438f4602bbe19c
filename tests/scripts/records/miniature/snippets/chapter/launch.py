# %% tags=["rows"]
import os

from IPython.display import display

from kernels.launch import launch

print(os.path.basename(os.getcwd()), sorted(name for name in globals() if not name.startswith("_")))
table = {"name": "squares", "columns": [{"name": "n", "unit": ""}], "rows": [{"n": launch(7)}]}
display({"application/vnd.attention-handbook.table+json": table}, raw=True)
print("\x1b[31mone\x1b[0m", flush=True)
print("two")
