"""A kernel that is launched in a thread which Python did not start, as autograd's backward pass is on a GPU."""

import _thread

import triton


@triton.jit
def kernel(x):
    return x


def apart(x):
    over = _thread.allocate_lock()
    over.acquire()
    _thread.start_new_thread(backward, (x, over))
    over.acquire()


def backward(x, over):
    helper(x)
    launch(x)
    over.release()


def launch(x):
    kernel[(1,)](x)


def helper(x):
    return x
