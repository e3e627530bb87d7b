package results_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

// pullObjects writes a list like a pull does.
func pullObjects(t *testing.T, s *store.Store, full bool, rows ...results.ObjectRow) {
	t.Helper()
	claim, _ := beginObjects(t, s)
	w := objectsOf(claim, full, rows...)
	w.Unlogged = []string{"modified"}
	_, err := s.WriteObjects(context.Background(), w)
	require.NoError(t, err)
}

// changes returns the rows of config_change, the oldest first, without their times.
func changes(t *testing.T, s *store.Store, f results.ChangeFilter) []results.ConfigChange {
	t.Helper()
	f.AccountID = 7
	all, err := s.ConfigChanges(context.Background(), f, results.ConfigChange{}, 100)
	require.NoError(t, err)
	for i := range all {
		all[i].Version, all[i].SeenAt = 0, time.Time{}
	}
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}

func rowOf(id, name, json string) results.ObjectRow {
	row := object(id, name, 1)
	row.JSON = json
	return row
}

func TestConfigChanges_RecordWhatPullsSaw(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	one := rowOf("1", "one", `{"name": "one", "budget": 5, "area": {"a": 1, "b": [1, 2]}, "modified": 1}`)
	pullObjects(t, s, true, one)
	require.Empty(t, changes(t, s, results.ChangeFilter{}), "the objects of the first pull are not changes")
	pullObjects(t, s, true, one)
	require.Empty(t, changes(t, s, results.ChangeFilter{}), "nothing has changed")
	pullObjects(t, s, false,
		rowOf("1", "one", `{"modified": 9, "area": {"b": [1, 2], "a": 1}, "name": "one", "budget": 5}`))
	require.Empty(t, changes(t, s, results.ChangeFilter{}),
		"neither the order of keys nor the modification time is a change")
	pullObjects(t, s, false,
		rowOf("1", "one", `{"modified": 9, "area": {"b": ["1", 2.0], "a": "1"}, "name": "one", "budget": "5.00"}`))
	require.Empty(t, changes(t, s, results.ChangeFilter{}), "a number equals its text")
	pullObjects(t, s, false,
		rowOf("1", "one", `{"modified": 9, "area": {"b": [1, 2], "a": 1}, "name": "one", "budget": 5}`))
	require.Empty(t, changes(t, s, results.ChangeFilter{}))

	pullObjects(t, s, false,
		rowOf("1", "uno", `{"name": "uno", "bid": 19007199254740993, "area": {"a": 1, "b": [2]}, "modified": 2}`),
		rowOf("2", "two", `{"name": "two"}`))
	pullObjects(t, s, true, rowOf("2", "two", `{"name": "two"}`))
	pullObjects(t, s, false,
		rowOf("1", "uno", `{"name": "uno", "bid": 19007199254740994, "area": {"a": 1, "b": [2]}, "modified": 3}`))
	change := func(object, field, before, after string) results.ConfigChange {
		return results.ConfigChange{Level: "adgroup", Object: object, Field: field, Before: before, After: after}
	}
	require.Equal(t, []results.ConfigChange{
		change("1", "area", `{"b": [1, 2], "a": 1}`, `{"a": 1, "b": [2]}`),
		change("1", "bid", "", "19007199254740993"),
		change("1", "budget", "5", ""),
		change("1", "name", `"one"`, `"uno"`),
		change("2", results.FieldCreated, "", `"two"`),
		change("1", results.FieldDeleted, "false", "true"),
		change("1", results.FieldDeleted, "true", "false"),
		change("1", "bid", "19007199254740993", "19007199254740994"),
	}, changes(t, s, results.ChangeFilter{}))

	require.Len(t, changes(t, s, results.ChangeFilter{Object: "2"}), 1)
	require.Len(t, changes(t, s, results.ChangeFilter{Field: "bid", Level: "adgroup"}), 2)
	require.Empty(t, changes(t, s, results.ChangeFilter{Level: "campaign"}))
	require.Empty(t, changes(t, s, results.ChangeFilter{To: time.Now().Add(-time.Hour)}))
	require.Empty(t, changes(t, s, results.ChangeFilter{From: time.Now().Add(time.Hour)}))
	require.Len(t, changes(t, s, results.ChangeFilter{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}), 8)
}

