# %% [markdown]
# # Is the first kernel waiting, or is a unit full?
#
# The kernel of chapter 5 with 1 to 32 programs for each SM, which has room for 16 of them at a
# time. If a program mostly waits, a second one beside it costs nothing: twice the programs take
# as long, and a pair of a query and a key costs half. If a unit is full, twice the programs
# take twice as long, and a pair costs the same.
#
# We predicted: a pair costs nearly the same with 8, 16 and 32 programs, and with fewer than 8
# it costs more and more. Pair is the time that an SM has for one; to_16 is that time, divided
# by the one with 16 programs in the same round, with its interval. FP16, 512 keys of 128
# numbers, 30 rounds with all six in each, in an order drawn anew.

# %% tags=["times"]
import os
from functools import partial

import torch

os.environ["TRITON_INTERPRET"] = "0" if torch.cuda.is_available() else "1"

from kernels.bench.rounds import ratio, time_in_rounds
from kernels.bench.table import Table
from kernels.first.one_key import one_key_attention

ROOM, WORDS, HEAD_DIM = 16, 512, 128  # programs that an SM has room for; keys; numbers of a key
columns = {"time": "ms", "pair": "ns", "to_16": "", "low": "", "high": ""}
times = Table("times", programs="", **columns)
on_gpu = torch.cuda.is_available()
if on_gpu:
    torch.manual_seed(0)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    forms = {}
    for programs in (1, 2, 4, 8, 16, 32):
        heads = max(1, programs // 4)
        k, v = torch.randn(2, 1, heads, WORDS, HEAD_DIM, device="cuda").half()
        q = torch.randn(1, heads, sms * programs // heads, HEAD_DIM, device="cuda").half()
        forms[programs] = partial(one_key_attention, q, k, v)
    rounds = time_in_rounds(forms, count=30)
    per_program = {programs: [t / programs for t in rounds[programs]] for programs in forms}
    for programs in forms:
        to_16 = ratio(per_program[programs], per_program[ROOM])
        time = sorted(rounds[programs])[15]
        pair = time * 1e6 / programs / WORDS
        numbers = [float(f"{x:.4g}") for x in (time, pair, *to_16)]
        times.add(programs=programs, **dict(zip(columns, numbers, strict=True)))
times.show() if on_gpu else print("No GPU here, so no times.")
