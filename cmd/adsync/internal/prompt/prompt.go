// Package prompt asks the person at the terminal.
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

// Secret asks for a secret on the terminal, which does not show it. Where standard input is no terminal, its next line
// is the answer. It is never an argument: a command line can be read by everyone on the machine.
func Secret(ctx context.Context, cmd *cobra.Command, question string) (secret.Text, error) {
	in := cmd.InOrStdin()
	if terminal, ok := Terminal(in); ok {
		fmt.Fprint(cmd.ErrOrStderr(), question+" (it is not shown): ")
		answer, err := readHidden(ctx, terminal)
		fmt.Fprintln(cmd.ErrOrStderr())
		return answered(answer, err)
	}
	// Byte by byte: what comes after the line is the answer to the next question.
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

// Terminal returns the terminal that a reader or a writer is, if it is one.
func Terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// readHidden reads a line that the terminal does not show. When ctx ends first, the terminal shows again what is typed.
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
		return "", errors.Join(errors.New("it was interrupted"), term.Restore(fd, before)) // The reader still waits, with the echo off.
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
