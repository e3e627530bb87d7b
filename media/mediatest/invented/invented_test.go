package invented_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/mediatest/invented"
)

// answers is an API with one answer per endpoint.
type answers map[string]string

func (answers) Account() media.Account { return media.Account{ID: 7, ExternalID: "9001"} }

func (a answers) Get(_ context.Context, endpoint string, _ url.Values) (json.RawMessage, error) {
	data := `{"page_info":{"total_number":1},"has_more":false,"list":[` + a[endpoint] + `]}`
	if endpoint == "campaign" {
		data = "[" + a[endpoint] + "]"
	}
	return invented.New().Decode(http.StatusOK, nil, []byte(`{"code":0,"data":`+data+`}`))
}

func (answers) Post(context.Context, string, any) (json.RawMessage, error) {
	return nil, &media.Error{Class: media.Bug}
}

func TestPlatforms_ReadTheirRowsIntoTheirTables(t *testing.T) {
	t.Parallel()
	figures := `"cost":1230,"views":5,"figures":{"spend":"12.30","shows":5}`
	object := `{"id":"41","name":"One","adgroup_id":"40","modified_at":1795226400}`
	api := answers{
		"report_daily":  `{"date":"2026-11-20","id":"41",` + figures + `}`,
		"report_hourly": `{"date":"2026-11-20","hour":3,"id":"41",` + figures + `}`,
		"adgroup":       object, "creative": object, "campaign": object, "image": object, "video": object,
		"balance": `{"type":"cash","balance":70}`, "fund_daily": `{"type":"cash","date":"2026-11-20","paid":70}`,
		"accounts": `{"id":9001,"name":"One","company":"C"}`,
	}
	for _, p := range invented.Both() {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, storetest.New(t).EnsureRawTables(t.Context(), media.Tables(p)))
			for _, r := range p.Reports() {
				page, err := r.Page(t.Context(), api, media.ReportQuery{From: "2026-11-20", To: "2026-11-20"}, "")
				require.NoError(t, err)
				require.Len(t, page.Rows, 1)
				require.Empty(t, page.Rows[0].Faults)
				require.Len(t, page.Rows[0].Raw, len(r.Table.Columns))
				cost, _ := page.Rows[0].Metrics.Get(metric.Index("cost"))
				require.EqualValues(t, 12_300_000, cost)
			}
			for _, l := range p.Lists() {
				page, err := l.Page(t.Context(), api, media.ListQuery{}, "")
				require.NoError(t, err)
				require.Len(t, page.Rows, 1)
				require.Empty(t, page.Rows[0].Faults)
				require.Len(t, page.Rows[0].Raw, len(l.Table.Columns))
			}
			balance, err := p.Funds().Balance.Fetch(t.Context(), api)
			require.NoError(t, err)
			require.Equal(t, fund.Of(700_000), balance[0].Funds[0].Values[fund.Balance])
			flow, err := p.Funds().Daily.Page(t.Context(), api, media.ReportQuery{}, "")
			require.NoError(t, err)
			require.Equal(t, fund.Of(700_000), flow.Rows[0].Funds[0].Values[fund.Paid])
			var found []media.FoundAccount
			require.NoError(t, p.Accounts(t.Context(), api, "",
				func(a []media.FoundAccount) error { found = append(found, a...); return nil }))
			require.Equal(t, "9001", found[0].ExternalID)
		})
	}
}
