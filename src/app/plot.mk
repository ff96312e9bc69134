# figures as data, their renderings, the gnuplot child
libapp_a_SOURCES += \
  src/app/figure.h \
  src/app/gnuplot.h
