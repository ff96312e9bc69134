# kinds of rows: letters, nodes, counts
libdata_a_SOURCES += \
  src/data/kinds/counts.c \
  src/data/kinds/counts.h \
  src/data/kinds/distance.c \
  src/data/kinds/distance.h \
  src/data/kinds/kind.c \
  src/data/kinds/kind.h \
  src/data/kinds/kind_columns.c \
  src/data/kinds/kind_counts.c \
  src/data/kinds/kind_letters.c \
  src/data/kinds/kind_nodes.c \
  src/data/kinds/kind_note.c \
  src/data/kinds/kind_smiles.c \
  src/data/kinds/kind_type.c \
  src/data/kinds/letter_distance.c \
  src/data/kinds/letter_distance.h \
  src/data/kinds/letters.c \
  src/data/kinds/letters.h \
  src/data/kinds/nodes.c \
  src/data/kinds/nodes.h \
  src/data/kinds/positions.c \
  src/data/kinds/positions.h \
  src/data/kinds/sequence.c \
  src/data/kinds/sequence.h
