"""The backward pass of attention on Hopper GPUs, in Gluon: ``gradients`` has the function."""
