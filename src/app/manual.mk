# the table of command-line options; manual page and completions, which the program writes itself
libapp_a_SOURCES += \
  src/app/cli.c \
  src/app/cli.h \
  src/app/manual.c \
  src/app/manual.h

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
