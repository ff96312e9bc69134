# records, arguments, commands and their parser, options, bindings, completion, scripts, help
noinst_LIBRARIES += libshell.a
libshell_a_SOURCES = \
  src/app/shell/args.c \
  src/app/shell/args.h \
  src/app/shell/args_impl.h \
  src/app/shell/args_values.c \
  src/app/shell/args_words.c \
  src/app/shell/bindings.c \
  src/app/shell/bindings.h \
  src/app/shell/cli.c \
  src/app/shell/cli.h \
  src/app/shell/command.c \
  src/app/shell/command.h \
  src/app/shell/complete.c \
  src/app/shell/help.c \
  src/app/shell/help.h \
  src/app/shell/import_args.c \
  src/app/shell/import_args.h \
  src/app/shell/manual.c \
  src/app/shell/manual.h \
  src/app/shell/options.c \
  src/app/shell/options.h \
  src/app/shell/palette.c \
  src/app/shell/palette.h \
  src/app/shell/rec.c \
  src/app/shell/rec.h \
  src/app/shell/registry_words.c \
  src/app/shell/registry_words.h \
  src/app/shell/script.c \
  src/app/shell/script.h \
  src/app/shell/text_table.c \
  src/app/shell/text_table.h \
  src/app/shell/words.c \
  src/app/shell/words.h

# The manual page and completions, which the program writes itself.
nodist_man1_MANS = share/man/gpdesk.1
bashcompdir = $(datadir)/bash-completion/completions
nodist_bashcomp_DATA = share/completions/gpdesk
zshcompdir = $(datadir)/zsh/site-functions
nodist_zshcomp_DATA = share/completions/_gpdesk
fishcompdir = $(datadir)/fish/vendor_completions.d
nodist_fishcomp_DATA = share/completions/gpdesk.fish
CLEANFILES += share/man/gpdesk.1 share/completions/gpdesk share/completions/_gpdesk \
  share/completions/gpdesk.fish

ask_for = $(AM_V_GEN)$(MKDIR_P) $(@D) && ./gpdesk$(EXEEXT) --dump=
share/man/gpdesk.1: gpdesk$(EXEEXT)
	$(ask_for)man > $@.tmp && mv -f $@.tmp $@
share/completions/gpdesk: gpdesk$(EXEEXT)
	$(ask_for)bash > $@.tmp && mv -f $@.tmp $@
share/completions/_gpdesk: gpdesk$(EXEEXT)
	$(ask_for)zsh > $@.tmp && mv -f $@.tmp $@
share/completions/gpdesk.fish: gpdesk$(EXEEXT)
	$(ask_for)fish > $@.tmp && mv -f $@.tmp $@

# make html: the whole manual, for a browser
EXTRA_DIST += share/html/make.sh share/html/style.css
html-local: gpdesk$(EXEEXT)
	$(SHELL) '$(srcdir)/share/html/make.sh' '$(srcdir)' ./gpdesk$(EXEEXT) html gallery
clean-local-html:
	rm -rf html
clean-local: clean-local-html
.PHONY: clean-local-html
