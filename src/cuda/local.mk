# cuda: one more backend, a module opened at run time (HAVE_NVCC says whether it can be built).
