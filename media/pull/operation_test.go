package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/media"
)

// logging is a platform with a log of operations.
type logging struct {
	*fakePlatform
	entries []media.Row // those that its log holds
	asked   []string
}

func (l *logging) Operations() media.Operations {
	return media.Operations{MaxDays: 3, LookBack: 30,
		Page: func(_ context.Context, _ media.API, q media.ReportQuery, _ string) (media.Page, error) {
			l.asked = append(l.asked, fmt.Sprintf("%s..%s", q.From, q.To))
			page := media.Page{Total: len(l.entries)}
			for _, row := range l.entries { // A pull owns the rows that it is given.
				if row.Operation != nil {
					entry := *row.Operation
					row.Operation = &entry
				}
				page.Rows = append(page.Rows, row)
			}
			return page, nil
		}}
}

func setupLog(t *testing.T, entries ...media.Row) (*bundle, *logging) {
	t.Helper()
	s := storetest.New(t)
	platform := &logging{fakePlatform: &fakePlatform{}, entries: entries}
	b := &bundle{store: s, platform: platform.fakePlatform, metrics: prometheus.NewRegistry()}
	logger := slog.New(slog.NewTextHandler(&b.log, nil))
	b.handlers = media.NewRegistry(Handlers(platform, Deps{Store: s, Accounts: fakeAccounts{}, Caller: fakeCaller{},
		Clock: waitingClock{platform: platform.fakePlatform}, Logger: logger, Registerer: b.metrics})...)
	return b, platform
}

// at is 2026-11-20 00:30 in the account's zone.
var at = time.Date(2026, 11, 19, 16, 30, 0, 0, time.UTC)

func entry(id string, t time.Time, by string, fields ...media.FieldChange) media.Row {
	return media.Row{Object: id, JSON: json.RawMessage(`{}`), Operation: &media.Operation{At: t, By: by, Kind: "update",
		Level: "adgroup", Object: "7", Fields: fields}}
}

// changed returns the rows of config_change, the oldest first, as texts.
func (b *bundle) changed(t *testing.T) (all []string) {
	t.Helper()
	changes, err := b.store.ConfigChanges(t.Context(), results.ChangeFilter{AccountID: 7}, results.ConfigChange{}, 1000)
	require.NoError(t, err)
	for _, c := range slices.Backward(changes) {
		all = append(all, fmt.Sprintf("%s %s %s %s %s>%s by %s", c.ChangedAt.Format(time.RFC3339Nano), c.Level, c.Object,
			c.Field, c.Before, c.After, c.By))
	}
	return all
}

func TestOperations_AreAddedOnceWithWhoAndWhen(t *testing.T) {
	t.Parallel()
	bid := media.FieldChange{Name: "bid", Before: "1", After: "2"}
	b, platform := setupLog(t, entry("e1", at, "Li", bid, media.FieldChange{Name: "name", After: `"x"`}),
		entry("e2", at.Add(time.Minute), "Wang"))
	result, err := b.run(t, "fake.operations", "2026-11-20", "")
	require.NoError(t, err)
	require.Equal(t, media.Result{Rows: 3, Calls: 2}, result)
	want := []string{
		"2026-11-19T16:30:00Z adgroup 7 bid 1>2 by Li", `2026-11-19T16:30:00Z adgroup 7 name >"x" by Li`,
		`2026-11-19T16:31:00Z adgroup 7 @operation >"update" by Wang`,
	}
	require.Equal(t, want, b.changed(t))
	rows, err := b.store.ReadCoverage(t.Context(), 7, "2026-11-20", "2026-11-20")
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, media.OperationsName, rows[0].Report)
	require.Equal(t, media.OperationsLevel, rows[0].Level)
	require.Equal(t, results.Complete, rows[0].State)
	require.EqualValues(t, 2, rows[0].RowCount)

	// A window that overlaps adds what is new, and an entry that the log no longer has stays.
	platform.entries = []media.Row{entry("e1", at, "Li", bid, media.FieldChange{Name: "name", After: `"x"`}),
		entry("e3", at.Add(-24*time.Hour), "Zhao", bid)}
	b.later(t)
	result, err = b.run(t, "fake.operations", "2026-11-19..2026-11-20", "")
	require.NoError(t, err)
	require.Equal(t, 1, result.Rows)
	require.Equal(t, append([]string{"2026-11-18T16:30:00Z adgroup 7 bid 1>2 by Zhao"}, want...), b.changed(t))
	require.Equal(t, []string{"2026-11-20..2026-11-20", "2026-11-19..2026-11-20"}, platform.asked)
}

