package standalone

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"adsync/base/money"
	"adsync/base/task"
	simworld "adsync/simulator/world"
)

// screen shows the status: in place on a terminal, otherwise as plain lines at intervals.
type screen struct {
	out       io.Writer
	terminal  bool
	addresses []string // of the page and the simulator
	shell     string   // the command line that runs a statement in the data database, for the query under the tables
	tips      []string // what else to try
}

// Intervals of the screen.
const (
	redrawInterval = time.Second
	lineInterval   = 10 * time.Second
)

// run shows the status that read returns until ctx ends.
func (s *screen) run(ctx context.Context, read func(context.Context) (status, error)) {
	interval := lineInterval
	if s.terminal {
		interval = redrawInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	said := false
	if !s.terminal {
		fmt.Fprint(s.out, strings.Join(s.addresses, "\n")+"\n"+s.tried())
	}
	for {
		now, err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			fmt.Fprintln(s.out, "status:", err)
		case s.terminal:
			s.redraw(now)
		default:
			if !said && len(now.Spend) > 0 {
				fmt.Fprint(s.out, s.query(now))
				said = true
			}
			fmt.Fprint(s.out, plain(now))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *screen) redraw(now status) {
	picture := render(now) + "\n" + s.next(now)
	// The picture starts at the top left and clears the screen, so that wrapped lines need no counting.
	fmt.Fprint(s.out, "\x1b[H\x1b[J"+picture)
}

// next returns what to try, with the query's present answer.
func (s *screen) next(now status) string {
	var b strings.Builder
	for _, address := range s.addresses {
		b.WriteString(address + "\n")
	}
	return b.String() + "\n" + s.tried() + s.query(now)
}

// query returns a query over the summaries, with its answer.
func (s *screen) query(now status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s \"%s\"\n", s.shell, now.Query)
	for _, row := range now.Spend {
		fmt.Fprintf(&b, "    %s\n", strings.Join(row, "|"))
	}
	return b.String()
}

// tried returns what to try.
func (s *screen) tried() string {
	var b strings.Builder
	b.WriteString("try next:\n")
	for _, tip := range s.tips {
		b.WriteString("  " + tip + "\n")
	}
	return b.String()
}

// render draws the tables of a status, without colours, so that it is readable on light and dark terminals.
func render(s status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the world's clock  %s\n\n", s.World.In(simworld.Zone).Format("2006-01-02 15:04:05 -07:00"))
	fmt.Fprintf(&b, "%-12s %15s %15s %11s  %8s %6s %6s %6s %7s  %s\n", "MEDIA", "CNY TODAY", "PLATFORM SAYS", "DIFFERENCE",
		"ACCOUNTS", "FRESH", "LATE", "PARKED", "OLDEST", "CALLS/MIN (ALLOWED)")
	for _, m := range s.Media {
		fmt.Fprintf(&b, "%-12s %15s %15s %11s  %8d %6d %6d %6d %7s  %s\n", m.Name, money.Format(m.Ours, "CNY"),
			money.Format(m.Platform, "CNY"), difference(m), m.Accounts, m.Fresh, m.Late, m.Parked, age(m.OldestAge), calls(m))
	}
	for _, m := range s.Media {
		if m.First != "" {
			fmt.Fprintf(&b, "%-12s %s\n", m.Name, m.First)
		}
	}
	fmt.Fprintf(&b, "\n%-44s %-11s %15s  %-20s %8s\n", "RUN", "STATE", "DONE", "", "RATE/S")
	for _, r := range s.Runs {
		fmt.Fprintf(&b, "%-44s %-11s %15s  %-20s %8.1f\n", r.Task, r.State, done(r), bar(r), r.Rate)
	}
	return b.String()
}

// plain returns a status as one line per platform, for logs and pipes.
func plain(s status) string {
	var b strings.Builder
	open := 0
	for _, r := range s.Runs {
		if r.State.Open() {
			open++
		}
	}
	for _, m := range s.Media {
		if m.First != "" {
			fmt.Fprintf(&b, "%s %s %s; platform says %s\n", s.World.In(simworld.Zone).Format("15:04:05"), m.Name, m.First,
				money.Format(m.Platform, "CNY"))
			continue
		}
		fmt.Fprintf(&b,
			"%s %s spend today %s, platform says %s (%s); accounts %d fresh, %d late, %d parked, oldest %s; calls %s; %d runs "+
				"open\n",
			s.World.In(simworld.Zone).Format("15:04:05"), m.Name, money.Format(m.Ours, "CNY"),
			money.Format(m.Platform, "CNY"), difference(m), m.Fresh, m.Late, m.Parked, age(m.OldestAge), calls(m), open)
	}
	return b.String()
}

func difference(m mediaStatus) string {
	if m.First != "" {
		return "first pull"
	}
	if m.Platform == 0 {
		return money.Format(m.Ours-m.Platform, "CNY")
	}
	return fmt.Sprintf("%+.2f %%", 100*float64(m.Ours-m.Platform)/float64(m.Platform))
}

func age(d time.Duration) string {
	if d < 0 {
		return "never"
	}
	return d.Round(time.Second).String()
}

func calls(m mediaStatus) string {
	text := fmt.Sprintf("%d (%d)", m.Calls, m.AllowedAMinute)
	if m.Refused > 0 {
		text += fmt.Sprintf(", %d refused", m.Refused)
	}
	return text
}

func done(r runStatus) string {
	if r.Total < 0 {
		return fmt.Sprintf("%d of …", r.Ended)
	}
	return fmt.Sprintf("%d of %d", r.Ended, r.Total)
}

func bar(r runStatus) string {
	const width = 20
	filled := 0
	switch {
	case r.Total > 0:
		filled = int(width * r.Ended / r.Total)
	case r.State == task.RunSucceeded:
		filled = width
	}
	return strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
