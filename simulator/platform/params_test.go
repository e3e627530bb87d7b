package platform

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParams(t *testing.T) {
	t.Parallel()
	p := &Params{Call: &Call{Query: url.Values{
		"five": {"5"}, "word": {"x"}, "list": {`[1,"2"]`}, "words": {`["a",2]`}, "half": {"[1.5]"}, "object": {"{}"},
		"from": {"2026-11-15"}, "to": {"2026-11-16"},
	}}, Code: 7, Zone: 28_800}
	// refused reports whether a read has failed, and forgets it.
	refused := func() bool {
		failure := p.Failure
		p.Failure = nil
		return failure != nil && failure.Code == 7
	}
	require.Equal(t, 5, p.Integer("five", 1, 5))
	require.Equal(t, int64(3), p.OneOf("none", 3, 5))
	require.Zero(t, p.Optional("none"))
	require.Equal(t, []int64{1, 2}, p.Numbers("list", 2))
	require.Equal(t, []int64{1, 2}, p.NumbersOf("list", 1, 2))
	require.Equal(t, []string{"a", "2"}, p.Texts("words", 2))
	require.Equal(t, []string{"a", "2"}, p.TextsOf("words", "2", "a"))
	require.Equal(t, "x", p.TextOf("word", "y", "x"))
	require.Equal(t, "y", p.TextOf("none", "y", "x"))
	days := p.Days("from", "to")
	require.Equal(t, Days{From: 1_794_672_000, To: 1_794_844_800}, days)
	require.False(t, days.Holds(days.From-1))
	require.True(t, days.Holds(days.From))
	require.True(t, days.Holds(days.To-1))
	require.False(t, days.Holds(days.To))
	require.True(t, Days{}.Holds(0))
	require.Nil(t, p.Failure)

	for name, read := range map[string]func(){
		"a number above the largest":  func() { p.Integer("five", 1, 4) },
		"a number that must be given": func() { p.Integer("none", 0, 4) },
		"another number":              func() { p.OneOf("five", 3) },
		"no number":                   func() { p.Whole("none") },
		"a word for a list":           func() { p.Numbers("word", 2) },
		"a half":                      func() { p.Numbers("half", 2) },
		"an object":                   func() { p.Numbers("object", 2) },
		"words for numbers":           func() { p.Numbers("words", 2) },
		"too many numbers":            func() { p.Numbers("list", 1) },
		"a number not of the list":    func() { p.NumbersOf("list", 1, 3) },
		"too many texts":              func() { p.Texts("words", 1) },
		"an object for texts":         func() { p.Texts("object", 1) },
		"a text not of the list":      func() { p.TextsOf("words", "a", "b") },
		"another text":                func() { p.TextOf("word", "y") },
		"the end before the start":    func() { p.Days("to", "from") },
		"no end":                      func() { p.Days("from", "none") },
	} {
		read()
		require.True(t, refused(), name)
	}
	p.Whole("none")
	first := p.Failure
	p.Whole("word")
	require.Same(t, first, p.Failure, "the first failure stays")
}

func TestParams_ReadAnObject(t *testing.T) {
	t.Parallel()
	p := Params{Call: &Call{Query: url.Values{"object": {`{"word":"x","list":["a",1],"n":2}`}, "list": {"[]"},
		"null": {"null"}}}}
	fields, ok := p.Object("object")
	require.True(t, ok)
	require.Equal(t, url.Values{"word": {"x"}, "list": {`["a",1]`}, "n": {"2"}}, fields)
	for _, name := range []string{"list", "null", "none"} {
		_, ok = p.Object(name)
		require.False(t, ok, name)
	}
}

func TestTable_HasTheFormOfThePlatform(t *testing.T) {
	t.Parallel()
	lines := [][]string{{"a", "b"}, {"1", `x,"y`}}
	require.Equal(t, "a,b\n1,\"x,\"\"y\"\n", string(Table(false, false, lines)))
	require.Equal(t, "\xEF\xBB\xBFa,b\r\n1,\"x,\"\"y\"\r\n", string(Table(true, true, lines)))
}
