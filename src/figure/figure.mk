# figure: figures as data, their renderings, the gnuplot child.  Knows base, and how compute is
# stopped.
noinst_LIBRARIES += libfigure.a
libfigure_a_SOURCES =
libfigure_a_SOURCES += \
  src/figure/document.c \
  src/figure/document.h \
  src/figure/document_html.c \
  src/figure/document_pdf.c \
  src/figure/figure.c \
  src/figure/figure.h \
  src/figure/figure_cells.c \
  src/figure/figure_describe.c \
  src/figure/figure_gnuplot.c \
  src/figure/figure_layout.c \
  src/figure/figure_layout.h \
  src/figure/figure_letters.c \
  src/figure/figure_letters.h \
  src/figure/figure_pane.c \
  src/figure/figure_svg.c \
  src/figure/figure_text.c \
  src/figure/gnuplot.c \
  src/figure/gnuplot.h \
  src/figure/gnuplot_child.c \
  src/figure/gnuplot_child.h \
  src/figure/plot_export.c \
  src/figure/plot_show.c \
  src/figure/plot_show.h \
  src/figure/sketch.c \
  src/figure/sketch.h
