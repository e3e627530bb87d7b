// Package prompt reads answers of the person at the terminal.
package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"adsync/base/secret"
)

// Secret reads a secret from the terminal, which does not show it. If standard input is no terminal, its next line is
// the answer. A secret is never an argument: everyone on the machine can read a command line.
func Secret(ctx context.Context, cmd *cobra.Command, question string) (secret.Text, error) {
	in := cmd.InOrStdin()
	if terminal, ok := Terminal(in); ok {
		fmt.Fprint(cmd.ErrOrStderr(), question+" (it is not shown): ")
		answer, err := readHidden(ctx, terminal)
		fmt.Fprintln(cmd.ErrOrStderr())
		return answered(answer, err)
	}
	// It reads byte by byte: the bytes after the line are the next answer.
	var line []byte
	for next := make([]byte, 1); ; {
		n, err := in.Read(next)
		if n == 1 && next[0] != '\n' {
			line = append(line, next[0])
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil && n == 0 {
			continue
		}
		return answered(string(line), err)
	}
}

// Terminal returns the file of a reader or a writer that is a terminal.
func Terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// readHidden reads a line that the terminal does not show. If ctx ends first, it switches the echo on again.
func readHidden(ctx context.Context, terminal *os.File) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return string(a.text), a.err
	case <-ctx.Done():
		// ReadPassword still waits, with the echo off.
		return "", errors.Join(errors.New("it was interrupted"), term.Restore(fd, before))
	}
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
