"""The backward pass of attention on Hopper GPUs, in Gluon: ``call`` has the function."""
