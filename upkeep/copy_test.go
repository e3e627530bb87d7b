package upkeep_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/upkeep"
)

func TestCopy_HasAPartForEachEnabledCopyAndRunsEachAlone(t *testing.T) {
	t.Parallel()
	s, cfg := storetest.New(t), storetest.Config(t)
	from := storetest.Open(t, cfg)
	sources, err := copies.OpenSources(copies.SourcesConfig{"erp": {Driver: cfg.Data.Driver, DSN: cfg.Data.Writer}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sources.Close()) })
	registry := media.NewRegistry(upkeep.Handlers(upkeep.Deps{Store: s, Marks: s.Data, Sources: sources,
		Clock: clock.NewScaled(now, 1, true), Logger: slog.New(slog.DiscardHandler)})...)
	h, known := registry.Get(upkeep.CopyName)
	require.True(t, known)
	listed, err := h.List(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, 1, "a run without copies has a part that does nothing")
	require.Zero(t, run(t, registry, upkeep.CopyName, listed[0], "").Rows)

	for _, c := range []copies.TableCopy{
		{Name: "broken", SourceTable: "none", Enabled: true}, {Name: "idle", SourceTable: "orders"},
		{Name: "orders", SourceTable: "orders", Enabled: true},
	} {
		c.Source, c.KeyColumns = "erp", "id"
		require.NoError(t, s.PutTableCopy(t.Context(), settings.Editor{}, c.Name, func(row *copies.TableCopy) error {
			*row = c
			return nil
		}))
	}
	const columns = "(id INTEGER NOT NULL PRIMARY KEY)"
	require.NoError(t, from.Data.Writer(t.Context()).Exec("CREATE TABLE orders "+columns).Error)
	require.NoError(t, from.Data.Writer(t.Context()).Exec("INSERT INTO orders VALUES (1), (2)").Error)
	for _, name := range []string{"broken", "idle", "orders"} {
		require.NoError(t, s.Data.Writer(t.Context()).Exec("CREATE TABLE copy_"+name+" "+columns).Error)
	}
	listed, err = h.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"broken", "orders"}, listed)
	parts, err := h.Parts(media.Plan{Parts: listed})
	require.NoError(t, err)
	require.Equal(t, listed, parts)
	_, err = h.Parts(media.Plan{Parts: listed, From: "2026-11-21"})
	require.ErrorContains(t, err, "this task has no days")

	_, err = h.Run(t.Context(), media.Work{Key: task.Key{Part: "broken"}})
	require.ErrorContains(t, err, "copy broken: source_table: none of the source erp cannot be read: ")
	require.Equal(t, 2, run(t, registry, upkeep.CopyName, "orders", "").Rows)
	require.Equal(t, 2, storetest.RowsIn(t, s, "copy_orders"))
	for _, name := range []string{"idle", "deleted"} {
		require.Zero(t, run(t, registry, upkeep.CopyName, name, "").Rows)
	}
	require.Zero(t, storetest.RowsIn(t, s, "copy_idle"))
}
