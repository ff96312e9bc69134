# commands that tune, fit, predict, score and plot
libapp_a_SOURCES += \
	src/app/clustering.c src/app/clustering.h \
	src/app/cmd_model.c \
	src/app/cmd_plot.c \
	src/app/fitting.c src/app/fitting.h \
	src/app/plots.c \
	src/app/race.c src/app/race.h \
	src/app/restarts.c src/app/restarts.h \
	src/app/scoring.c src/app/scoring.h \
	src/app/trace.c src/app/trace.h
