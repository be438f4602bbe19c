# %% tags=["launch"]
import os

from kernels.launch import launch

print(launch(5))
print(os.path.basename(os.getcwd()), os.getcwd() in os.environ["PYTHONPATH"].split(os.pathsep))
print(sorted(name for name in globals() if not name.startswith("_")))
