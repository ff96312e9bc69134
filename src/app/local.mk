# app: datasets, commands, jobs, plots, sessions.  Knows compute and base.
noinst_LIBRARIES += libapp.a
libapp_a_SOURCES =
include $(srcdir)/src/app/data.mk
include $(srcdir)/src/app/plot.mk
include $(srcdir)/src/app/core.mk
include $(srcdir)/src/app/model.mk
include $(srcdir)/src/app/diag.mk
include $(srcdir)/src/app/store.mk
include $(srcdir)/src/app/screen.mk
include $(srcdir)/src/app/teach.mk
include $(srcdir)/src/app/time.mk
include $(srcdir)/src/app/manual.mk
