package overview

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"adsync/base/day"
)

// span returns a day, or the number of days with the first and the last.
func span(days []day.Day) string {
	if len(days) == 1 {
		return days[0].String()
	}
	return fmt.Sprintf("%d days from %s to %s", len(days), days[0], days[len(days)-1])
}

// few joins up to three names, and counts the others.
func few(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// sentence turns a reason into a sentence: with a capital letter and a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	if last, _ := utf8.DecodeLastRuneInString(text); !strings.ContainsRune(".!?。！？", last) {
		text += "."
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// moment formats a time in UTC, with its day unless that is now's.
func moment(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05 MST")
	}
	return t.Format("2006-01-02 15:04:05 MST")
}

// next returns a text with the time of the next of some things.
func next(t, now time.Time) string {
	if !t.After(now) {
		return "the next is due now"
	}
	return "the next at " + moment(t, now)
}

// quote makes text one word of a shell's command line.
func quote(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
