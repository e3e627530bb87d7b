package page

import (
	"strings"
	"unicode/utf8"
)

// piece is a part of a text.
type piece struct {
	Text  string
	Whole bool // no line is broken within it
}

// wholeMost is the longest word that is kept whole, which fits a line of a phone.
const wholeMost = 28

// pieces splits a text so that words with hyphens and slashes, where browsers break lines, stay whole: names, flags and
// ids are read and typed as one word.
func pieces(text string) (all []piece) {
	for word := range strings.SplitAfterSeq(text, " ") {
		name := strings.TrimSuffix(word, " ")
		whole := strings.ContainsAny(name, "-/") && utf8.RuneCountInString(name) <= wholeMost
		if n := len(all); !whole && n > 0 && !all[n-1].Whole {
			all[n-1].Text += word
			continue
		}
		if whole {
			all = append(all, piece{name, true})
			word = strings.TrimPrefix(word, name)
		}
		if word != "" {
			all = append(all, piece{Text: word})
		}
	}
	return all
}
