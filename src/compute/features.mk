# kernels, drawn feature maps, their interpreter, thread pool, random numbers
libcompute_a_SOURCES += \
  src/compute/backend.h \
  src/compute/featmap.h \
  src/compute/fop.h \
  src/compute/kernel.h \
  src/compute/pool.h \
  src/compute/rng.h \
  src/compute/source.h
