package config

import (
	"fmt"
	"strings"
)

// Problem is one problem of the settings.
type Problem struct {
	Key     string // the setting's full path; empty if a whole source cannot be read
	Value   string // the refused value; empty if it is missing, and "<secret>" if it must not be shown
	Origin  string // where it was set: "producer.yaml:12", "environment ADSYNC_LOG_LEVEL", "flag --listen", "default"
	Message string // what is wrong and what would be right
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Key)
	if p.Value != "" {
		fmt.Fprintf(&b, " = %q", Redacted(p.Value))
	}
	if p.Origin != "" {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "(%s)", p.Origin)
	}
	return b.String() + ": " + Redacted(p.Message)
}

// Error holds all problems of the settings, so that one run shows every mistake.
type Error struct {
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	if len(e.Problems) == 1 {
		lines = append(lines, "1 mistake in the configuration:")
	} else {
		lines = append(lines, fmt.Sprintf("%d mistakes in the configuration:", len(e.Problems)))
	}
	for _, p := range e.Problems {
		lines = append(lines, "  "+p.String())
	}
	return strings.Join(lines, "\n")
}
