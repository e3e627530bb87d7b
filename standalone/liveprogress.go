package standalone

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"adsync/base/clock"
)

// liveProgress says how far a pull is: in one line of a terminal, else in lines of their own now and then.
type liveProgress struct {
	out      io.Writer
	terminal bool
	last     string
	said     time.Time
	open     bool // the terminal's line is not ended
}

// liveLineInterval is how often a line is written where there is no terminal.
const liveLineInterval = 5 * time.Second

func (p *liveProgress) show(text string, always bool) {
	switch {
	case text == p.last:
	case p.terminal:
		fmt.Fprint(p.out, "\r\x1b[K"+text)
		p.last, p.open = text, true
	case always || p.said.IsZero() || clock.Since(p.said) >= liveLineInterval:
		fmt.Fprintln(p.out, text)
		p.last, p.said = text, clock.Mark()
	}
}

// say writes a line that stays.
func (p *liveProgress) say(format string, args ...any) {
	p.end()
	fmt.Fprintf(p.out, format+"\n", args...)
}

func (p *liveProgress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
