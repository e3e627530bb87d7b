package results_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

// writeObjects writes a pull of configuration objects; full is a pull that requested everything.
func writeObjects(t *testing.T, s *store.Store, full bool, rows ...results.ObjectRow) (written int) {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: storetest.RawObject.Name, Level: "adgroup",
		Days: []day.Day{day.Epoch}}
	claim, _, err := s.BeginPull(t.Context(), scope, "p", 1)
	require.NoError(t, err)
	written, err = s.WriteObjects(t.Context(), results.ObjectWrite{Claim: claim, Raw: storetest.RawObject, Rows: rows,
		Full: full})
	require.NoError(t, err)
	return written
}

func objectAt(id string, modified int64, deleted bool) results.ObjectRow {
	return results.ObjectRow{Object: id, Modified: time.Unix(modified, 0), Deleted: deleted, Raw: []any{id, nil},
		JSON: fmt.Sprintf(`{"at":%d}`, modified)}
}

func TestWriteObjects_TheMarkOfChangesNeverFalls(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	mark := func() int64 {
		rows, err := s.ReadCoverage(t.Context(), 7, day.Epoch, day.Epoch)
		require.NoError(t, err)
		return rows[0].HighWater
	}
	writeObjects(t, s, true, objectAt("1", 10_000, false))
	require.EqualValues(t, 10_000, mark())
	writeObjects(t, s, false, objectAt("2", 9_000, false))
	require.EqualValues(t, 10_000, mark(), "a change that is shown late")
	writeObjects(t, s, false)
	require.EqualValues(t, 10_000, mark())
	writeObjects(t, s, false, objectAt("2", 11_000, false))
	require.EqualValues(t, 11_000, mark())
}

func TestWriteObjects_NoMarkLiesInTheFuture(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	mark := func() (at int64) {
		require.NoError(t,
			s.Data.Writer(t.Context()).Raw("SELECT high_water FROM coverage WHERE account_id = 7 AND report = ?",
				storetest.RawObject.Name).Row().Scan(&at))
		return at
	}
	const year2100 = 4_102_444_800
	writeObjects(t, s, true, objectAt("1", 10_000, false), objectAt("2", year2100, false))
	require.EqualValues(t, 10_000, mark())
	writeObjects(t, s, false, objectAt("2", year2100, false))
	require.EqualValues(t, 10_000, mark(), "a pull of changes does not move it there either")
	for _, full := range []bool{false, true} {
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE coverage SET high_water = ?", year2100).Error)
		writeObjects(t, s, full, objectAt("1", 11_000, false))
		require.EqualValues(t, 11_000, mark(), "a mark in the future is lowered")
	}
}

func TestWriteObjects_MarksADeletedObjectOnce(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	deleted := func() (at sqldb.Time, version int64) {
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT deleted_at, version FROM "+storetest.RawObject.Name+
			" WHERE object_id = '1'").Row().Scan(&at, &version))
		return at, version
	}
	writeObjects(t, s, true, objectAt("1", 1, false), objectAt("2", 1, false))
	require.Equal(t, 2, writeObjects(t, s, true, objectAt("2", 1, false)))
	at, version := deleted()
	require.False(t, at.IsZero())
	require.Equal(t, 1, writeObjects(t, s, true, objectAt("2", 1, false)), "it is marked already")
	again, same := deleted()
	require.Equal(t, at, again)
	require.Equal(t, version, same)

	// The platform lists it as deleted: deleted_at is when that was first seen.
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE "+storetest.RawObject.Name+
		" SET deleted_at = ? WHERE object_id = '1'", sqldb.At(storetest.Moment)).Error)
	writeObjects(t, s, true, objectAt("1", 2, true), objectAt("2", 1, false))
	again, _ = deleted()
	require.Equal(t, storetest.Moment, again.Time)
	writeObjects(t, s, false, objectAt("2", 3, true))
	writeObjects(t, s, true) // There is no live object: an empty list is believed.
}

func TestWriteObjects_DeletesMoreThanOneStatementDoes(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	const many = 1003
	rows := make([]results.ObjectRow, many)
	for i := range rows {
		rows[i] = objectAt(fmt.Sprint(i), 1, false)
	}
	require.Equal(t, many, writeObjects(t, s, true, rows...))
	require.Equal(t, many, writeObjects(t, s, true, rows[0]))
	require.Equal(t, 1, storetest.RowsIn(t, s, storetest.RawObject.Name+" WHERE deleted_at IS NULL"))
}

