package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/engine"
	"adsync/media/wire"
)

// addField makes a platform serve one more figure, adds the field, and waits until the platform has accepted it and
// all consumers know that.
func (d *deployment) addField(t *testing.T, w *world, media string) {
	t.Helper()
	w.order(t, "faults", map[string]any{"kind": "add_field", "media": media, "field": "brand_new"}, nil)
	status, body := call(t, http.MethodPut, d.api+"/fields",
		map[string]any{"media": media, "field": "brand_new", "state": "asked", "by": "otto"})
	require.Equal(t, http.StatusOK, status, string(body))
	var account string
	require.NoError(t,
		d.store.Config.Writer(t.Context()).Raw(
			"SELECT external_id FROM media_account WHERE media = ? AND tier = ? AND bound = 1 ORDER BY id LIMIT 1", media,
			settings.TierActive).Row().Scan(&account))
	id := d.order(t, media+".report_daily.account", map[string]any{"accounts": []string{account}})
	d.requireSucceeded(t, d.await(t, []int64{id})) // This account's pull tries the field.
	require.Eventually(t, func() bool {
		fields, err := d.store.ReportFields(t.Context(), media)
		return err == nil && len(fields) == 1 && fields[0].Accepted
	}, patience, poll, "%s never accepts the field", media)
	for i, role := range d.roles {
		if len(d.roles) > 1 && role == "consumer" {
			d.replace(t, i) // A consumer that has not tried the field reads the table each half minute.
		}
	}
}

// requireField checks that every row of a raw table has the new figure.
func (d *deployment) requireField(t *testing.T, table string) {
	t.Helper()
	var rows, without int
	err := d.store.Data.Writer(t.Context()).Raw(
		"SELECT COUNT(*), SUM(CASE WHEN row_json LIKE '%\"brand_new\"%' THEN 0 ELSE 1 END) FROM "+table).Row().Scan(&rows,
		&without)
	require.NoError(t, err)
	require.Positive(t, rows)
	require.Zero(t, without, "of %d rows of %s", rows, table)
}

// requireRetired makes a platform retire a figure: the account's report is still pulled, and its row loses the figure.
func (d *deployment) requireRetired(t *testing.T, w *world, account, on string) {
	t.Helper()
	pull := func() (rows, told int) {
		id := d.order(t, onePlatform+".report_daily.account",
			map[string]any{"accounts": []string{account}, "from": on, "to": on})
		d.requireSucceeded(t, d.await(t, []int64{id}))
		err := d.store.Data.Writer(t.Context()).Raw(
			"SELECT COUNT(*), COUNT(r.registrations) FROM report_daily_account r JOIN coverage c ON c.account_id = r.account_id"+
				" AND c.report = 'report_daily' AND c.level = r.level AND c.day = r.day WHERE c.run_id = ?", id).Row().Scan(&rows,
			&told)
		require.NoError(t, err)
		return rows, told
	}
	figures := engine.Platforms()[0].Reports()[0].Figures
	registrations := slices.IndexFunc(figures, func(f wire.Figure) bool { return f.Metric == "registrations" })
	rows, told := pull()
	require.Equal(t, []int{1, 1}, []int{rows, told})
	w.order(t, "faults", map[string]any{"kind": "retire_field", "media": onePlatform,
		"field": figures[registrations].Field}, nil)
	rows, told = pull()
	require.Equal(t, []int{1, 0}, []int{rows, told}, "the row exists, without the figure")
	fields, err := d.store.ReportFields(t.Context(), onePlatform)
	require.NoError(t, err)
	require.Len(t, fields, 2)
	retired := fields[slices.IndexFunc(fields, func(f settings.ReportField) bool { return f.Field != "brand_new" })]
	require.Equal(t, []string{figures[registrations].Field, "report_daily", "account", string(settings.FieldRetired)},
		[]string{retired.Field, retired.Report, retired.Level, string(retired.State)})
}
