# drawn feature maps, their operator, Gram matrices, sources of rows
libcompute_a_SOURCES += \
  src/compute/features/circular.c \
  src/compute/features/circular.h \
  src/compute/features/featmap.c \
  src/compute/features/featmap.h \
  src/compute/features/fop.c \
  src/compute/features/fop.h \
  src/compute/features/fop_bounds.c \
  src/compute/features/fop_impl.h \
  src/compute/features/fop_panel.c \
  src/compute/features/fop_panel.h \
  src/compute/features/fop_products.c \
  src/compute/features/fop_rows.c \
  src/compute/features/fop_rows.h \
  src/compute/features/fop_softmax.c \
  src/compute/features/gram.c \
  src/compute/features/gram.h \
  src/compute/features/hash.c \
  src/compute/features/hash.h \
  src/compute/features/interp.c \
  src/compute/features/interp.h \
  src/compute/features/learned.c \
  src/compute/features/learned.h \
  src/compute/features/slope.c \
  src/compute/features/slope.h \
  src/compute/features/source.c \
  src/compute/features/source.h \
  src/compute/features/tensor.c \
  src/compute/features/tensor.h \
  src/compute/features/words.c \
  src/compute/features/words.h
