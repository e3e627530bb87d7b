package pull

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/media"
)

// waitingClock is a clock whose time has moved on by a wait.
type waitingClock struct {
	clock.System
	platform *fakePlatform
}

func (c waitingClock) Now() time.Time { return c.System.Now().Add(c.platform.waited) }

// never returns pages that disagree with their total, for all tries of a pull.
func never(total int, rows ...string) []pageAnswer {
	page := pageAnswer{}
	for _, id := range rows {
		page.page.Rows = append(page.page.Rows, objectRow(id, "name of "+id, 20, false))
	}
	page.page.Total = total
	var pages []pageAnswer
	for range restartsMax {
		pages = append(pages, page)
	}
	return pages
}

// alive returns the objects of the raw table that are not marked deleted, and the list's coverage.
func (b *bundle) alive(t *testing.T) (ids []string, coverage results.Coverage) {
	t.Helper()
	require.NoError(t,
		b.store.Data.Writer(t.Context()).Raw(
			"SELECT object_id FROM fake_adgroup WHERE deleted_at IS NULL ORDER BY object_id").Scan(&ids).Error)
	rows, err := b.store.ReadCoverage(t.Context(), 7, day.Epoch, day.Epoch)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	return ids, rows[0]
}

// One query without agreement makes the whole list partial.
func TestList_AVariantThatNeverAgreesMakesItPartialAndDeletesNothing(t *testing.T) {
	t.Parallel()
	one, two := objectRow("1", "one", 10, false), objectRow("2", "two", 10, false)
	good := func(ids ...string) []pageAnswer {
		page := never(len(ids), ids...)[0]
		return []pageAnswer{page}
	}
	for _, c := range []struct {
		name  string
		pages [][]pageAnswer // by variant, in their order
		kept  []string
	}{
		{"the first", [][]pageAnswer{never(5, "1"), good("9")}, []string{"1", "2", "9"}},
		{"the last", [][]pageAnswer{good("1"), never(5, "9")}, []string{"1", "2", "9"}},
		{"all of them", [][]pageAnswer{never(5, "1"), never(5, "9")}, []string{"1", "2", "9"}},
		{"the first, which is empty", [][]pageAnswer{never(5), good("9")}, []string{"1", "2", "9"}},
		{"the last, which is empty", [][]pageAnswer{good("1"), never(5)}, []string{"1", "2"}},
		{"none, but an object is in both", [][]pageAnswer{good("1", "9"), good("9")}, []string{"1", "2", "9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pages := []pageAnswer{objectPage(one, two), objectPage()}
			for _, p := range c.pages {
				pages = append(pages, p...)
			}
			b := setup(t, append(pages, objectPage(one), objectPage())...)
			_, err := b.run(t, "fake.adgroup", modeFull, "")
			require.NoError(t, err)
			before, coverage := b.alive(t)
			require.Equal(t, []string{"1", "2"}, before)
			whole := coverage.CompleteVersion

			_, err = b.run(t, "fake.adgroup", modeFull, "")
			require.ErrorIs(t, err, errNotWhole, "it is pulled again")
			alive, coverage := b.alive(t)
			require.Equal(t, c.kept, alive, "received rows are kept, and nothing is deleted")
			require.Equal(t, results.Partial, coverage.State)
			require.NotEmpty(t, coverage.Note)
			require.Equal(t, whole, coverage.CompleteVersion)

			_, err = b.run(t, "fake.adgroup", modeFull, "")
			require.NoError(t, err)
			alive, coverage = b.alive(t)
			require.Equal(t, []string{"1"}, alive, "a whole pull deletes what the platform no longer has")
			require.Equal(t, results.Complete, coverage.State)
			require.Empty(t, coverage.Note)
		})
	}
}

// A pull that may lack changes does not move the high-water mark.
func TestList_ChangesThatNeverAgreeArePulledAgain(t *testing.T) {
	t.Parallel()
	for variant := range 2 {
		t.Run(fmt.Sprint("variant ", variant), func(t *testing.T) {
			t.Parallel()
			pages := []pageAnswer{objectPage(objectRow("1", "one", 10_000, false)), objectPage()}
			late := pageAnswer{}
			late.page.Rows, late.page.Total = append(late.page.Rows, objectRow("2", "two", 90_000, false)), 3
			for v := range 2 {
				if v != variant {
					pages = append(pages, objectPage())
					continue
				}
				pages = append(pages, late, late, late)
			}
			b := setup(t, append(pages, objectPage(), objectPage())...)
			_, err := b.run(t, "fake.adgroup", modeChanges, `{"mode":"changes"}`)
			require.NoError(t, err)
			_, err = b.run(t, "fake.adgroup", modeChanges, `{"mode":"changes"}`)
			require.ErrorIs(t, err, errNotWhole)
			_, coverage := b.alive(t)
			require.Equal(t, results.Partial, coverage.State)
			require.EqualValues(t, 10_000, coverage.HighWater)
			b.platform.lists = nil
			_, err = b.run(t, "fake.adgroup", modeChanges, `{"mode":"changes"}`)
			require.NoError(t, err)
			require.EqualValues(t, 9_400, b.platform.lists[0].Since.Unix())
		})
	}
}

