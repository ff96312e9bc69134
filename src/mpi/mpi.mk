# mpi: the collective calls of MPI, a module opened at run time (HAVE_MPI: ompi-c was found)
EXTRA_DIST += src/mpi/module.c
if HAVE_MPI
backendexec_DATA += libgpdesk-mpi.so
CLEANFILES += libgpdesk-mpi.so
libgpdesk-mpi.so: src/mpi/module.c src/compute/ranks/crew.h src/base/status.h
	$(AM_V_CCLD)$(module_cc) $(MPI_CFLAGS) -o $@ $(top_srcdir)/src/mpi/module.c $(LDFLAGS) \
	  $(MPI_LIBS)
endif
