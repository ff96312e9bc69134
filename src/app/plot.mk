# figures as data, their renderings, the gnuplot child
libapp_a_SOURCES += \
  src/app/figure.c \
  src/app/figure.h \
  src/app/figure_cells.c \
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
  src/app/landscape.c \
  src/app/landscape.h \
  src/app/plot_export.c \
  src/app/plot_job.c \
  src/app/plot_job.h \
  src/app/plot_show.c \
  src/app/plot_show.h \
  src/app/plots.h \
  src/app/plots_data.c \
  src/app/plots_letters.c \
  src/app/plots_model.c \
  src/app/plots_run.c
dist_doc_DATA += share/doc/plots.md
