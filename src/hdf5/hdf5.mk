# hdf5: the HDF5 library, a module opened for the first HDF5 file (HAVE_HDF5: it was found)
EXTRA_DIST += src/hdf5/module.c
if HAVE_HDF5
backendexec_DATA += libgpdesk-hdf5.so
CLEANFILES += libgpdesk-hdf5.so
libgpdesk-hdf5.so: src/hdf5/module.c src/data/formats/hdf5_calls.h
	$(AM_V_CCLD)$(module_cc) $(HDF5_CFLAGS) -o $@ $(top_srcdir)/src/hdf5/module.c $(LDFLAGS) \
	  $(HDF5_LIBS)
endif