// Entries of one second about the same field stay apart, whether the platform gives ids or not.
func TestOperations_OfOneMomentStayApart(t *testing.T) {
	t.Parallel()
	bid := func(before, after string) media.FieldChange {
		return media.FieldChange{Name: "bid", Before: before, After: after}
	}
	for _, ids := range [][2]string{{"e1", "e2"}, {"", ""}} {
		b, _ := setupLog(t, entry(ids[0], at, "Li", bid("1", "2")), entry(ids[1], at, "Li", bid("2", "3")))
		for range 2 {
			_, err := b.run(t, "fake.operations", "2026-11-20", "")
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"2026-11-19T16:30:00Z adgroup 7 bid 1>2 by Li",
				"2026-11-19T16:30:00Z adgroup 7 bid 2>3 by Li"}, b.changed(t))
			b.later(t)
		}
	}
}

func TestOperations_AnUnusableEntryCostsOnlyItself(t *testing.T) {
	t.Parallel()
	broken := func(change func(*media.Row)) media.Row {
		row := entry("bad", at, "Li")
		change(&row)
		return row
	}
	for name, row := range map[string]media.Row{
		"no time":     broken(func(r *media.Row) { r.Operation.At = time.Time{} }),
		"no level":    broken(func(r *media.Row) { r.Operation.Level = "" }),
		"a long id":   broken(func(r *media.Row) { r.Object = string(make([]byte, 65)) }),
		"a bad id":    broken(func(r *media.Row) { r.Operation.Object = "广告" }),
		"another day": broken(func(r *media.Row) { r.Operation.At = at.Add(-time.Hour) }),
		"no entry":    broken(func(r *media.Row) { r.Operation = nil }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := setupLog(t, row, entry("good", at, "Wang"))
			_, err := b.run(t, "fake.operations", "2026-11-20", "")
			require.ErrorIs(t, err, errNotWhole)
			require.Equal(t, []string{`2026-11-19T16:30:00Z adgroup 7 @operation >"update" by Wang`}, b.changed(t))
		})
	}
}

func TestOperations_PagesThatDisagreeKeepTheirEntries(t *testing.T) {
	t.Parallel()
	b, _ := setupLog(t, entry("e1", at, "Li"), entry("e1", at, "Li"))
	_, err := b.run(t, "fake.operations", "2026-11-20", "")
	require.ErrorIs(t, err, errNotWhole)
	require.Len(t, b.changed(t), 1)
	rows, err := b.store.ReadCoverage(t.Context(), 7, "2026-11-20", "2026-11-20")
	require.NoError(t, err)
	require.Equal(t, results.Partial, rows[0].State)
	require.Contains(t, rows[0].Note, "came twice")
}

func TestOperations_PartsAndParams(t *testing.T) {
	t.Parallel()
	b, _ := setupLog(t)
	h, ok := b.handlers.Get("fake.operations")
	require.True(t, ok)
	zone := time.FixedZone("", 8*3600)
	parts := func(plan media.Plan) ([]string, error) {
		plan.PlannedAt, plan.Zone = at, zone
		return h.Parts(plan)
	}
	got, err := parts(media.Plan{})
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-20"}, got)
	got, err = parts(media.Plan{Params: json.RawMessage(`{"days":4}`)})
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-17..2026-11-19", "2026-11-20"}, got)
	_, err = parts(media.Plan{From: day.Day("2026-10-01"), To: "2026-10-02"})
	require.EqualError(t, err, "from: 2026-10-01 is refused: want 2026-10-21 or later, the platform keeps 30 days")
	require.EqualError(t, h.Check(json.RawMessage(`{"days":32}`)),
		"params.days: 32 is refused: want 1 to 31, which is all that the platform keeps")
	require.Error(t, h.Check(json.RawMessage(`{"level":"adgroup"}`)))

	plain := setup(t)
	_, has := plain.handlers.Get("fake.operations")
	require.False(t, has, "the platform has no log")
}

// An older pull that ends last writes nothing.
func TestOperations_AnOlderPullIsFenced(t *testing.T) {
	t.Parallel()
	b, _ := setupLog(t, entry("e1", at, "Li"))
	scope := results.Scope{AccountID: 7, Media: "fake", Report: media.OperationsName, Level: media.OperationsLevel,
		Days: []day.Day{"2026-11-20"}}
	old, _, err := b.store.BeginPull(t.Context(), scope, "old", 1)
	require.NoError(t, err)
	b.later(t)
	_, err = b.run(t, "fake.operations", "2026-11-20", "")
	require.NoError(t, err)
	_, err = b.store.WriteOperations(t.Context(), results.OperationWrite{Claim: old, Whole: true})
	refusal, ok := results.IsFenced(err)
	require.True(t, ok, "%v", err)
	require.True(t, refusal.Complete)
	require.Len(t, b.changed(t), 1)
}
