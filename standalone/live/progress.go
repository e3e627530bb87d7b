package live

import (
	"fmt"
	"io"
	"time"

	"adsync/base/clock"
)

// progress shows the progress of a pull: in one line of a terminal, otherwise in separate lines every lineInterval.
type progress struct {
	out      io.Writer
	terminal bool
	last     string
	said     time.Time
	open     bool // the terminal's line is not ended
}

// lineInterval is how often a line is written without a terminal.
const lineInterval = 5 * time.Second

func (p *progress) show(text string, always bool) {
	switch {
	case text == p.last:
	case p.terminal:
		fmt.Fprint(p.out, "\r\x1b[K"+text)
		p.last, p.open = text, true
	case always || p.said.IsZero() || clock.Since(p.said) >= lineInterval:
		fmt.Fprintln(p.out, text)
		p.last, p.said = text, clock.Mark()
	}
}

// say writes a line that stays.
func (p *progress) say(format string, args ...any) {
	p.end()
	fmt.Fprintf(p.out, format+"\n", args...)
}

func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}
