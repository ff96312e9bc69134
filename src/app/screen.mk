# commands about the screen, bound keys, the palette
libapp_a_SOURCES += \
  src/app/bindings.c \
  src/app/bindings.h \
  src/app/cmd_screen.c \
  src/app/palette.c \
  src/app/palette.h
