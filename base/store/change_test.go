package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
)

// pullObjects writes a list as a pull of it does.
func pullObjects(t *testing.T, s *store.Store, full bool, rows ...store.ObjectRow) {
	t.Helper()
	claim, _ := beginObjects(t, s)
	w := objectsOf(claim, full, rows...)
	w.Unlogged = []string{"modified"}
	_, err := s.WriteObjects(context.Background(), w)
	require.NoError(t, err)
}

// changes returns what config_change tells, the oldest first, without its times.
func changes(t *testing.T, s *store.Store, f store.ChangeFilter) []store.ConfigChange {
	t.Helper()
	f.AccountID = 7
	all, err := s.ConfigChanges(context.Background(), f, store.ConfigChange{}, 100)
	require.NoError(t, err)
	for i := range all {
		all[i].Version, all[i].SeenAt = 0, time.Time{}
	}
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}

func rowOf(id, name, json string) store.ObjectRow {
	row := object(id, name, 1)
	row.JSON = json
	return row
}

func TestConfigChanges_TellWhatPullsSaw(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	one := rowOf("1", "one", `{"name": "one", "budget": 5, "area": {"a": 1, "b": [1, 2]}, "modified": 1}`)
	pullObjects(t, s, true, one)
	require.Empty(t, changes(t, s, store.ChangeFilter{}), "what comes with the first pull is no news")
	pullObjects(t, s, true, one)
	require.Empty(t, changes(t, s, store.ChangeFilter{}), "nothing has changed")
	pullObjects(t, s, false, rowOf("1", "one", `{"modified": 9, "area": {"b": [1, 2], "a": 1}, "name": "one", "budget": 5}`))
	require.Empty(t, changes(t, s, store.ChangeFilter{}), "the order of keys says nothing, and of the modification nobody asks")
	pullObjects(t, s, false, rowOf("1", "one", `{"modified": 9, "area": {"b": ["1", 2.0], "a": "1"}, "name": "one", "budget": "5.00"}`))
	require.Empty(t, changes(t, s, store.ChangeFilter{}), "a number and the text of it are the same")
	pullObjects(t, s, false, rowOf("1", "one", `{"modified": 9, "area": {"b": [1, 2], "a": 1}, "name": "one", "budget": 5}`))
	require.Empty(t, changes(t, s, store.ChangeFilter{}))

	pullObjects(t, s, false, rowOf("1", "uno", `{"name": "uno", "bid": 19007199254740993, "area": {"a": 1, "b": [2]}, "modified": 2}`), rowOf("2", "two", `{"name": "two"}`))
	pullObjects(t, s, true, rowOf("2", "two", `{"name": "two"}`))
	pullObjects(t, s, false, rowOf("1", "uno", `{"name": "uno", "bid": 19007199254740994, "area": {"a": 1, "b": [2]}, "modified": 3}`))
	change := func(object, field, before, after string) store.ConfigChange {
		return store.ConfigChange{Level: "adgroup", Object: object, Field: field, Before: before, After: after}
	}
	require.Equal(t, []store.ConfigChange{
		change("1", "area", `{"b": [1, 2], "a": 1}`, `{"a": 1, "b": [2]}`),
		change("1", "bid", "", "19007199254740993"),
		change("1", "budget", "5", ""),
		change("1", "name", `"one"`, `"uno"`),
		change("2", store.FieldCreated, "", `"two"`),
		change("1", store.FieldDeleted, "false", "true"),
		change("1", store.FieldDeleted, "true", "false"),
		change("1", "bid", "19007199254740993", "19007199254740994"),
	}, changes(t, s, store.ChangeFilter{}))

	require.Len(t, changes(t, s, store.ChangeFilter{Object: "2"}), 1)
	require.Len(t, changes(t, s, store.ChangeFilter{Field: "bid", Level: "adgroup"}), 2)
	require.Empty(t, changes(t, s, store.ChangeFilter{Level: "campaign"}))
	require.Empty(t, changes(t, s, store.ChangeFilter{To: time.Now().Add(-time.Hour)}))
	require.Empty(t, changes(t, s, store.ChangeFilter{From: time.Now().Add(time.Hour)}))
	require.Len(t, changes(t, s, store.ChangeFilter{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}), 8)
}

func TestConfigChanges_PagesHaveEachOnce(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	pullObjects(t, s, true)
	for range 3 {
		pullObjects(t, s, true, rowOf("1", "one", `{"a": 1, "b": 1, "c": 1}`), rowOf("2", "two", `{"a": 1}`))
		pullObjects(t, s, true, rowOf("1", "one", `{"a": 2, "b": 2, "c": 2}`), rowOf("2", "two", `{"a": 2}`))
	}
	all, err := s.ConfigChanges(t.Context(), store.ChangeFilter{AccountID: 7}, store.ConfigChange{}, 100)
	require.NoError(t, err)
	require.Len(t, all, 2+5*4)
	for size := 1; size < 8; size++ {
		var paged []store.ConfigChange
		for after := (store.ConfigChange{}); ; {
			page, err := s.ConfigChanges(t.Context(), store.ChangeFilter{AccountID: 7}, after, size)
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
