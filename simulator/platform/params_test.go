package platform

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParams(t *testing.T) {
	t.Parallel()
	p := Params{Call: &Call{Query: url.Values{
		"five": {"5"}, "word": {"x"}, "list": {`[1,"2"]`}, "words": {`["a",2]`}, "half": {"[1.5]"}, "object": {"{}"},
		"from": {"2026-11-15"}, "to": {"2026-11-16"},
	}}, Code: 7, Zone: 28_800}
	refused := func(failure *Failure) bool { return failure != nil && failure.Code == 7 }
	n, failure := p.Integer("five", 1, 5)
	require.Nil(t, failure)
	require.Equal(t, 5, n)
	_, failure = p.Integer("five", 1, 4)
	require.True(t, refused(failure))
	_, failure = p.Integer("none", 0, 4)
	require.True(t, refused(failure), "it must be given")
	one, failure := p.OneOf("none", 3, 5)
	require.Nil(t, failure)
	require.Equal(t, int64(3), one)
	_, failure = p.OneOf("five", 3)
	require.True(t, refused(failure))
	whole, failure := p.Optional("none")
	require.Nil(t, failure)
	require.Zero(t, whole)
	_, failure = p.Whole("none")
	require.True(t, refused(failure))
	numbers, failure := p.Numbers("list", 2)
	require.Nil(t, failure)
	require.Equal(t, []int64{1, 2}, numbers)
	for _, name := range []string{"word", "half", "object", "words"} {
		_, failure = p.Numbers(name, 2)
		require.True(t, refused(failure), name)
	}
	_, failure = p.Numbers("list", 1)
	require.True(t, refused(failure))
	texts, failure := p.Texts("words", 2)
	require.Nil(t, failure)
	require.Equal(t, []string{"a", "2"}, texts)
	_, failure = p.Texts("words", 1)
	require.True(t, refused(failure))
	_, failure = p.Texts("object", 1)
	require.True(t, refused(failure))

	days, failure := p.Days("from", "to")
	require.Nil(t, failure)
	require.Equal(t, Days{From: 1_794_672_000, To: 1_794_844_800}, days)
	require.False(t, days.Holds(days.From-1))
	require.True(t, days.Holds(days.From))
	require.True(t, days.Holds(days.To-1))
	require.False(t, days.Holds(days.To))
	_, failure = p.Days("to", "from")
	require.True(t, refused(failure))
	_, failure = p.Days("from", "none")
	require.True(t, refused(failure))
	require.True(t, Days{}.Holds(0))
}
