package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"adsync/base/secret"
)

// askSecret asks for a secret on the terminal, which does not show it. Where standard input is no terminal, its next line
// is the answer. It is never an argument: a command line can be read by everyone on the machine.
func askSecret(cmd *cobra.Command, question string) (secret.Text, error) {
	in := cmd.InOrStdin()
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(cmd.ErrOrStderr(), question+" (it is not shown): ")
		answer, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		return answered(string(answer), err)
	}
	line, err := bufio.NewReader(in).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return answered(line, err)
}

func answered(text string, err error) (secret.Text, error) {
	if err != nil {
		return secret.Text{}, fmt.Errorf("read the answer: %w", err)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return secret.Text{}, errNoAnswer
	}
	return secret.NewText(text), nil
}

var errNoAnswer = errors.New("there was no answer on the terminal or standard input")

// operator names who works at the command line, for the audit log.
func (a *app) operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "cli:" + u.Username
	}
	return "cli"
}
