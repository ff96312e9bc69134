# figures as data, their renderings, the gnuplot child
libapp_a_SOURCES += \
  src/app/figure.c \
  src/app/figure.h \
  src/app/figure_gnuplot.c \
  src/app/figure_layout.c \
  src/app/figure_layout.h \
  src/app/figure_text.c \
  src/app/gnuplot.h
