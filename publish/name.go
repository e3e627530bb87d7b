package publish

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"adsync/base/store/publishing"
)

// nameMax is the longest name of a file, in bytes.
const nameMax = 500

// template is the path of a subscription's files, with placeholders.
type template []piece

// piece is a literal text, or a placeholder if field is set.
type piece struct {
	literal, field string
	width          int // least digits of a number
}

// wantPath names the placeholders.
const wantPath = "a path of up to 500 bytes, relative to the destination, with any of {subscription}, {customer}, " +
	"{game}, {day}, {from}, {to} (2026-11-21), {day:compact}, {from:compact}, {to:compact} (20261121), {period}, " +
	"{sequence}, {sequence:4} (0007), {revision} and {ext} (.csv.gz), " +
	"such as reports/{day}/{subscription}{ext}"

// errPath says why a path is refused.
var errPath = errors.New("the path is refused")

// parseTemplate reads the column path.
func parseTemplate(text string) (template, error) {
	var all template
	for rest := text; rest != ""; {
		literal, after, opened := strings.Cut(rest, "{")
		if literal != "" {
			all = append(all, piece{literal: literal})
		}
		if !opened {
			if strings.Contains(literal, "}") {
				return nil, fmt.Errorf("%w: a } has no {", errPath)
			}
			break
		}
		inner, behind, closed := strings.Cut(after, "}")
		if !closed || strings.Contains(literal, "}") {
			return nil, fmt.Errorf("%w: a brace is not closed or not opened", errPath)
		}
		p, err := parsePlaceholder(inner)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
		rest = behind
	}
	return all, nil
}

func parsePlaceholder(inner string) (piece, error) {
	field, how, has := strings.Cut(inner, ":")
	switch field {
	case "subscription", "customer", "game", "period", "revision", "ext":
		if !has {
			return piece{field: field}, nil
		}
	case "day", "from", "to":
		if !has {
			return piece{field: field}, nil
		}
		if how == "compact" {
			return piece{field: field + ":compact"}, nil
		}
	case "sequence":
		if !has {
			return piece{field: field}, nil
		}
		if n, err := strconv.Atoi(how); err == nil && n >= 1 && n <= 18 {
			return piece{field: field, width: n}, nil
		}
	}
	return piece{}, fmt.Errorf("%w: {%s} is not a placeholder", errPath, inner)
}

// of reports whether the template has a placeholder.
func (t template) of(field string) bool {
	for _, p := range t {
		if p.field == field {
			return true
		}
	}
	return false
}

// name returns the name of a file.
func (t template) name(s *Subscription, p *publishing.Publication) string {
	var b strings.Builder
	for _, piece := range t {
		switch piece.field {
		case "":
			b.WriteString(piece.literal)
		case "subscription":
			b.WriteString(s.Name)
		case "customer":
			b.WriteString(s.Customer)
		case "game":
			b.WriteString(s.game())
		case "ext":
			b.WriteString(s.Format.Extension())
		case "period":
			b.WriteString(publishing.Period(p.FromDay, p.ToDay))
		case "day", "to":
			b.WriteString(string(p.ToDay))
		case "from":
			b.WriteString(string(p.FromDay))
		case "day:compact", "to:compact":
			b.WriteString(strings.ReplaceAll(string(p.ToDay), "-", ""))
		case "from:compact":
			b.WriteString(strings.ReplaceAll(string(p.FromDay), "-", ""))
		case "sequence":
			fmt.Fprintf(&b, "%0*d", piece.width, p.Sequence)
		case "revision":
			b.WriteString(strconv.Itoa(p.Revision))
		}
	}
	return b.String()
}

// symbols returns the names of a template as a pattern: what stays the same for all files of the subscription as it
// is, and each digit of a day as digitOnce. A number is digitOnce followed by digitsMore.
func (t template) symbols(s *Subscription) []rune {
	var all []rune
	for _, piece := range t {
		switch piece.field {
		case "sequence", "revision":
			all = append(all, digitOnce, digitsMore)
		case "day", "from", "to":
			all = append(all, []rune(dayPattern)...)
		case "day:compact", "from:compact", "to:compact":
			all = append(all, []rune(strings.ReplaceAll(dayPattern, "-", ""))...)
		case "period":
			// One day or two: the longest is made of the shortest.
			all = append(all, []rune(dayPattern)...)
			if s.rule.unit != "day" {
				all = append(all, []rune("_"+dayPattern)...)
			}
		default:
			all = append(all, []rune(template{piece}.name(s, &publishing.Publication{}))...)
		}
	}
	return all
}

// The symbols of a pattern that stand for digits. No name has them: they are in the private area of Unicode.
const (
	digitOnce  = '\ue000'
	digitsMore = '\ue001' // none or more
	dayPattern = "\ue000\ue000\ue000\ue000-\ue000\ue000-\ue000\ue000"
)

// overlap reports whether two patterns have a name in common.
func overlap(a, b []rune) bool {
	type place struct{ i, j int }
	seen := map[place]bool{}
	open := []place{{}}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[p] {
			continue
		}
		seen[p] = true
		if p.i == len(a) && p.j == len(b) {
			return true
		}
		moreA, moreB := p.i < len(a) && a[p.i] == digitsMore, p.j < len(b) && b[p.j] == digitsMore
		if moreA {
			open = append(open, place{p.i + 1, p.j}) // no more digits
		}
		if moreB {
			open = append(open, place{p.i, p.j + 1})
		}
		if p.i == len(a) || p.j == len(b) || !meet(a[p.i], b[p.j]) {
			continue
		}
		next := place{p.i + 1, p.j + 1}
		if moreA {
			next.i = p.i
		}
		if moreB {
			next.j = p.j
		}
		if next != p { // Both stay: they have the same digit in common, and nothing changes.
			open = append(open, next)
		}
	}
	return false
}

// meet reports whether two symbols have a character in common.
func meet(a, b rune) bool {
	digit := func(r rune) bool { return r == digitOnce || r == digitsMore || r >= '0' && r <= '9' }
	return a == b || digit(a) && digit(b) && (a >= digitOnce || b >= digitOnce)
}
