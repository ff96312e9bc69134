# layers: registry; one file a layer
libcompute_a_SOURCES += \
  src/compute/kernels/layers/conv.c \
  src/compute/kernels/layers/fastconv.c \
  src/compute/kernels/layers/fastconv.h \
  src/compute/kernels/layers/gappy.c \
  src/compute/kernels/layers/graph.c \
  src/compute/kernels/layers/graphpoly.c \
  src/compute/kernels/layers/layer.c \
  src/compute/kernels/layers/layer.h \
  src/compute/kernels/layers/layer_map.c \
  src/compute/kernels/layers/layer_map.h \
  src/compute/kernels/layers/mismatch.c \
  src/compute/kernels/layers/places.h \
  src/compute/kernels/layers/row_layout.h \
  src/compute/kernels/layers/spectrum.c \
  src/compute/kernels/layers/symbol_windows.c \
  src/compute/kernels/layers/symbol_windows.h \
  src/compute/kernels/layers/tanimoto.c \
  src/compute/kernels/layers/tanimotodp.c \
  src/compute/kernels/layers/wd.c \
  src/compute/kernels/layers/windows.c \
  src/compute/kernels/layers/windows.h \
  src/compute/kernels/layers/wordlist.c \
  src/compute/kernels/layers/wordlist.h
