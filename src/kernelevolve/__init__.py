"""kernelevolve: searches for faster kernels and proves that they are. Importing does nothing else."""

__version__ = "0.1.0"
