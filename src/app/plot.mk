# figures as data, their renderings, the gnuplot child
libapp_a_SOURCES += \
  src/app/figure.c \
  src/app/figure.h \
  src/app/figure_describe.c \
  src/app/figure_gnuplot.c \
  src/app/figure_layout.c \
  src/app/figure_layout.h \
  src/app/figure_pane.c \
  src/app/figure_svg.c \
  src/app/figure_text.c \
  src/app/gnuplot.c \
  src/app/gnuplot.h \
  src/app/gnuplot_child.c \
  src/app/gnuplot_child.h \
  src/app/plot_export.c
