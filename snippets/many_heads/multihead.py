# %% [markdown]
# # Two heads by hand
#
# Three words of four numbers each, and weights chosen so that head 1 meets the queries, keys
# and values of the whiteboard. Head 2 has the same values and exchanges the roles: what head 1
# asks, it offers. There is no bias, and the output projection hands on what it gets. Runs on a
# laptop.

# %% tags=["weights"]
import torch

from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention

torch.set_printoptions(precision=2, sci_mode=False)
torch.set_grad_enabled(False)
device = "cuda" if torch.cuda.is_available() else "cpu"

x = torch.tensor([[1.0, 0, 1, 2], [1, 1, 0, 0], [0, 1, 1, 1]], device=device)[None]
asks = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]])
offers = torch.tensor([[0.0, 0, 1, 0], [0, 1, 0, 0]])
hands_over = torch.tensor([[0.0, 0, 0, 5], [5, 5, 5, -5]])

loop = LoopedMultiHeadAttention(embed_dim=4, heads=2)
for parameter in loop.parameters():
    parameter.zero_()
for head, query, key in zip(loop.heads, (asks, offers), (offers, asks), strict=True):
    head.query.weight.copy_(query)
    head.key.weight.copy_(key)
    head.value.weight.copy_(hands_over)
loop.output.weight.copy_(torch.eye(4))
loop.to(device)
at_once = MultiHeadAttention.from_loop(loop)
print(f"one projection for both heads\n{at_once.query.weight.detach().cpu()}")
print(f"queries, head 1 | head 2\n{at_once.query(x)[0].cpu()}")

# %% [markdown]
# Both forms, then with masks. In the last row of the last one a word sees nothing.

# %% tags=["masks"]
everyone = torch.ones(3, 3, dtype=torch.bool, device=device)
padding = torch.tensor([True, True, False], device=device)  # the third word is filling
alone = everyone.clone()
alone[2] = False
print(f"loop\n{loop(x)[0].cpu()}\nat once\n{at_once(x)[0].cpu()}")
print(f"causal\n{at_once(x, is_causal=True)[0].cpu()}")
print(f"padding\n{at_once(x, attn_mask=padding)[0].cpu()}")
print(f"word 3 sees nothing\n{at_once(x, attn_mask=alone)[0].cpu()}")
hidden = torch.full((3,), -torch.inf).softmax(-1)
print(f"softmax of minus infinity alone, unguarded: {hidden}")

# %% [markdown]
# Steps in memory from one entry to the next, along each axis.

# %% tags=["strides"]
split = at_once.split(at_once.query(x))
blends = torch.arange(12.0, device=device).view(1, 2, 3, 2)  # any numbers, fresh in memory
back = blends.transpose(1, 2)
for name, tensor in {"split": split, "blends": blends, "back": back}.items():
    print(f"{name:10}  {list(tensor.shape)}  strides {tensor.stride()}")
try:
    back.view(1, 3, 4)
except RuntimeError as error:
    print(f"view: {str(error).partition('(')[0].strip()}")
together = back.contiguous().view(1, 3, 4)
print(f"contiguous  {list(together.shape)}     strides {together.stride()}")
print(f"right, a row a word\n{together[0].cpu()}")
print(f"wrong, and no error: blends.view\n{blends.view(1, 3, 4)[0].cpu()}")