func objectsOf(claim results.Claim, full bool, rows ...results.ObjectRow) results.ObjectWrite {
	return results.ObjectWrite{Claim: claim, Raw: storetest.RawObject, Full: full, Rows: rows,
		JudgeRows: storetest.NotEmpty}
}

func object(id, name string, modified int64) results.ObjectRow {
	return results.ObjectRow{Object: id, Name: name, Modified: time.Unix(modified, 0),
		Raw: []any{name, sqldb.At(time.Unix(1, 0))}, JSON: `{"name":"` + name + `"}`}
}

func beginObjects(t *testing.T, s *store.Store) (results.Claim, int64) {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: "adgroup", Level: "adgroup", Days: []day.Day{day.Epoch}}
	claim, highWater, err := s.BeginPull(context.Background(), scope, "p", 1)
	require.NoError(t, err)
	return claim, highWater
}

func TestWriteObjects_MarksMissingObjectsAndKeepsOldNames(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	claim, highWater := beginObjects(t, s)
	require.Zero(t, highWater)
	n, err := s.WriteObjects(ctx, objectsOf(claim, true, object("1", "one", 100), object("2", "two", 200)))
	require.NoError(t, err)
	require.Equal(t, 2, n)

	claim, highWater = beginObjects(t, s)
	require.EqualValues(t, 200, highWater)
	n, err = s.WriteObjects(ctx, objectsOf(claim, false, object("1", "uno", 300), object("2", "two", 200)))
	require.NoError(t, err)
	require.Equal(t, 1, n, "a pull of changes writes only changes")

	claim, highWater = beginObjects(t, s)
	require.EqualValues(t, 300, highWater)
	_, err = s.WriteObjects(ctx, objectsOf(claim, true, object("1", "uno", 300)))
	require.NoError(t, err)

	var rows []struct {
		ObjectID    string     `gorm:"column:object_id"`
		AdgroupName string     `gorm:"column:adgroup_name"`
		DeletedAt   sqldb.Time `gorm:"column:deleted_at"`
	}
	require.NoError(t,
		s.Data.Writer(ctx).Raw("SELECT object_id, adgroup_name, deleted_at FROM test_adgroup ORDER BY object_id").Scan(
			&rows).Error)
	require.Len(t, rows, 2, "no row of configuration is ever deleted")
	require.True(t, rows[0].DeletedAt.IsZero())
	require.False(t, rows[1].DeletedAt.IsZero())
	var names []string
	require.NoError(t,
		s.Data.Writer(ctx).Raw("SELECT name FROM object_name WHERE object_id = '1' ORDER BY since").Scan(&names).Error)
	require.Equal(t, []string{"one", "uno"}, names)

	claim, _ = beginObjects(t, s)
	_, err = s.WriteObjects(ctx, objectsOf(claim, false, object("2", "two", 400)))
	require.NoError(t, err)
	require.NoError(t,
		s.Data.Writer(ctx).Raw("SELECT object_id, adgroup_name, deleted_at FROM test_adgroup ORDER BY object_id").Scan(
			&rows).Error)
	require.True(t, rows[1].DeletedAt.IsZero(), "an object that comes back is no longer deleted")
}

func TestWriteObjects_DoesNotBelieveAnEmptyList(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	claim, _ := beginObjects(t, s)
	_, err := s.WriteObjects(ctx, objectsOf(claim, true))
	require.NoError(t, err, "an account may have no objects")
	claim, _ = beginObjects(t, s)
	_, err = s.WriteObjects(ctx, objectsOf(claim, true, object("1", "one", 100)))
	require.NoError(t, err)

	claim, _ = beginObjects(t, s)
	_, err = s.WriteObjects(ctx, objectsOf(claim, true))
	var suspect *results.SuspectError
	require.ErrorAs(t, err, &suspect)
	var deleted int
	require.NoError(t,
		s.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM test_adgroup WHERE deleted_at IS NOT NULL").Row().Scan(&deleted))
	require.Zero(t, deleted)
	require.Equal(t, results.Suspect, storetest.CoverageOf(t, s)[day.Epoch].State)
}
