"""A cached launch is what Triton would be asked for anew: other addresses, and nothing else that is old."""

import ast
import gc
import importlib.util
import inspect
import textwrap
import weakref
from types import SimpleNamespace

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.func import grad, vmap
from torch.utils._python_dispatch import TorchDispatchMode
from triton import JITFunction, knobs
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels import launch_cache as module
from kernels.launch_cache import ENTRIES, entry_for, launch, memoized


class Compiled:
    """What Triton returns, which remembers what it was started with."""

    function, packed_metadata = "function", "metadata"

    def __init__(self, started):
        self.started = started

    def run(self, x, y, z, stream, function, metadata, launch_metadata, enter, leave, *arguments):
        assert (stream, function, metadata) == (7, "function", "metadata")
        assert launch_metadata is enter is leave is None
        self.started.append(("cached", (x, y, z), arguments))

    def __getitem__(self, grid):
        return lambda *arguments: self.started.append(("with hooks", grid, arguments))


class Kernel(JITFunction):
    """A kernel that is never compiled, which remembers what Triton was asked for."""

    def __init__(self):
        self.arg_names = ["x", "y", "n", "BLOCK"]
        self.started = []

    def __getitem__(self, grid):
        def start(x, y, n, BLOCK, num_warps):
            self.started.append(("asked", (*grid, 1, 1)[:3], (x, y, n, BLOCK)))
            return Compiled(self.started)

        return start


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(module, "INTERPRETED", False)
    active = SimpleNamespace(get_current_stream=lambda device: 7)
    monkeypatch.setattr(module, "driver", SimpleNamespace(active=active))
    monkeypatch.setattr(module, "ENTRIES", {})
    return Kernel()


def make_descriptor(x):
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [1] * (x.ndim - 1) + [16])


def call(kernel, x, y, n=3, block=16, extra_key=None):
    """x by a descriptor, y as a pointer."""

    def prepare():
        return (x.shape[0], 2), (make_descriptor(x), y, n), {"BLOCK": block, "num_warps": 4}

    entry = entry_for((x, y), n, block)
    return launch(kernel, entry, extra_key, (x, y), prepare)


def launch_kinds(kernel):
    return [kind for kind, _, _ in kernel.started]


def last_launch(kernel):
    """What the kernel was started with last: grid, where its tensors lie, and all the rest."""
    _, grid, (x, *others) = kernel.started[-1]
    fields = {name: value for name, value in vars(x).items() if name != "base"}
    others = [y.data_ptr() if isinstance(y, torch.Tensor) else y for y in others]
    return grid, x.base.data_ptr(), fields, *others


def test_the_second_call_asks_for_nothing_and_starts_the_same_elsewhere(kernel):
    first, second = torch.randn(2, 2, 4, 16)
    call(kernel, first[0], first[1])
    call(kernel, second[0], second[1])
    cached = last_launch(kernel)
    module.ENTRIES.clear()
    call(kernel, second[0], second[1])
    assert launch_kinds(kernel) == ["asked", "cached", "asked"]
    assert cached == last_launch(kernel)
    assert type(kernel.started[1][2][0]) is TensorDescriptor


OTHERS = {
    "shape": lambda x, y: (x[:3], y),
    "strides": lambda x, y: (x, torch.empty(8, 16)[::2]),
    "dtype": lambda x, y: (x, y.half()),
    "start": lambda x, y: (x, torch.empty(65)[1:].view(4, 16)),
    "gradient": lambda x, y: (x, y.clone().requires_grad_()),
}


@pytest.mark.parametrize("other", OTHERS)
def test_tensors_of_another_form_are_asked_for(other, kernel):
    x, y = torch.randn(2, 4, 16)
    call(kernel, x, y)
    call(kernel, *OTHERS[other](x, y))
    call(kernel, x, y)
    assert launch_kinds(kernel) == ["asked", "asked", "cached"]


@pytest.mark.parametrize("other", [{"n": 4}, {"n": 3.0}, {"n": True}, {"block": 32}, {"extra_key": "more"}])
def test_other_options_are_asked_for(other, kernel):
    x, y = torch.randn(2, 4, 16)
    call(kernel, x, y, n=1 if other == {"n": True} else 3)
    call(kernel, x, y, **other)
    assert launch_kinds(kernel) == ["asked", "asked"]


def test_another_kernel_is_another(kernel):
    x, y = torch.randn(2, 4, 16)
    other = Kernel()
    call(kernel, x, y)
    call(other, x, y)
    assert launch_kinds(kernel) == launch_kinds(other) == ["asked"]


def test_one_tensor_twice_is_no_rule_for_two(kernel):
    x, y = torch.randn(2, 4, 16)
    call(kernel, x, x)
    call(kernel, x, y)
    assert launch_kinds(kernel) == ["asked", "cached"]
    assert last_launch(kernel)[1] == x.data_ptr() and last_launch(kernel)[3] == y.data_ptr()


