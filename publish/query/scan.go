package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// errorAt names a place of a query's text.
func errorAt(text string, at int, message string, args ...any) error {
	before := text[:min(at, len(text))]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(message, args...))
}

// kind is the kind of a token.
type kind int

const (
	symbol    kind = iota // one byte
	word                  // a name or a keyword without quotes, or a number
	name                  // a name in backquotes
	quotation             // a text in single or double quotes
	comment
)

// next returns the kind of the token at offset i of text and the offset of its end. The end is -1 if the token has no
// end.
func next(text string, i int) (k kind, end int) {
	rest := text[i:]
	switch c := text[i]; {
	case c == '`':
		return name, endOfQuotes(text, i)
	case c == '\'' || c == '"':
		return quotation, endOfQuotes(text, i)
	case c == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' '):
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			return comment, i + end
		}
		return comment, len(text)
	case strings.HasPrefix(rest, "/*"):
		if end := strings.Index(rest[2:], "*/"); end >= 0 {
			return comment, i + 2 + end + 2
		}
		return comment, -1
	case isWord(c):
		for i < len(text) && isWord(text[i]) {
			i++
		}
		return word, i
	}
	return symbol, i + 1
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' ||
		c >= utf8.RuneSelf
}

// endOfQuotes returns the offset after the closing quote, or -1. A doubled quote and, in a text, a quote after a
// backslash do not close.
func endOfQuotes(text string, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] != quote:
		case i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// paramEnd returns the end of the parameter whose colon is at offset i, and i+1 if its name is not of a to z and _.
func paramEnd(text string, i int) int {
	end := i + 1
	for end < len(text) && (text[end] >= 'a' && text[end] <= 'z' || text[end] == '_') {
		end++
	}
	if end < len(text) && isWord(text[end]) || i > 0 && text[i-1] == ':' {
		return i + 1
	}
	return end
}

// source is a query's text as the parser reads it.
type source struct {
	text   string         // the query's own text
	masked string         // text with blanks for comments and ? for parameters; offsets are those of text
	params map[int]string // names of parameters by the offset of their ?
	words  map[string]int // the first offset of each word and quoted name, in lower case, for errors
}

// scan splits text into what the parser reads, and refuses what only a server would understand.
func scan(text string) (*source, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	s := &source{text: text, params: map[int]string{}, words: map[string]int{}}
	masked := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if masked[i] != '\n' {
				masked[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); {
		k, end := next(text, i)
		if end < 0 {
			return nil, errorAt(text, i, "%c begins a text, name or comment without an end", text[i])
		}
		switch {
		case k == comment:
			if fault := hint(text[i:end]); fault != "" {
				return nil, errorAt(text, i, "%s", fault)
			}
			blank(i, end)
		case k == word && digits(text[i:end]) > digitsMax:
			return nil, errorAt(text, i, "a number has %d digits: want at most %d", digits(text[i:end]), digitsMax)
		case k == word || k == name:
			w := strings.ToLower(strings.Trim(text[i:end], "`"))
			if _, known := s.words[w]; !known {
				s.words[w] = i
			}
		case k == symbol && text[i] == ':':
			if end = paramEnd(text, i); end == i+1 {
				return nil, errorAt(text, i, "a colon begins a parameter: want a name of a to z and _, such as :day")
			}
			s.params[i] = text[i+1 : end]
			blank(i, end)
			masked[i] = '?'
		case k == symbol && text[i] == '?':
			return nil, errorAt(text, i, "? is refused: want a parameter with a name, such as :day")
		case k == symbol && strings.HasPrefix(text[i:], "||"):
			return nil, errorAt(text, i, "|| is refused: want OR, or CONCAT(…)")
		}
		i = end
	}
	s.masked = string(masked)
	return s, nil
}

// digits returns the number of digits that a word begins with.
func digits(word string) int { return len(word) - len(strings.TrimLeft(word, "0123456789")) }

func checkText(text string) error {
	if len(text) > textMax {
		return fmt.Errorf("the query has %d bytes: want at most %d", len(text), textMax)
	}
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return errorAt(text, i, "a byte is no UTF-8")
		}
		if isControl(r) {
			return errorAt(text, i, "the control character %U is refused", r)
		}
	}
	return nil
}

// isControl reports whether r is a control character that a query may not contain.
func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }

// hint returns the fault of a comment that some server executes or reads as a hint, and nothing for other comments.
func hint(comment string) string {
	for _, begin := range []string{"/*!", "/*M!", "/*T!"} {
		if strings.HasPrefix(comment, begin) {
			return "a comment that servers execute is refused: want a plain comment"
		}
	}
	if strings.HasPrefix(comment, "/*+") {
		return "an optimizer hint is refused: want a plain comment"
	}
	return ""
}

// placeholders replaces the parameters of a rewritten query by ? and returns their names in the order of the text. It
// refuses every text that the databases might split into other tokens than Check did.
func placeholders(restored string) (text string, params []string, err error) {
	var b strings.Builder
	for i := 0; i < len(restored); {
		k, end := next(restored, i)
		if end < 0 || k == comment || strings.HasPrefix(restored[i:], "--") {
			return "", nil, errors.New("the rewritten query has another comment or text than the query")
		}
		token := restored[i:end]
		switch {
		case k == symbol && token == ":":
			end = paramEnd(restored, i)
			params = append(params, restored[i+1:end])
			token = "?"
		case k == symbol && strings.ContainsAny(token, "?;@\\{}"), k == quotation && (token[0] == '"' || !isPlain(token)):
			return "", nil, fmt.Errorf("the rewritten query would contain %.40q", token)
		case k == name && strings.ContainsFunc(token, isControl):
			return "", nil, fmt.Errorf("the name %.40q contains a control character", token)
		}
		b.WriteString(token)
		i = end
	}
	return b.String(), params, nil
}

// isPlain reports whether all databases read a text in single quotes equally: it has no backslash, which is an escape
// in MySQL alone, and no control character.
func isPlain(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, `\`) && !strings.ContainsFunc(text, isControl)
}
