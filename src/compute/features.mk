# kernels, drawn feature maps, their interpreter, thread pool, random numbers
libcompute_a_SOURCES += \
  src/compute/backend.h \
  src/compute/backend_cpu.c \
  src/compute/cpu.c \
  src/compute/featmap.c \
  src/compute/featmap.h \
  src/compute/fop.c \
  src/compute/fop.h \
  src/compute/gram.c \
  src/compute/gram.h \
  src/compute/interp.c \
  src/compute/interp.h \
  src/compute/kernel.c \
  src/compute/kernel.h \
  src/compute/kernels/cauchy.c \
  src/compute/kernels/kernels.h \
  src/compute/kernels/matern.c \
  src/compute/kernels/rbf.c \
  src/compute/kernels/rq.c \
  src/compute/pool.c \
  src/compute/pool.h \
  src/compute/rng.c \
  src/compute/rng.h \
  src/compute/simd.h \
  src/compute/simd_amx.c \
  src/compute/simd_avx2.c \
  src/compute/simd_avx512.c \
  src/compute/simd_level.h \
  src/compute/simd_portable.c \
  src/compute/simd_real.h \
  src/compute/source.c \
  src/compute/source.h
