package publish

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/store/publishing"
)

func TestTemplate_WritesNames(t *testing.T) {
	t.Parallel()
	s := checked(t, func(s *publishing.Subscription) {
		s.Scope, s.Customer, s.Format = `{"games": ["chess"]}`, "acme", `{"format": "csv", "gzip": true}`
		s.Source = `{"query": "SELECT day, cost FROM summary_daily WHERE day = :day ` +
			`ORDER BY day, game, media, os, currency, day_zone"}`
	})
	p := publishing.Publication{FromDay: "2026-11-09", ToDay: "2026-11-15", Revision: 3, Sequence: 7}
	for text, want := range map[string]string{
		"plain":                            "plain",
		"{subscription}/{customer}/{game}": "sales/acme/chess",
		"{day}{ext}":                       "2026-11-15.csv.gz",
		"{from}_{to}":                      "2026-11-09_2026-11-15",
		"{day:compact}-{from:compact}-{to:compact}": "20261115-20261109-20261115",
		"{period}":                           "2026-11-09_2026-11-15",
		"{sequence}-{sequence:4}r{revision}": "7-0007r3",
	} {
		path, err := parseTemplate(text)
		require.NoError(t, err)
		require.Equal(t, want, path.name(s, &p), text)
	}
	for _, text := range []string{"{", "}", "a}b", "{day", "a}{day}", "{}", "{Day}", "{day:long}", "{sequence:0}",
		"{sequence:19}", "{sequence:x}", "{ext:1}", "{revision:2}", "{{day}}"} {
		_, err := parseTemplate(text)
		require.ErrorIs(t, err, errPath, text)
	}
}

func TestClash_FindsSubscriptionsOfOneName(t *testing.T) {
	t.Parallel()
	row := func(name, path, destination string) publishing.Subscription {
		r := sales()
		r.Name, r.Path, r.Destination = name, path, destination
		return r
	}
	s := checked(t, func(s *publishing.Subscription) { s.Path = "out/{day}{ext}" })
	for _, c := range []struct {
		other publishing.Subscription
		clash bool
	}{
		{row("other", "out/{day}.csv", "shelf"), true},
		{row("other", "out/2026-{sequence}-{sequence}.csv", "shelf"), true},
		{row("other", "out/{subscription}-{day}.csv", "shelf"), false},
		{row("other", "out/{day:compact}.csv", "shelf"), false},
		{row("other", "out/{day}.csv", "bucket"), false},
		{row("sales", "out/{day}.csv", "shelf"), false}, // itself
		{row("other", "out/{day", "shelf"), false},      // It makes no files.
	} {
		want := ""
		if c.clash {
			want = "other"
		}
		require.Equal(t, want, s.Clash([]publishing.Subscription{c.other}), c.other.Path)
	}
}

// namesOf returns all names of a pattern of up to a length, with the digits 0 and 1 alone.
func namesOf(pattern []rune, most int) map[string]bool {
	all := map[string]bool{}
	var walk func(rest []rune, name string)
	walk = func(rest []rune, name string) {
		switch {
		case len(name) > most:
		case len(rest) == 0:
			all[name] = true
		case rest[0] == digitOnce:
			walk(rest[1:], name+"0")
			walk(rest[1:], name+"1")
		case rest[0] == digitsMore:
			walk(rest[1:], name)
			walk(rest, name+"0")
			walk(rest, name+"1")
		default:
			walk(rest[1:], name+string(rest[0]))
		}
	}
	walk(pattern, "")
	return all
}

func TestOverlap_AgreesWithBruteForce(t *testing.T) {
	t.Parallel()
	one := rapid.SampledFrom([]string{"a", "b", "0", "1", string(digitOnce), string([]rune{digitOnce, digitsMore})})
	pattern := rapid.Custom(func(t *rapid.T) []rune {
		return []rune(strings.Join(rapid.SliceOfN(one, 0, 4).Draw(t, "symbols"), ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := pattern.Draw(t, "a"), pattern.Draw(t, "b")
		const most = 8 // Two patterns of four pieces have a name in common of eight characters at most, or none.
		want := false
		mine := namesOf(a, most)
		for name := range namesOf(b, most) {
			want = want || mine[name]
		}
		require.Equal(t, want, overlap(a, b), "%q and %q", string(a), string(b))
		require.Equal(t, want, overlap(b, a))
	})
}

func TestSymbols_CoverTheNamesThatATemplateWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "-", "7", "{day}", "{from:compact}", "{period}",
			"{sequence}", "{sequence:3}", "{revision}", "{subscription}", "{ext}"}), 1, 5).Draw(t, "pieces")
		unit := rapid.SampledFrom([]string{"day", "week", "days:3"}).Draw(t, "unit")
		s := checked(t, func(s *publishing.Subscription) { s.Path, s.Period = strings.Join(pieces, ""), unit })
		p := s.publication(s.rule.at(now), rapid.Int64Range(1, 5000).Draw(t, "sequence"), now, now)
		p.Revision = rapid.IntRange(1, 20).Draw(t, "revision")
		name := s.path.name(s, &p)
		require.True(t, overlap([]rune(name), s.path.symbols(s)), name)
	})
}
