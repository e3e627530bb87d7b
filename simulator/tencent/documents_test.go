package tencent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/tencent"
)

func TestTencentDocuments_FieldsOfListsAreThoseOfTheirPages(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	for path, known := range tencent.FieldsOfLists {
		require.Equal(t, 12009, simtest.Code(t, s.call(s.Account(0), path, "fields", `["account_id"]`)),
			"%s has no account_id", path)
		rows := s.list(path, "fields", simtest.JSON(known))
		require.NotEmpty(t, rows)
		require.NotContains(t, rows[0], "account_id")
		require.Len(t, s.list(path)[0], len(rows[0].(fields)), "unset fields are omitted, requested or not")
	}
	known := slices.Concat(tencent.FieldsOfAccounts, []string{"account_id", "corporation_name", "system_status"})
	rows := s.list("advertiser/get", "fields", simtest.JSON(known), "pagination_mode", "PAGINATION_MODE_NORMAL", "page",
		"1", "page_size", "5")
	require.Equal(t, fields{"account_id": json.Number(simtest.Text(s.Account(0).ID)),
		"corporation_name": s.Account(0).Company(),
		"system_status":    "CUSTOMER_STATUS_NORMAL"}, rows[0])
}

func TestTencentDocuments_AllColumnsOfReportsAreKnown(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	var figures []string
	for line := range strings.Lines(tencent.ReportColumns) {
		if !strings.HasPrefix(line, "#") {
			figures = append(figures, strings.Fields(line)...)
		}
	}
	require.Len(t, figures, 1049)
	require.True(t, slices.IsSorted(figures))
	ask := func(path, group string, columns []string) fields {
		return s.list(path, "level", "REPORT_LEVEL_ADVERTISER", "group_by", group, "fields", simtest.JSON(columns),
			"date_range", `{"start_date":"2026-11-14","end_date":"2026-11-14"}`)[0].(fields)
	}
	for path, group := range map[string]string{"daily_reports/get": `["date"]`, "hourly_reports/get": `["hour"]`} {
		for columns := range slices.Chunk(figures, 1000) { // a call takes 1,024
			row := ask(path, group, columns)
			require.Len(t, row, len(columns))
			for _, name := range columns {
				if !tencent.HasFigures(name) {
					require.Equal(t, json.Number("0"), row[name], name)
				}
			}
		}
		row := ask(path, group, []string{"cost", "component_id", "component_type", "video_id", "match_type", "project_name"})
		require.NotEqual(t, json.Number("0"), row["cost"])
		delete(row, "cost")
		require.Equal(t, fields{"component_id": json.Number("0"), "component_type": "", "video_id": "",
			"match_type": json.Number("0"), "project_name": ""}, row)
	}
}
