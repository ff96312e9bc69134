# ranks: a backend of several processes that share the rows
dist_doc_DATA += share/doc/ranks.md
libcompute_a_SOURCES += \
  src/compute/ranks/answer.c \
  src/compute/ranks/answer.h \
  src/compute/ranks/ask.c \
  src/compute/ranks/basis_ops.c \
  src/compute/ranks/content.c \
  src/compute/ranks/content.h \
  src/compute/ranks/crew.c \
  src/compute/ranks/crew.h \
  src/compute/ranks/ask.h \
  src/compute/ranks/drawn.c \
  src/compute/ranks/drawn.h \
  src/compute/ranks/hosts.c \
  src/compute/ranks/hosts.h \
  src/compute/ranks/kept.c \
  src/compute/ranks/kept.h \
  src/compute/ranks/opening.c \
  src/compute/ranks/parted.c \
  src/compute/ranks/parted.h \
  src/compute/ranks/places.c \
  src/compute/ranks/places.h \
  src/compute/ranks/rank.c \
  src/compute/ranks/rank.h \
  src/compute/ranks/ranks.c \
  src/compute/ranks/ranks.h \
  src/compute/ranks/ranks_ops.c \
  src/compute/ranks/ranks_impl.h \
  src/compute/ranks/team.c \
  src/compute/ranks/team.h \
  src/compute/ranks/team_meet.c \
  src/compute/ranks/team_start.c \
  src/compute/ranks/wire.c \
  src/compute/ranks/wire.h