def test_arguments_with_a_copy_are_never_cached(kernel):
    x, y = torch.randn(2, 4, 16)

    def prepare():
        return (1,), (make_descriptor(x.clone()), y, 3), {"BLOCK": 16, "num_warps": 4}

    for _ in range(2):
        launch(kernel, entry_for((x, y)), None, (x, y), prepare)
    assert launch_kinds(kernel) == ["asked", "asked"]


def test_no_tensor_is_held(kernel):
    x, y = torch.randn(2, 4, 16).unbind()
    x, y = x.clone(), y.clone()
    call(kernel, x, y)
    call(kernel, x, y)
    kernel.started.clear()
    references = [weakref.ref(tensor) for tensor in (x, y)]
    del x, y
    gc.collect()
    assert all(tensor() is None for tensor in references)


def test_a_profiler_is_told(kernel, monkeypatch):
    x, y = torch.randn(2, 4, 16)
    call(kernel, x, y)
    for name in ("launch_enter_hook", "launch_exit_hook"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(knobs.runtime, name, SimpleNamespace(calls=[print]))
            call(kernel, x, y)
    call(kernel, x, y)
    assert launch_kinds(kernel) == ["asked", "with hooks", "with hooks", "cached"]


def test_all_entries_are_dropped_before_there_are_too_many(kernel, monkeypatch):
    monkeypatch.setattr(module, "MAX_ENTRIES", 3)
    x, y = torch.randn(2, 4, 16)
    for n in range(5):
        call(kernel, x, y, n=n)
        assert len(module.ENTRIES) <= 3
    call(kernel, x, y, n=4)
    assert launch_kinds(kernel) == ["asked"] * 5 + ["cached"]


# Answers.


def test_an_answer_is_computed_once_for_a_call(kernel):
    x = torch.randn(3)
    answers = iter(range(10))
    for _ in range(2):
        assert memoized(entry_for((x,), 1), "first", lambda: next(answers)) == 0
        assert memoized(entry_for((x,), 1), "second", lambda: next(answers)) == 1
    assert memoized(entry_for((x,), 1.0), "first", lambda: next(answers)) == 2
    assert memoized(None, "first", lambda: next(answers)) == 3


def test_what_raises_is_not_cached(kernel):
    entry = entry_for((torch.randn(3),))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            memoized(entry, "answer", lambda: 1 // 0)
    assert entry == {}


@pytest.mark.parametrize("option", [[1], {}, torch.ones(()), object()])
def test_nothing_is_cached_for_an_option_that_is_no_plain_value(option, kernel):
    entry = entry_for((torch.randn(3),), option)
    assert entry == {} and not module.ENTRIES


# Who must see the operator.


class Looking(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Wrapped(torch.Tensor):
    pass


def test_a_plain_call_may_skip_the_operator():
    x = torch.randn(3)
    for tensor in (x, torch.nn.Parameter(x), x[1:], x.clone().requires_grad_()):
        assert entry_for((tensor, None)) is not None
    with torch.inference_mode():
        assert entry_for((x, torch.randn(3))) is not None
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert entry_for((x,)) is not None


def test_a_tensor_that_is_more_or_less_than_its_memory_may_not():
    with FakeTensorMode():
        fake = torch.empty(3)
    no_tensors = (None, [1.0], 3)
    for x in (
        fake,
        torch.randn(3).as_subclass(Wrapped),
        torch._neg_view(torch.randn(3)),
        torch.empty(3, device="meta"),
    ):
        assert entry_for((torch.randn(3), x)) is None
    for x in (torch.randn(3).to_sparse(), torch.randn(3, dtype=torch.cfloat).conj(), *no_tensors[1:]):
        assert entry_for((x,)) is None


def test_nor_one_that_is_traced_mapped_or_differentiated_elsewhere():
    seen = []

    def look(x):
        seen.append(entry_for((torch.randn(3),)) if x is None else entry_for((x,)))
        return x.sum() if x is not None else None

    x = torch.randn(4, 3)
    vmap(look)(x)
    grad(look)(x)
    with Looking():
        look(x)
    with forward_ad.dual_level():
        look(x)
    with pytest.warns():
        torch.jit.trace(look, x, check_trace=False)
    with FakeTensorMode():
        look(None)
    assert seen and all(entry is None for entry in seen)


def test_nor_one_in_torch_compile():
    seen = []

    def look(x):
        return x + (1 if entry_for((x,)) is None else 0)

    seen = torch.compile(look, backend="eager", fullgraph=True)(torch.zeros(3))
    assert seen.tolist() == [1, 1, 1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about what has no GPU")
def test_what_is_interpreted_is_not_cached():
    x = torch.randn(3)
    entry = entry_for((x,))
    entry["answer"] = 1
    assert entry_for((x,)) == {} and not ENTRIES


# Private names of torch and Triton, which the next release may change.

PRIVATE = [
    (torch._C, "_are_functorch_transforms_active"),
    (torch._C, "_dispatch_keys"),
    (torch._C, "_get_tracing_state"),
    (torch._C, "_len_torch_dispatch_stack"),
    (torch._C, "DispatchKeySet"),
    (torch._C.DispatchKey, "AutocastCUDA"),
    (forward_ad, "_current_level"),
]


def imported_without(owner, name):
    """The module as it is where a private name is missing."""
    spec = importlib.util.spec_from_file_location("launch_cache_without_a_name", module.__file__)
    module_without_name = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(owner, name)
        spec.loader.exec_module(module_without_name)
        assert module_without_name.entry_for((torch.randn(3),)) is None
    return module_without_name


@pytest.mark.parametrize("owner, name", PRIVATE, ids=[name for _, name in PRIVATE])
def test_without_a_private_name_of_torch_triton_is_asked(owner, name, kernel):
    module_without_name, (x, y) = imported_without(owner, name), torch.randn(2, 4, 16)

    def prepare():
        return (1,), (make_descriptor(x), y, 3), {"BLOCK": 16, "num_warps": 4}

    for _ in range(2):
        module_without_name.launch(kernel, module_without_name.entry_for((x, y)), None, (x, y), prepare)
    assert launch_kinds(kernel) == ["asked", "asked"] and not module_without_name.ENTRIES


@pytest.mark.parametrize("name", module.LAUNCHER_ATTRIBUTES)
def test_without_a_name_of_the_launcher_triton_is_asked(name, kernel, monkeypatch):
    x, y = torch.randn(2, 4, 16)
    monkeypatch.delattr(Compiled, name)
    for _ in range(2):
        call(kernel, x, y)
    assert launch_kinds(kernel) == ["asked", "asked"]


def test_triton_hands_its_launcher_what_we_do():
    """A launcher of other arguments would be started wrongly, and nothing but this test says so without a GPU."""
    source = ast.parse(textwrap.dedent(inspect.getsource(JITFunction.run)))
    calls = [node for node in ast.walk(source) if isinstance(node, ast.Call) and ast.unparse(node.func) == "kernel.run"]
    (started,) = [[ast.unparse(argument) for argument in node.args] for node in calls]
    assert started[:6] == ["grid_0", "grid_1", "grid_2", "stream", "kernel.function", "kernel.packed_metadata"]
    hooks = ["knobs.runtime.launch_enter_hook", "knobs.runtime.launch_exit_hook"]
    assert started[6:] == ["launch_metadata", *hooks, "*bound_args.values()"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about what has no GPU")
def test_decode_is_the_same_without_private_names(monkeypatch):
    from kernels.serving.cache import KVCache
    from kernels.serving.decode import decode_attention

    def step():
        torch.manual_seed(0)
        cache = KVCache(torch.arange(2)[None], kv_heads=1, head_dim=16, page_size=16, format="fp16")
        cache.append(*torch.randn(2, 1, 1, 20, 16))
        return decode_attention(torch.randn(1, 1, 1, 16).half(), cache)

    expected = step()
    monkeypatch.setattr(module, "TORCH_IS_KNOWN", False)
    assert step().equal(expected)


# On a GPU.


def calls_on(device):
    """Calls that launch kernels, each a function without arguments that makes its own tensors."""
    from kernels.checks import is_hopper
    from kernels.hopper.attention import hopper_attention
    from kernels.serving.cache import KVCache
    from kernels.serving.decode import decode_attention

    def tensors():
        return [torch.randn(2, 4, 70, 64, device=device, dtype=torch.bfloat16) for _ in range(3)]

    def gradients(function):
        q, k, v = (x.requires_grad_() for x in tensors())
        return torch.autograd.grad(function(q, k, v, is_causal=True).float().sum(), (q, k, v))

    def step(format, portable):
        cache = KVCache(torch.arange(8).view(2, 4), kv_heads=2, head_dim=64, format=format, device=device)
        cache.append(*torch.randn(2, 2, 2, 70, 64, device=device))
        q = torch.randn(2, 4, 1, 64, device=device, dtype=torch.bfloat16)
        return decode_attention(q, cache, portable=portable)

    if is_hopper(device):
        yield lambda: hopper_attention(*tensors(), enable_gqa=True)
        yield lambda: gradients(hopper_attention)
    for format in ("bf16", "fp8", "nvfp4"):
        for portable in (False, True):
            yield lambda format=format, portable=portable: step(format, portable)


@pytest.mark.gpu
def test_on_a_gpu_triton_is_asked_once(device, monkeypatch):
    def refused(*arguments, **options):
        raise AssertionError("Triton was asked")

    for call_it in calls_on(device):
        torch.manual_seed(0)
        expected = call_it()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(JITFunction, "run", refused)
            torch.manual_seed(0)
            results = call_it()
        torch.testing.assert_close(results, expected)
