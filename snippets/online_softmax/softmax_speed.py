# %% [markdown]
# # Does reading a row twice pay?
#
# 2²⁶ scores in FP16, in rows of 512 to 65,536. `softmax_kernel` reads each row twice and writes
# it. If a kernel holds the whole row, one reading is enough; if it can't, a plain softmax needs
# three. Both are CUDA graphs that take turns in random order, for 60 rounds. The ratio is ours
# over PyTorch's, round by round: the median, and where it lies in 95 of 100 draws. Trips says
# how often all scores could be read or written in that time, at the memory's full speed.

# %% tags=["speed"]
import statistics
from functools import partial

import torch

from kernels.bench import hardware
from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph
from kernels.softmax import softmax

trip = 0.0  # ms, for all scores
if torch.cuda.is_available():
    chip = getattr(hardware, hardware.chip_of(torch.cuda.get_device_name()))
    trip = 1e3 * 2**26 * 2 / chip["hbm bandwidth"].value
speed = Table("speed", form="", scores="", median="ms", trips="", ratio="", low="", high="")
for columns in [512 << doubled for doubled in range(8)] if torch.cuda.is_available() else []:
    torch.manual_seed(0)
    rows = 3 * torch.randn(2**26 // columns, columns, device="cuda", dtype=torch.float16)
    forms = {"softmax_kernel": partial(softmax, rows)}
    forms |= {"torch.softmax": partial(torch.softmax, rows, -1)}
    graphs = {form: as_cuda_graph(call) for form, call in forms.items()}
    times = time_in_rounds(graphs, count=60)
    for form, of in times.items():
        took = statistics.median(of)
        row = [form, columns, took, took / trip, *ratio(of, times["torch.softmax"])]
        speed.add(**dict(zip(speed.columns, row, strict=True)))
if torch.cuda.is_available():
    speed.show()
else:
    print("No GPU here, so there is nothing to measure.")
