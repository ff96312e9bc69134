# ui: the screen, the prompt, the plain line mode.  Knows app, compute and base.
noinst_LIBRARIES += libui.a
libui_a_SOURCES = \
  src/ui/picker.c src/ui/picker.h \
  src/ui/requests.c src/ui/requests.h \
  src/ui/desk.c src/ui/desk.h \
  src/ui/draw.c src/ui/draw.h \
  src/ui/input.c src/ui/input.h \
  src/ui/keymap.c src/ui/keymap.h \
  src/ui/keys.c src/ui/keys.h \
  src/ui/logbook.c src/ui/logbook.h \
  src/ui/lifecycle.c src/ui/lifecycle.h \
  src/ui/plain.c \
  src/ui/picture.c src/ui/picture.h \
  src/ui/plotpane.c src/ui/plotpane.h \
  src/ui/prompt.c src/ui/prompt.h \
  src/ui/screen.c src/ui/screen.h \
  src/ui/terminal.c src/ui/terminal.h \
  src/ui/theme.c src/ui/theme.h \
  src/ui/ui.c src/ui/ui.h \
  src/ui/view.c src/ui/view.h \
  src/ui/views/axes.c src/ui/views/axes.h \
  src/ui/views/calib.c \
  src/ui/views/data.c \
  src/ui/views/figures.c src/ui/views/figures.h \
  src/ui/views/lesson.c \
  src/ui/views/log.c \
  src/ui/views/nmll.c \
  src/ui/views/pca.c \
  src/ui/views/rank.c \
  src/ui/views/residual.c \
  src/ui/views/runs.c src/ui/views/runs.h \
  src/ui/views/trace.c src/ui/views/trace.h \
  src/ui/views/words.c src/ui/views/words.h
