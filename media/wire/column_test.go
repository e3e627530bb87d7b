package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media/wire"
)

var shanghai = time.FixedZone("UTC+8", 8*60*60)

func TestColumns_HoldAndReadEachType(t *testing.T) {
	t.Parallel()
	moment := wire.TimeColumn(wire.TimeIn(shanghai, time.DateTime, time.DateOnly))
	columns := wire.Columns{
		wire.TextColumn("name"), wire.ExactColumn("signature").Of("md5"), wire.IDColumn("parent"), wire.CodeColumn("status"),
		wire.TruthColumn("pause"), wire.CountColumn("size"), wire.LengthColumn("duration"),
		wire.MoneyColumn(wire.Yuan)("bid"), moment("created"), moment("day"), wire.MilliColumn("changed"),
	}
	kinds := []rawtable.Column{
		{Name: "name", Kind: rawtable.Text}, {Name: "signature", Kind: rawtable.Text}, {Name: "parent", Kind: rawtable.Text},
		{Name: "status", Kind: rawtable.Text}, {Name: "pause", Kind: rawtable.Text}, {Name: "size", Kind: rawtable.Int},
		{Name: "duration_ms", Kind: rawtable.Int}, {Name: "bid_fen", Kind: rawtable.Int},
		{Name: "created", Kind: rawtable.Instant}, {Name: "day", Kind: rawtable.Instant},
		{Name: "changed", Kind: rawtable.Instant},
	}
	require.Equal(t, kinds, columns.Table())
	row := wire.Open(json.RawMessage(`{"name":"a","md5":"f0","parent":7,"status":0,"pause":false,"size":3,` +
		`"duration":"1.5","bid":"2.05","created":"2026-11-20 08:00:01","day":"2026-11-20","changed":1795132800000}`))
	require.Equal(t, []any{"a", "f0", "7", "0", "false", int64(3), int64(1500), int64(205),
		sqldb.At(time.Date(2026, 11, 20, 0, 0, 1, 0, time.UTC)), sqldb.At(time.Date(2026, 11, 19, 16, 0, 0, 0, time.UTC)),
		sqldb.At(time.UnixMilli(1795132800000).UTC())}, columns.Read(row))
	require.Empty(t, row.Faults())

	none := columns.Read(wire.Open(json.RawMessage(`{"status":"x","pause":7,"created":"soon"}`)))
	for i, value := range none[:8] {
		require.Nil(t, value, kinds[i].Name)
	}
	require.True(t, none[8].(sqldb.Time).IsZero())
}
