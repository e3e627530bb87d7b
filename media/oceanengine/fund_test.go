package oceanengine

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/media"
)

func TestFund_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(
		`{"advertiser_id":1700000000000001,"name":"a","balance":1230.55,"valid_balance":1.22955e3,"cash":1200.05,` +
			`"valid_cash":null,
		"grant":30.5,"return_goods_abs":7,"wallet_id":"12","wallet_total_balance_valid":"99.5"}`)}
	rows, err := New().Funds().Balance.Fetch(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, url.Values{"advertiser_id": {"1700000000000001"}}, s.queries[0])
	require.Len(t, rows, 1)
	require.Empty(t, rows[0].Object, "one row has all money")
	require.Equal(t, []any{int64(123_055), int64(122_955), int64(120_005), nil, int64(3_050), nil}, rows[0].Raw)
	require.Contains(t, string(rows[0].JSON), "wallet_total_balance_valid")
	total, cash, grant := fund.Row{Kind: fund.Total}, fund.Row{Kind: fund.Cash}, fund.Row{Kind: fund.Grant}
	total.Values[fund.Balance], total.Values[fund.ValidBalance] = fund.Of(1_230_550_000), fund.Of(1_229_550_000)
	cash.Values[fund.Balance], grant.Values[fund.Balance] = fund.Of(1_200_050_000), fund.Of(30_500_000)
	require.Equal(t, []fund.Row{total, cash, grant}, rows[0].Funds,
		"a missing amount is not 0, and shared wallets are left out")
	for _, broken := range []string{`null`, `{}`, `[]`, `{"cash":1}`} {
		_, err = New().Funds().Balance.Fetch(t.Context(), &server{answer: data(broken)})
		requireClass(t, media.Transient, err)
	}
	rows, err = New().Funds().Balance.Fetch(t.Context(), &server{answer: data(`{"balance":"much","cash":1}`)})
	require.NoError(t, err)
	require.Equal(t, "balance", rows[0].Faults[0].Field)
	require.Nil(t, rows[0].Raw[0])
}

func TestFundDaily_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	flow := New().Funds().Daily
	s := &server{answer: data(
		`{"list":[{"advertiser_id":1700000000000001,"date":"2026-11-15","balance":3000.01,"cash_cost":500,"cost":500.7,` +
			`"frozen":0,
		"income":1000.05,"reward_cost":0.7,"grant_balance":0.01,"non_grant_balance":3000,"shared_wallet_cost":3,` +
			`"transfer_out":550.5}],"page_info":{"page":1,"page_size":100,"total_number":150,"total_page":2}}`)}
	page, err := flow.Page(t.Context(), s, media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "")
	require.NoError(t, err)
	require.Equal(t, url.Values{
		"advertiser_id": {"1700000000000001"}, "start_date": {"2026-11-10"}, "end_date": {"2026-11-15"}, "page": {"1"},
		"page_size": {"100"},
	}, s.queries[0])
	require.Equal(t, 150, page.Total)
	require.Equal(t, "2", page.Next)
	row := page.Rows[0]
	require.Equal(t, day.Day("2026-11-15"), row.Day)
	require.Empty(t, row.Object)
	require.Equal(t, []any{int64(100_005), int64(50_070), nil, int64(55_050), int64(300_001), int64(50_000), int64(70),
		int64(0), int64(1), int64(300_000)}, row.Raw)
	total, cash, grant := fund.Row{Kind: fund.Total}, fund.Row{Kind: fund.Cash}, fund.Row{Kind: fund.Grant}
	total.Values[fund.Deposit], total.Values[fund.Paid] = fund.Of(1_000_050_000), fund.Of(500_700_000)
	total.Values[fund.TransferOut], total.Values[fund.Balance] = fund.Of(550_500_000), fund.Of(3_000_010_000)
	cash.Values[fund.Paid], grant.Values[fund.Paid] = fund.Of(500_000_000), fund.Of(700_000)
	cash.Values[fund.Balance], grant.Values[fund.Balance] = fund.Of(3_000_000_000), fund.Of(10_000)
	require.Equal(t, []fund.Row{total, cash, grant}, row.Funds, "a missing amount is not 0")

	page, err = flow.Page(t.Context(), s, media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "2")
	require.NoError(t, err)
	require.Empty(t, page.Next)
	for _, broken := range []string{`{"list":[{}],"page_info":{"total_number":1}}`,
		`{"list":[{"date":"15.11.2026"}],"page_info":{"total_number":1}}`} {
		page, err = flow.Page(t.Context(), &server{answer: data(broken)},
			media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "")
		requireLost(t, page, err)
	}
	for _, broken := range []string{`null`, `{}`, `{"list":[]}`} {
		_, err = flow.Page(t.Context(), &server{answer: data(broken)},
			media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "")
		requireClass(t, media.Transient, err)
	}
	_, err = flow.Page(t.Context(), s, media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "nonsense")
	requireClass(t, media.Bug, err)
}
