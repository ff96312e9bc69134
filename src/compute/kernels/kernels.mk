# kernels: registry, parser, printer, binding; one file a kernel
libcompute_a_SOURCES += \
  src/compute/kernels/arccos.c \
  src/compute/kernels/cauchy.c \
  src/compute/kernels/cnn.c \
  src/compute/kernels/constant.c \
  src/compute/kernels/erf.c \
  src/compute/kernels/kernel.c \
  src/compute/kernels/kernel.h \
  src/compute/kernels/kernel_bind.c \
  src/compute/kernels/kernel_exact.c \
  src/compute/kernels/kernel_hp.c \
  src/compute/kernels/kernel_learned.c \
  src/compute/kernels/kernel_parse.c \
  src/compute/kernels/kernel_print.c \
  src/compute/kernels/kernel_shared.c \
  src/compute/kernels/kernel_tile.c \
  src/compute/kernels/kernel_tile.h \
  src/compute/kernels/kernels.h \
  src/compute/kernels/linear.c \
  src/compute/kernels/matern.c \
  src/compute/kernels/mlp.c \
  src/compute/kernels/net.c \
  src/compute/kernels/net.h \
  src/compute/kernels/net_real.h \
  src/compute/kernels/periodic.c \
  src/compute/kernels/poly.c \
  src/compute/kernels/rbf.c \
  src/compute/kernels/rq.c
