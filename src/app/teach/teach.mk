# lessons and explanations; their texts are compiled in
noinst_LIBRARIES += libteach.a
libteach_a_SOURCES = \
  src/app/teach/explain.c \
  src/app/teach/explain.h \
  src/app/teach/lesson.c \
  src/app/teach/lesson.h \
  src/app/teach/lesson_parse.c \
  src/app/teach/lesson_text.h \
  src/app/teach/placeholder.c \
  src/app/teach/placeholder.h
nodist_libteach_a_SOURCES = src/app/teach/lesson_text.c src/app/teach/help_text.c

lesson_files = share/lessons/01-functions.lesson \
  share/lessons/02-conditioning.lesson \
  share/lessons/03-lengthscale-noise.lesson \
  share/lessons/04-likelihood.lesson \
  share/lessons/05-kernels-combine.lesson \
  share/lessons/06-honest.lesson \
  share/lessons/07-random-features.lesson \
  share/lessons/08-conditioning-number.lesson \
  share/lessons/09-rank.lesson \
  share/lessons/10-solvers-race.lesson \
  share/lessons/11-tolerance.lesson \
  share/lessons/12-next-experiment.lesson \
  share/lessons/13-beyond-vectors.lesson \
  share/lessons/14-your-own.lesson \
  share/lessons/15-what-it-keeps.lesson \
  share/lessons/16-probability.lesson \
  share/lessons/tour.lesson
help_files = share/help/messages.txt share/help/numbers.txt share/help/views.txt
lessonsdir = $(pkgdatadir)/lessons
dist_lessons_DATA = $(lesson_files)
EXTRA_DIST += src/app/embed_text.awk $(help_files)
CLEANFILES += src/app/teach/lesson_text.c src/app/teach/help_text.c
src/app/teach/lesson_text.c: src/app/embed_text.awk $(lesson_files)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && (cd '$(srcdir)' && $(AWK) -v array=lesson_text \
	  -v header=app/teach/lesson_text.h \
	  -f src/app/embed_text.awk $(lesson_files)) > $@.tmp && mv -f $@.tmp $@
src/app/teach/help_text.c: src/app/embed_text.awk $(help_files)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && (cd '$(srcdir)' && $(AWK) -v array=help_text \
	  -v header=app/teach/lesson_text.h \
	  -f src/app/embed_text.awk $(help_files)) > $@.tmp && mv -f $@.tmp $@
dist_doc_DATA += share/doc/lessons.md
