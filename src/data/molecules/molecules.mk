# molecules from SMILES: the processes that read them, and what needs no chemistry
libdata_a_SOURCES += \
  src/data/molecules/drawing.c \
  src/data/molecules/drawing.h \
  src/data/molecules/fingerprint.c \
  src/data/molecules/fingerprint.h \
  src/data/molecules/helper.c \
  src/data/molecules/helper.h \
  src/data/molecules/lingo.c \
  src/data/molecules/lingo.h \
  src/data/molecules/molecule_repeats.c \
  src/data/molecules/molecule_repeats.h \
  src/data/molecules/molecule_rows.c \
  src/data/molecules/molecule_rows.h \
  src/data/molecules/molecule_step.c \
  src/data/molecules/molecule_step.h \
  src/data/molecules/molecules.c \
  src/data/molecules/molecules.h \
  src/data/molecules/smiles.c \
  src/data/molecules/smiles.h \
  src/data/molecules/smiles_column.c \
  src/data/molecules/smiles_column.h \
  src/data/molecules/smiles_syntax.c \
  src/data/molecules/smiles_syntax.h
