package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media"
)

// repeated is a page of a list without a total.
func repeated(next string, ids ...string) media.Page {
	return media.Page{Proof: media.ByRepeat, Next: next, Rows: rowsNamed(ids...)}
}

func TestFetch_WithoutATotalTwoReadingsMustAgree(t *testing.T) {
	t.Parallel()
	unusable := func(json string) media.Page {
		return media.Page{Proof: media.ByRepeat, Rows: []media.Row{{Object: "a"}, {Lost: true, JSON: []byte(json)}}}
	}
	const differ = "the platform gives no total, and two readings differ: "
	for _, c := range []struct {
		name  string
		pages []media.Page // in turn; the last one repeats
		rows  []string
		asked int
		note  string
	}{
		{name: "no rows", pages: []media.Page{repeated("")}, asked: 2},
		{name: "two equal readings", asked: 6, rows: []string{"a", "b"}, pages: []media.Page{
			repeated("2", "a"), repeated("3", "b"), repeated(""), repeated("2", "a"), repeated("3", "b"), repeated("")}},
		{name: "equal but for the order and the pages", asked: 3, rows: []string{"b", "a"}, pages: []media.Page{
			repeated("", "a", "b"), repeated("2", "b"), repeated("", "a")}},
		{name: "the second and the third agree", asked: 3, rows: []string{"a", "b"}, pages: []media.Page{
			repeated("", "a"), repeated("", "a", "b")}},
		{name: "a reading with a row twice is none to compare with", asked: 5, rows: []string{"a"}, pages: []media.Page{
			repeated("", "a"), repeated("2", "a"), repeated("", "a"), repeated("", "a")}},
		{name: "a row is gone each time", asked: 4, rows: []string{"d"}, note: differ + "the later one lacks row  00 c",
			pages: []media.Page{repeated("", "a"), repeated("", "b"), repeated("", "c"), repeated("", "d")}},
		{name: "a row is new each time", asked: 4, rows: []string{"a", "b", "c", "d"},
			note: differ + "only the later one has row  00 d", pages: []media.Page{repeated("", "a"), repeated("", "a", "b"),
				repeated("", "a", "b", "c"), repeated("", "a", "b", "c", "d")}},
		{name: "unusable rows in both", asked: 2, rows: []string{"a"}, pages: []media.Page{unusable("1"), unusable("2")}},
		{name: "an unusable row in one", asked: 4, rows: []string{"a"},
			note:  differ + "0 and then 1 of their rows cannot be used",
			pages: []media.Page{repeated("", "a"), unusable("1"), repeated("", "a"), unusable("1")}},
		{name: "a total on some pages", asked: 6, rows: []string{"a", "b"},
			note: "some pages have a total and others have none",
			pages: []media.Page{repeated("2", "a"), {Total: 2, Rows: rowsNamed("b")}, repeated("2", "a"),
				{Total: 2, Rows: rowsNamed("b")}, repeated("2", "a"), {Total: 2, Rows: rowsNamed("b")}}},
		{name: "a cursor needs one reading", asked: 2, rows: []string{"a", "b"}, pages: []media.Page{
			{Proof: media.ByCursor, Next: "a", Rows: rowsNamed("a")}, {Proof: media.ByCursor, Rows: rowsNamed("b")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			got, err := fetch(t.Context(), terms{}, inTurn(&asked, c.pages...))
			require.NoError(t, err)
			require.Equal(t, c.note, got.note)
			require.Equal(t, rowsNamed(c.rows...), got.rows)
			require.Equal(t, c.asked, asked)
		})
	}
}

// A platform that ignores the number of the page never returns an empty one.
func TestFetch_WithoutATotalPagesThatRepeatEnd(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string][]media.Row{
		"usable rows": rowsNamed("a", "b"), "unusable rows": {{Lost: true, JSON: json.RawMessage(`{}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			got, err := fetch(t.Context(), terms{}, func(context.Context, string) (media.Page, error) {
				asked++
				return media.Page{Proof: media.ByRepeat, Next: strconv.Itoa(asked), Rows: slices.Clone(rows)}, nil
			})
			require.NoError(t, err)
			require.Equal(t, "the pages repeat rows and have no end", got.note)
			require.LessOrEqual(t, asked, 2*2*restartsMax)
		})
	}
}

func TestFetch_WithoutATotalTheRowsAreCounted(t *testing.T) {
	t.Parallel()
	asked := 0
	_, err := fetch(t.Context(), terms{rowsMax: 2}, inTurn(&asked, repeated("2", "a", "b"), repeated("3", "c")))
	require.ErrorContains(t, err, "the query has 3 rows, and the platform returns 2 of them")
}

// shifting is a list at a platform whose rows appear, vanish and move while its pages are read. Vanished rows do not
// return.
type shifting struct {
	*rand.Rand
	live    []string // in the platform's order
	size    int      // of a page
	made    int
	changes float64         // the probability of a change before a page
	all     map[string]bool // the rows that were there throughout
	proof   media.Proof
}

func newShifting(r *rand.Rand, proof media.Proof) *shifting {
	m := &shifting{Rand: r, size: 1 + r.IntN(4), changes: 0.7 * r.Float64(), all: map[string]bool{}, proof: proof}
	for range r.IntN(14) {
		m.appear()
	}
	for _, id := range m.live {
		m.all[id] = true
	}
	return m
}

// appear adds a row anywhere; where rows have cursors, a new row has the largest.
func (m *shifting) appear() {
	m.made++
	at := len(m.live)
	if m.proof != media.ByCursor {
		at = m.IntN(at + 1)
	}
	m.live = slices.Insert(m.live, at, fmt.Sprintf("%03d", m.made))
}

// change changes the list, often several times.
func (m *shifting) change() {
	for m.Float64() < m.changes {
		n := m.IntN(3)
		switch {
		case n == 0 || len(m.live) == 0:
			m.appear()
		case n == 1:
			at := m.IntN(len(m.live))
			delete(m.all, m.live[at])
			m.live = slices.Delete(m.live, at, at+1)
		case m.proof != media.ByCursor:
			at := m.IntN(len(m.live))
			id := m.live[at]
			m.live = slices.Delete(m.live, at, at+1)
			m.live = slices.Insert(m.live, m.IntN(len(m.live)+1), id)
		}
	}
}

// page returns a numbered page, or with ByCursor the rows after a cursor.
func (m *shifting) page(_ context.Context, token string) (media.Page, error) {
	m.change()
	p := media.Page{Proof: m.proof}
	if m.proof == media.ByCursor {
		rows := slices.DeleteFunc(slices.Clone(m.live), func(id string) bool { return id <= token })
		p.Rows = rowsNamed(rows[:min(m.size, len(rows))]...)
		if len(rows) > m.size {
			p.Next = rows[m.size-1]
		}
		return p, nil
	}
	number, _ := strconv.Atoi(token)
	if from := number * m.size; from < len(m.live) {
		p.Rows, p.Next = rowsNamed(m.live[from:min(from+m.size, len(m.live))]...), strconv.Itoa(number+1)
	}
	return p, nil
}

// A reading that is called whole has every row that was there throughout: none of them is marked deleted.
func TestFetch_WithoutATotalAWholeReadingHasAllThatStayed(t *testing.T) {
	t.Parallel()
	for _, proof := range []media.Proof{media.ByRepeat, media.ByCursor} {
		whole, not := 0, 0
		for seed := range uint64(4_000) {
			m := newShifting(rand.New(rand.NewPCG(seed, 1)), proof)
			got, err := fetch(t.Context(), terms{}, m.page)
			if err != nil || got.note != "" {
				not++
				continue
			}
			whole++
			have := map[string]bool{}
			for _, row := range got.rows {
				have[row.Object] = true
			}
			for id := range m.all {
				require.True(t, have[id], "seed %d, proof %d: row %s is missing", seed, proof, id)
			}
		}
		require.Greater(t, whole, 1000)
		if proof == media.ByRepeat {
			require.Greater(t, not, 300)
		}
	}
}
