# app: commands, jobs, plots, sessions.  Knows data, figure, compute and base.  An archive for each
# folder: linked from the top down, so that an upward call does not link.
app_archives = libcommands.a libteach.a libplots.a libruns.a libsession.a libcore.a libshell.a
include $(srcdir)/src/app/shell/shell.mk
include $(srcdir)/src/app/core/core.mk
include $(srcdir)/src/app/session/session.mk
include $(srcdir)/src/app/runs/runs.mk
include $(srcdir)/src/app/plots/plots.mk
include $(srcdir)/src/app/teach/teach.mk
include $(srcdir)/src/app/commands/commands.mk
dist_doc_DATA += share/doc/diagnosis.md share/doc/export.md share/doc/plots.md \
  share/doc/sessions.md \
  share/doc/solvers.md share/doc/targets.md share/doc/classes.md share/doc/behaviour.md \
  share/doc/overview.md
