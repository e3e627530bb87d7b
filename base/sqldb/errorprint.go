package sqldb

import (
	"regexp"
	"strings"
)

// errorPrintMax is the width of subtask_dead.error_print, in characters.
const errorPrintMax = 191

// printRules are applied in this order.
var printRules = []struct {
	what *regexp.Regexp
	with string
}{
	// Dates with names: "Sat, 21 Nov 2026", "Nov 21".
	{regexp.MustCompile(`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?(?:\d{1,2}[ -]` + months + `|` + months +
		`\s+\d{1,2})\b`), "?"},
	// Some groups of a UUID may have no digit.
	{regexp.MustCompile(`\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b`), "?"},
	// A word with a digit in it is a number, an id, a time, a version or hexadecimal. Words consist of ASCII letters
	// only: other scripts write numbers inside a sentence without a space.
	{regexp.MustCompile(`[A-Za-z0-9_]*\pN(?:[A-Za-z0-9_]|\pN)*(?:[-.:,/+][A-Za-z0-9_]*\pN(?:[A-Za-z0-9_]|\pN)*)*`), "?"},
	// A sign belongs to its number, a hyphen in a name does not.
	{regexp.MustCompile(`(^|[^A-Za-z0-9_?])[-+]\?`), "$1?"},
	// Hexadecimal without a digit. No word with these letters is that long.
	{regexp.MustCompile(`\b(?:[a-f]{8,}|[A-F]{8,})\b`), "?"},
	{regexp.MustCompile("\"[^\"]*\"|`[^`]*`|“[^”]*”|‘[^’]*’|「[^」]*」"), "?"},
	// An apostrophe inside a word ("doesn't") opens no quote.
	{regexp.MustCompile(`(^|[^\p{Latin}\pN])'[^']*'`), "$1?"},
}

const months = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*`

// ErrorPrint returns what an error's text has in common with others of its kind: numbers, times, ids, hexadecimal and
// quoted parts become "?", blanks collapse, and the rest is cut to the width of its column. The print of a print is
// itself.
func ErrorPrint(text string) string {
	text = strings.ToValidUTF8(text, "?")
	for {
		// What one rule or the cut leaves may match another rule. Each round removes something, so the loop ends.
		next := text
		for _, rule := range printRules {
			next = rule.what.ReplaceAllString(next, rule.with)
		}
		next = strings.TrimSpace(Cut(strings.Join(strings.Fields(next), " "), errorPrintMax))
		if next == text {
			return text
		}
		text = next
	}
}