func TestConfigChanges_PagesReturnEachOnce(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	pullObjects(t, s, true)
	for range 3 {
		pullObjects(t, s, true, rowOf("1", "one", `{"a": 1, "b": 1, "c": 1}`), rowOf("2", "two", `{"a": 1}`))
		pullObjects(t, s, true, rowOf("1", "one", `{"a": 2, "b": 2, "c": 2}`), rowOf("2", "two", `{"a": 2}`))
	}
	all, err := s.ConfigChanges(t.Context(), results.ChangeFilter{AccountID: 7}, results.ConfigChange{}, 100)
	require.NoError(t, err)
	require.Len(t, all, 2+5*4)
	for size := 1; size < 8; size++ {
		var paged []results.ConfigChange
		for after := (results.ConfigChange{}); ; {
			page, err := s.ConfigChanges(t.Context(), results.ChangeFilter{AccountID: 7}, after, size)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
			after = page[len(page)-1]
		}
		require.Equal(t, all, paged)
	}
}

// Entries of a log of operations are listed by their own time, among the differences that pulls saw.
func TestConfigChanges_HaveTheEntriesOfALogOfOperations(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	now, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	today := day.Of(now, time.UTC)
	made := now.Add(-time.Minute).Truncate(time.Second)
	entry := results.Operation{Day: today, ID: "e1", At: made, By: "Li", Kind: "update", Level: "adgroup", Object: "1",
		Fields: []results.FieldChange{{Name: "budget", Before: "5", After: "6"}}}
	write := func(entries ...results.Operation) int {
		claim, _, err := s.BeginPull(t.Context(), results.Scope{AccountID: 7, Media: "tulip", Report: "operations",
			Level: "account", Days: []day.Day{today}}, uuid.NewString(), 1)
		require.NoError(t, err)
		result, err := s.WriteOperations(t.Context(), results.OperationWrite{Claim: claim, Whole: true, Operations: entries})
		require.NoError(t, err)
		return result.Written
	}
	pullObjects(t, s, true, rowOf("1", "one", `{"budget": 5}`))
	pullObjects(t, s, false, rowOf("1", "one", `{"budget": 6}`))
	other := entry
	other.ID, other.Fields, other.Level, other.Object, other.At = "e2", nil, "account", "", made.Add(time.Hour)
	require.Equal(t, 1, write(entry))
	require.Equal(t, 1, write(entry, other), "an entry is added once")
	require.Zero(t, write(other))

	all, err := s.ConfigChanges(t.Context(), results.ChangeFilter{AccountID: 7}, results.ConfigChange{}, 100)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, []string{results.FieldOperation, "budget", "budget"},
		[]string{all[0].Field, all[1].Field, all[2].Field}, "the newest first: the platform's clock may be ahead")
	require.Equal(t, []string{"Li", "", "Li"}, []string{all[0].By, all[1].By, all[2].By})
	require.True(t, all[1].ChangedAt.IsZero(), "of a difference only the pull's time is known")
	require.Equal(t, made.UTC(), all[2].ChangedAt.UTC())
	require.Equal(t, "6", all[2].After)

	// Accounts whose objects a person changed are active. An entry of the future does not count.
	found, err := s.Activities(t.Context(), []int64{7}, nil, now.AddDate(0, 0, -1), now.Add(30*time.Minute), nil)
	require.NoError(t, err)
	require.False(t, found[7].Changed.IsZero())
	require.True(t, found[7].Changed.Before(now.Add(30*time.Minute)))
}
