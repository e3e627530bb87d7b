package store

import (
	"regexp"
	"strings"
)

// errorPrintMax is the width of subtask_dead.error_print, in characters.
const errorPrintMax = 191

var (
	// A word with a digit in it is a number, an id, a time, a version or hexadecimal. Words are of ASCII letters
	// alone: other scripts write numbers in the middle of a sentence without a space.
	printNumber = regexp.MustCompile(`[A-Za-z0-9_]*\pN(?:[A-Za-z0-9_]|\pN)*(?:[-.:,/+][A-Za-z0-9_]*\pN(?:[A-Za-z0-9_]|\pN)*)*`)
	printQuoted = regexp.MustCompile("\"[^\"]*\"|`[^`]*`|“[^”]*”|‘[^’]*’|「[^」]*」")
	// An apostrophe inside a word ("doesn't") opens no quote.
	printSingle = regexp.MustCompile(`(^|[^\pL\pN])'[^']*'`)
)

// ErrorPrint is what an error's text has in common with others of its kind: numbers, ids, hexadecimal and quoted
// parts become "?", blanks collapse, and the rest is cut to the width of its column. The print of a print is itself.
func ErrorPrint(text string) string {
	text = strings.ToValidUTF8(text, "?")
	text = printNumber.ReplaceAllString(text, "?")
	for {
		next := printQuoted.ReplaceAllString(text, "?")
		next = printSingle.ReplaceAllString(next, "$1?")
		if next == text {
			break
		}
		text = next
	}
	return strings.TrimSpace(cut(strings.Join(strings.Fields(text), " "), errorPrintMax))
}