// A list that the platform cannot select changes of is always pulled in full.
func TestList_WithoutSinceEveryPullIsFull(t *testing.T) {
	t.Parallel()
	one, two := objectRow("1", "one", 10, false), objectRow("2", "two", 10, false)
	b := setupDeclared(t, func(l *media.List) { l.NoSince, l.Variants = true, nil }, objectPage(one, two), objectPage(one))
	h, ok := b.handlers.Get("fake.adgroup")
	require.True(t, ok)
	const refused = `params.mode: "changes" is refused: the platform cannot list changes of the level adgroup: want full`
	require.EqualError(t, h.Check(json.RawMessage(`{"mode":"changes"}`)), refused)
	_, err := h.Parts(media.Plan{Params: json.RawMessage(`{"mode":"changes"}`)})
	require.EqualError(t, err, refused)
	require.NoError(t, h.Check(json.RawMessage(`{"mode":"full"}`)))
	parts, err := h.Parts(media.Plan{})
	require.NoError(t, err)
	require.Equal(t, []string{modeFull}, parts)

	_, err = b.run(t, "fake.adgroup", modeFull, "")
	require.NoError(t, err)
	// A subtask that was made before the list was declared so.
	_, err = b.run(t, "fake.adgroup", modeChanges, `{"mode":"changes"}`)
	require.NoError(t, err)
	require.True(t, b.platform.lists[1].Since.IsZero())
	alive, coverage := b.alive(t)
	require.Equal(t, []string{"1"}, alive, "what the whole list lacks is deleted")
	require.Equal(t, results.Complete, coverage.State)
}

func TestList_ChangesThatAreKnownByDayArePulledFromTheDaysBeginning(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 8*3600)
	for modified, since := range map[string]string{
		"2026-11-20T15:00:00+08:00": "2026-11-20T00:00:00+08:00",
		"2026-11-20T00:10:00+08:00": "2026-11-20T00:00:00+08:00",
		"2026-11-20T00:09:59+08:00": "2026-11-19T00:00:00+08:00", // Platforms show a change some minutes late.
	} {
		at, err := time.Parse(time.RFC3339, modified)
		require.NoError(t, err)
		b := setupDeclared(t, func(l *media.List) { l.SinceZone, l.Variants = zone, nil },
			objectPage(objectRow("1", "one", at.Unix(), false)))
		for range 2 {
			_, err := b.run(t, "fake.adgroup", modeChanges, `{"mode":"changes"}`)
			require.NoError(t, err)
		}
		require.True(t, b.platform.lists[0].Since.IsZero())
		require.Equal(t, since, b.platform.lists[1].Since.In(zone).Format(time.RFC3339), modified)
		require.True(t, b.platform.lists[1].Until.After(b.platform.lists[1].Since))
	}
}

// An object that one reading of a list without a total lacks is not marked deleted.
func TestList_WithoutATotalOnlyTwoReadingsDelete(t *testing.T) {
	t.Parallel()
	page := func(ids ...string) pageAnswer {
		p := never(0, ids...)[0]
		p.page.Proof = media.ByRepeat
		return p
	}
	both, cut := page("1", "2"), page("1")
	b := setupDeclared(t, func(l *media.List) { l.Variants = nil },
		both, both, // the first pull
		cut, both, both, // the second: its first reading is cut off
		both, cut, both, cut, // the third: no two readings agree
		cut, cut) // the fourth: the object is gone
	for n, want := range [][]string{{"1", "2"}, {"1", "2"}, {"1", "2"}, {"1"}} {
		_, err := b.run(t, "fake.adgroup", modeFull, "")
		alive, coverage := b.alive(t)
		require.Equal(t, want, alive, "pull %d", n)
		if n == 2 {
			require.ErrorIs(t, err, errNotWhole)
			require.Equal(t, results.Partial, coverage.State)
			require.Contains(t, coverage.Note, "the platform gives no total, and two readings differ: ")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, results.Complete, coverage.State)
	}
}
