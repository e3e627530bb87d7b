package media_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/wire"
)

func TestReportQuery_Fields(t *testing.T) {
	t.Parallel()
	q := media.ReportQuery{Extra: []string{"x", "b", "y"}, Without: []string{"c", "y"}}
	require.Equal(t, []string{"a", "b", "x"}, q.Fields([]string{"a", "b", "c"}))
	require.Equal(t, []string{"a", "b"}, media.ReportQuery{}.Fields([]string{"a", "b"}))
}

func TestReport_NeedsItsKeysAndSpend(t *testing.T) {
	t.Parallel()
	r := media.Report{Keys: []string{"date", "id"},
		Figures: wire.Figures{{Field: "stat_cost", Metric: "cost"}, {Field: "show_cnt", Metric: "impressions"}}}
	for field, want := range map[string]bool{"date": true, "id": true, "stat_cost": true, "show_cnt": false,
		"other": false, "": false} {
		require.Equal(t, want, r.Needs(field), field)
	}
}

func TestNameField_FindsTheOneThatTheTextNames(t *testing.T) {
	t.Parallel()
	asked := []string{"cost", "reg_pv", "reg_dedup_pv", "view_count"}
	for name, c := range map[string]struct{ code, message, want string }{
		"quoted": {"12009", `An unknown field is requested. "reg_pv" (request 1f)`, "reg_pv"},
		"in a list of the details": {"12009", `bad [{"common_param_exception_spec":{"error_fields":["view_count"]}}]`,
			"view_count"},
		"two of four":                   {"12009", "reg_dedup_pv and reg_pv are unknown", "reg_pv"},
		"part of another name":          {"12009", "reg_pv_2, my-cost2 and xview_count are unknown", ""},
		"not a requested one":           {"12009", "clue_count is unknown", ""},
		"the known ones, not the wrong": {"12009", "want one of cost, reg_pv, view_count", ""},
		"another error":                 {"11017", "reg_pv", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &media.Error{Class: media.Bug, Code: c.code, Message: c.message}
			err := media.NameField(fmt.Errorf("call x: %w", e), asked, "18009", "12009")
			require.ErrorIs(t, err, e)
			require.Equal(t, c.want, e.Field)
		})
	}
	other := errors.New("cut off")
	require.Equal(t, other, media.NameField(other, asked, "12009"))
}
