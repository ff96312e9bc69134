/* app/runs/predictor/predictor_text.h -- the files of share/predictors: the fixed text of
 * programs that predict, into which predictor.c puts the numbers of a model. */
#ifndef GPDESK_PREDICTOR_TEXT_H
#define GPDESK_PREDICTOR_TEXT_H

#include "base/embedded.h"

extern const struct embedded predictor_text[];

#endif
