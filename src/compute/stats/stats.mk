# spectra, diagnosis, kernel PCA, k-means, metrics; numerics of plots: neighbours, parts, processes
libcompute_a_SOURCES += \
  src/compute/stats/accuracy.c \
  src/compute/stats/accuracy.h \
  src/compute/stats/acquisition.c \
  src/compute/stats/acquisition.h \
  src/compute/stats/baseline.c \
  src/compute/stats/baseline.h \
  src/compute/stats/calibration.c \
  src/compute/stats/calibration.h \
  src/compute/stats/class_scores.c \
  src/compute/stats/class_scores.h \
  src/compute/stats/diagnose.c \
  src/compute/stats/diagnose.h \
  src/compute/stats/effects.c \
  src/compute/stats/effects.h \
  src/compute/stats/judgement.c \
  src/compute/stats/judgement.h \
  src/compute/stats/kmeans.c \
  src/compute/stats/kpca.c \
  src/compute/stats/kpca.h \
  src/compute/stats/label_scores.c \
  src/compute/stats/label_scores.h \
  src/compute/stats/metrics.c \
  src/compute/stats/metrics.h \
  src/compute/stats/neighbours.c \
  src/compute/stats/neighbours.h \
  src/compute/stats/parts.c \
  src/compute/stats/parts.h \
  src/compute/stats/process.c \
  src/compute/stats/process.h \
  src/compute/stats/reach.c \
  src/compute/stats/reach.h \
  src/compute/stats/ritz.c \
  src/compute/stats/ritz.h \
  src/compute/stats/spectrum.c \
  src/compute/stats/spectrum.h
