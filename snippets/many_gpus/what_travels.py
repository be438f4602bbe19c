# %% [markdown]
# # What travels between GPUs
#
# Reckoned from sizes and speeds alone, nothing is measured: what one of several GPUs sends
# while they share a sequence, and from how many tokens on computing hides the sending. 16 heads
# of 128 numbers, 8192 tokens a GPU, 16 bits; heads as queries/keys. The speeds are round
# numbers near those of an H100: a kernel, the link within a host, a network between hosts. An
# all-to-all with too few heads of keys has no number.

# %% tags=["setting"]
from kernels.bench.parallel.cost import (
    Link,
    Part,
    ideal_seconds,
    min_tokens_to_overlap,
    predict_seconds,
    sent_bytes,
)
from kernels.bench.table import Table

part = Part(tokens=8192, heads=16, kv_heads=16, head_dim=128)
grouped = part._replace(kv_heads=2)
speed, inside, network = 640e12, Link(360e9), Link(50e9)

# %% tags=["sent"]
sent = Table("sent", heads="", gpus="", ring="MB", all_gather="MB", all_to_all="MB")
for shape in (part, grouped):
    for gpus in (2, 4, 8):
        schemes = ("ring", "all_gather", "all_to_all")
        megabytes = {scheme: sent_bytes(scheme, gpus, shape) / 1e6 for scheme in schemes}
        if gpus > shape.kv_heads:
            megabytes["all_to_all"] = None
        sent.add(heads=f"{shape.heads}/{shape.kv_heads}", gpus=gpus, **megabytes)
sent.show()

# %% tags=["hidden"]
hidden = Table("hidden", link="", heads="", full="tokens", causal="tokens")
for name, link in {"within a host": inside, "between hosts": network}.items():
    for shape in (part, grouped):
        full, causal = (
            min_tokens_to_overlap(shape, speed, link.bandwidth, causal=causal)
            for causal in (False, True)
        )
        hidden.add(link=name, heads=f"{shape.heads}/{shape.kv_heads}", full=full, causal=causal)
hidden.show()

# %% [markdown]
# The time of a causal ring, forward, with 8 GPUs to a host. The ideal is what the arithmetic
# alone would take, shared out evenly.

# %% tags=["reckoned"]
reckoned = Table("reckoned", tokens="", gpus="", ideal="ms", ring="ms", percent="%")
for tokens in (8192, 32768):
    for gpus in (2, 8, 64, 1024):
        shape = part._replace(tokens=tokens)
        least = ideal_seconds(gpus, shape, speed=speed, causal=True)
        links = dict(link=inside, gpus_per_host=8, inter_host_link=network)
        ring = predict_seconds(gpus, shape, speed=speed, causal=True, **links)
        times = dict(ideal=1e3 * least, ring=1e3 * ring, percent=100 * least / ring)
        reckoned.add(tokens=tokens, gpus=gpus, **times)
reckoned.show()
