# molecules: RDKit in a program of its own, the only one in C++ (HAVE_RDKIT says whether it can be
# built).  Of gpdesk it includes nothing; they share protocol.h.
pkglibexecdir = $(libexecdir)/gpdesk
pkglibexec_PROGRAMS =
if HAVE_RDKIT
pkglibexec_PROGRAMS += gpdesk-molecules
endif
gpdesk_molecules_SOURCES = src/molecules/main.cc src/molecules/protocol.h
# Without sanitizers: they take more address space than its limit of memory.
AM_CXXFLAGS = -std=c++17 $(WARN_CXXFLAGS) $(RDKIT_CPPFLAGS)
gpdesk_molecules_LDFLAGS =
gpdesk_molecules_LDADD = $(RDKIT_LIBS)
