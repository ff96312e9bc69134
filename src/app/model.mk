# commands that tune, fit, predict and score
libapp_a_SOURCES +=
