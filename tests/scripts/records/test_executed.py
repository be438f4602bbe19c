"""What runs beside a snippet sees every function and kernel of ours that ran, on every Python."""

import json
import os
import subprocess
import sys

import pytest

COUNTER = [f"Counter.{name}" for name in ("__init__", "at", "double", "up")]
KERNELS = ["given", "kernel", "launch", "warmed_up"]  # their helpers are found in the source


def executed(house, python: str, body: str) -> list[str]:
    """Without Jupyter, since the other Pythons have no nbclient; 3.12 watches by another means than 3.11."""
    paths = (house.root / "scripts/records", house.root, house.root / "stubs")
    run = [python, "-c", f"import executed; executed.start(); {body}; executed.report()"]
    environment = house.environment(PYTHONPATH=os.pathsep.join(map(str, paths)))
    printed = subprocess.run(run, cwd=house.root, env=environment, capture_output=True, text=True, check=True)
    return json.loads(printed.stdout.splitlines()[-1])["executed"]


@pytest.mark.parametrize(
    "name, names",
    [
        ("chain", [*(f"base:{name}" for name in COUNTER), "base:double", "middle:quadruple"]),
        ("kernel", [f"launch:{name}" for name in KERNELS]),
        ("child", ["child:apart", "child:command", "child:inside", *(f"launch:{name}" for name in KERNELS)]),
    ],
)
def test_functions_methods_kernels_and_other_pythons_are_seen(house, any_python, name, names):
    once = f"exec(open('snippets/chapter/{name}.py').read(), {{}})"
    assert executed(house, any_python, f"{once}; {once}") == [f"kernels.{name}" for name in names]


def test_a_launch_in_a_thread_that_python_did_not_start_is_seen(house, any_python):
    """Python 3.11 sees of such a thread only who launches; from 3.12 every function is seen."""
    seen = set(executed(house, any_python, "from kernels.threads import apart; apart(1)"))
    least = {f"kernels.threads:{name}" for name in ("apart", "backward", "launch", "kernel")}
    assert least <= seen <= least | {"kernels.threads:helper"}
    ask = [any_python, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"]
    assert ("kernels.threads:helper" in seen) == (subprocess.run(ask).returncode == 0)


CUSTOM_OPERATOR = """
import torch, triton
from torch import Tensor


@triton.jit
def forward_kernel(x):
    pass


@triton.jit
def backward_kernel(x):
    pass


@torch.library.custom_op("house::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    forward_kernel[(1,)](x)
    return 2 * x


@torch.library.custom_op("house::twice_backward", mutates_args=())
def twice_backward(gradient: Tensor) -> Tensor:
    backward_kernel[(1,)](gradient)
    return 2 * gradient


def backward(context, gradient):
    return twice_backward(gradient)


twice.register_autograd(backward)
"""

RUN_CUSTOM_OPERATOR = """
import _thread, torch
from triton.runtime.jit import JITFunction
from scripts.records import executed
JITFunction.run = lambda *arguments, **options: None  # there is no GPU
executed.start()
from kernels.operator import twice
x = torch.ones(3, requires_grad=True)
y, over = twice(x), _thread.allocate_lock()
over.acquire()
_thread.start_new_thread(lambda: (y.sum().backward(), over.release()), ())
over.acquire()
assert x.grad.tolist() == [2, 2, 2]
executed.report()
"""


def test_kernels_of_a_custom_operator_and_of_its_backward_pass_are_seen(house):
    """With the real torch and the real Triton; the backward pass in another thread."""
    (house.root / "kernels" / "operator.py").write_text(CUSTOM_OPERATOR)
    environment = os.environ | {"PYTHONPATH": str(house.root), "TRITON_INTERPRET": "0"}
    run = [sys.executable, "-c", RUN_CUSTOM_OPERATOR]
    printed = subprocess.run(run, cwd=house.root, env=environment, capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    names = ["backward", "backward_kernel", "forward_kernel", "twice", "twice_backward"]
    assert json.loads(printed.stdout.splitlines()[-1])["executed"] == [f"kernels.operator:{name}" for name in names]
