# commands that look at a fit before and after it
libapp_a_SOURCES += \
	src/app/advise.c src/app/advise.h \
	src/app/cmd_diag.c \
	src/app/rowlook.c src/app/rowlook.h \
	src/app/spectral.c src/app/spectral.h \
	src/app/study.c src/app/study.h \
	src/app/why.c src/app/why.h
