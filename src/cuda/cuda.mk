# cuda: one more backend, a module opened at run time (HAVE_NVCC says whether it can be built).
# The device part goes through nvcc, the driver and the few files of base that it needs through cc;
# of the program it links nothing.
cuda_headers = src/cuda/affine.h src/cuda/arith.h \
  src/cuda/gradients.h src/cuda/gradients_real.h \
  src/cuda/backend_impl.h src/cuda/batch.h src/cuda/cg.h src/cuda/descent.h src/cuda/device.h \
  src/cuda/device_impl.h src/cuda/exact.h src/cuda/kernels.h src/cuda/many.h src/cuda/many_body.h \
  src/cuda/port.h src/cuda/program.h src/cuda/project.h \
  src/cuda/project_body.h src/cuda/radial.h src/cuda/steps.h src/cuda/steps_real.h \
  src/cuda/sweep.h src/cuda/sweep_body.h
cuda_below = src/base/mem.h src/base/status.h src/base/buf.h src/compute/backend.h \
  src/compute/ctl.h src/compute/phase.h src/compute/features/featmap.h \
  src/compute/kernels/kernel.h src/compute/kernels/layers/layer.h \
  src/compute/kernels/net.h src/compute/pool.h src/compute/features/source.h
dist_doc_DATA += share/doc/devices.md
cuda_driver = src/cuda/affine.c src/cuda/backend.c src/cuda/cg.c src/cuda/chosen.c \
  src/cuda/dense.c src/cuda/descent.c src/cuda/exact.c src/cuda/factor.c src/cuda/gradients.c \
  src/cuda/program.c src/cuda/ranges.c src/cuda/tiles.c
EXTRA_DIST += src/cuda/device.cu src/cuda/device_exact.cu src/cuda/device_linalg.cu \
  $(cuda_driver) $(cuda_headers)

cuda_pic = src/cuda/pic/cuda/affine.o src/cuda/pic/cuda/backend.o src/cuda/pic/cuda/cg.o \
  src/cuda/pic/cuda/chosen.o \
  src/cuda/pic/cuda/dense.o src/cuda/pic/cuda/descent.o \
  src/cuda/pic/cuda/exact.o src/cuda/pic/cuda/factor.o \
  src/cuda/pic/cuda/gradients.o src/cuda/pic/cuda/program.o src/cuda/pic/cuda/ranges.o \
  src/cuda/pic/cuda/tiles.o src/cuda/pic/base/mem.o src/cuda/pic/base/status.o \
  src/cuda/pic/compute/ctl.o
src/cuda/pic/%.o: src/%.c $(cuda_headers) $(cuda_below)
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) \
	  $(AM_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<
MOSTLYCLEANFILES += $(cuda_pic)

# automake installs no data in $(pkglibdir); a directory with "exec" in its name will do.
backendexecdir = $(pkglibdir)
backendexec_DATA =
if HAVE_NVCC
backendexec_DATA += libgpdesk-cuda.so
cuda_device = src/cuda/pic/cuda/device.o src/cuda/pic/cuda/device_exact.o \
  src/cuda/pic/cuda/device_linalg.o
CLEANFILES += libgpdesk-cuda.so $(cuda_device)
src/cuda/pic/cuda/%.o: src/cuda/%.cu $(cuda_headers) $(cuda_below)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -O3 -std=c++17 --diag-suppress 177 $(CUDA_ARCH) \
	  $(CUDA_FLAGS) -Xcompiler -fPIC,-fvisibility=hidden -I$(top_srcdir)/src -c -o $@ $<
libgpdesk-cuda.so: $(cuda_device) $(cuda_pic)
	$(AM_V_CCLD)$(NVCC) --shared --cudart static -Xlinker -zdefs $(CUDA_ARCH) $(CUDA_LDFLAGS) \
	  -o $@ $(cuda_device) $(cuda_pic) -lcusolver -lcublas
endif
