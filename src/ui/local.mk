# ui: the screen, the prompt, the plain line mode.  Knows app, compute and base.
noinst_LIBRARIES += libui.a
libui_a_SOURCES =
