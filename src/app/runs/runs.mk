# tunings, fits and what looks at them: jobs and the state they leave
noinst_LIBRARIES += libruns.a
libruns_a_SOURCES = \
  src/app/runs/advise.c \
  src/app/runs/advise.h \
  src/app/runs/alike.c \
  src/app/runs/alike.h \
  src/app/runs/bo/bo.c \
  src/app/runs/bo/bo.h \
  src/app/runs/bo/bo_figure.c \
  src/app/runs/bo/bo_impl.h \
  src/app/runs/bo/bo_rounds.c \
  src/app/runs/bo/bo_world.c \
  src/app/runs/cliffs.c \
  src/app/runs/cliffs.h \
  src/app/runs/clustering.c \
  src/app/runs/clustering.h \
  src/app/runs/effects_draw.c \
  src/app/runs/effects_draw.h \
  src/app/runs/effects_run.c \
  src/app/runs/effects_run.h \
  src/app/runs/export.c \
  src/app/runs/export.h \
  src/app/runs/fit_setup.c \
  src/app/runs/fit_setup.h \
  src/app/runs/fit_start.c \
  src/app/runs/fit_start.h \
  src/app/runs/fitting.c \
  src/app/runs/fitting.h \
  src/app/runs/fitting_scales.c \
  src/app/runs/importance.c \
  src/app/runs/importance.h \
  src/app/runs/inducing_run.c \
  src/app/runs/inducing_run.h \
  src/app/runs/interactions.c \
  src/app/runs/interactions.h \
  src/app/runs/intervals.c \
  src/app/runs/intervals.h \
  src/app/runs/molecules/molecule_list.c \
  src/app/runs/molecules/molecule_list.h \
  src/app/runs/molecules/molecule_sketch.c \
  src/app/runs/molecules/molecule_sketch.h \
  src/app/runs/movable.c \
  src/app/runs/movable.h \
  src/app/runs/movable_positions.c \
  src/app/runs/predictor/predictor.c \
  src/app/runs/predictor/predictor.h \
  src/app/runs/predictor/predictor_steps.c \
  src/app/runs/predictor/predictor_steps.h \
  src/app/runs/predictor/predictor_text.h \
  src/app/runs/race.c \
  src/app/runs/race.h \
  src/app/runs/restarts.c \
  src/app/runs/restarts.h \
  src/app/runs/row_columns.c \
  src/app/runs/row_columns.h \
  src/app/runs/row_inspect.c \
  src/app/runs/row_inspect.h \
  src/app/runs/scoring/calibrating.c \
  src/app/runs/scoring/calibrating.h \
  src/app/runs/scoring/calibrating_classes.c \
  src/app/runs/scoring/calibrating_classes.h \
  src/app/runs/scoring/class_facts.c \
  src/app/runs/scoring/class_facts.h \
  src/app/runs/scoring/domain.c \
  src/app/runs/scoring/domain.h \
  src/app/runs/scoring/map_unseen.c \
  src/app/runs/scoring/map_unseen.h \
  src/app/runs/scoring/row_class.c \
  src/app/runs/scoring/row_class.h \
  src/app/runs/scoring/paired.c \
  src/app/runs/scoring/paired.h \
  src/app/runs/scoring/predict_columns.c \
  src/app/runs/scoring/predict_columns.h \
  src/app/runs/scoring/repeats.c \
  src/app/runs/scoring/repeats.h \
  src/app/runs/scoring/scoring.c \
  src/app/runs/scoring/scoring.h \
  src/app/runs/scoring/scoring_baseline.c \
  src/app/runs/scoring/scoring_check.c \
  src/app/runs/scoring/scoring_csv.c \
  src/app/runs/scoring/scoring_folds.c \
  src/app/runs/scoring/scoring_functions.c \
  src/app/runs/scoring/scoring_impl.h \
  src/app/runs/scoring/scoring_labels.c \
  src/app/runs/scoring/scoring_tell.c \
  src/app/runs/scoring/scoring_units.c \
  src/app/runs/spectrum_run.c \
  src/app/runs/spectrum_run.h \
  src/app/runs/asking.c \
  src/app/runs/asking.h \
  src/app/runs/suggesting.c \
  src/app/runs/suggesting.h \
  src/app/runs/sweep.c \
  src/app/runs/sweep.h \
  src/app/runs/sweep_measures.c \
  src/app/runs/sweep_measures.h \
  src/app/runs/telling.c \
  src/app/runs/telling.h \
  src/app/runs/verdict.c \
  src/app/runs/verdict.h \
  src/app/runs/why.c \
  src/app/runs/why.h \
  src/app/runs/why_classes.c \
  src/app/runs/why_classes.h \
  src/app/runs/words/motif_run.c \
  src/app/runs/words/motif_run.h \
  src/app/runs/words/word_list.c \
  src/app/runs/words/word_list.h \
  src/app/runs/words/word_profile.c \
  src/app/runs/words/word_profile.h \
  src/app/runs/words/word_repeats.c \
  src/app/runs/words/word_repeats.h \
  src/app/runs/words/words_run.c \
  src/app/runs/words/words_run.h
nodist_libruns_a_SOURCES = src/app/runs/predictor/predictor_text.c

predictor_files = share/predictors/predictor.py share/predictors/features.py \
  share/predictors/exact.py share/predictors/predictor.c share/predictors/features.c \
  share/predictors/exact.c share/predictors/steps.py share/predictors/steps.c \
  share/predictors/classes.py share/predictors/classes.c
EXTRA_DIST += $(predictor_files)
CLEANFILES += src/app/runs/predictor/predictor_text.c
src/app/runs/predictor/predictor_text.c: src/app/embed_text.awk $(predictor_files)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && (cd '$(srcdir)' && $(AWK) -v array=predictor_text \
	  -v header=app/runs/predictor/predictor_text.h \
	  -f src/app/embed_text.awk $(predictor_files)) > $@.tmp && mv -f $@.tmp $@
