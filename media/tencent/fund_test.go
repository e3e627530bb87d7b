package tencent

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/media"
)

func TestFunds_ReadTheWireFormat(t *testing.T) {
	t.Parallel()
	// The platform's own sample, with a current fund type and an unknown field.
	s := &server{answer: data(`{"list":[
		{"fund_type":"GENERAL_CASH","balance":120000,"bill_deposit_amount":100,"fund_status":"FUND_STATUS_NORMAL",` +
		`"realtime_cost":100},
		{"fund_type":"FUND_TYPE_SPECIAL_GIFT","balance":"50","fund_status":"","effect_funds":[{"amount":50}]},
		{"fund_type":"FUND_TYPE_CREDIT_ROLL","balance":null,"bill_deposit_amount":0}]}`)}
	rows, err := New().Funds().Balance.Fetch(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, url.Values{"account_id": {"25610"}}, s.queries[0])
	require.Len(t, rows, 3)
	require.Equal(t, "GENERAL_CASH", rows[0].Object)
	require.Equal(t, []any{int64(120_000), int64(100), int64(100), "FUND_STATUS_NORMAL"}, rows[0].Raw)
	require.Len(t, New().Funds().Balance.Table.Columns, 4)
	require.Equal(t, fund.Of(1_200_000_000), rows[0].Funds[0].Values[fund.Balance], "fen are hundredths")
	require.False(t, rows[0].Funds[0].Values[fund.ValidBalance].Set, "the platform does not report the spendable amount")
	require.Equal(t, fund.Grant, rows[1].Funds[0].Kind)
	require.Equal(t, []any{int64(50), nil, nil, nil}, rows[1].Raw)
	require.Contains(t, string(rows[1].JSON), "effect_funds")
	require.Equal(t, []fund.Row{{Kind: fund.Credit}}, rows[2].Funds, "an unreported balance is unset, and not 0")

	rows, err = New().Funds().Balance.Fetch(t.Context(), &server{answer: data(`{"list":[]}`)})
	require.NoError(t, err)
	require.Empty(t, rows)
	for _, broken := range []string{`{}`, `{"list":null}`} {
		_, err = New().Funds().Balance.Fetch(t.Context(), &server{answer: data(broken)})
		requireClass(t, media.Transient, err)
	}
	rows, err = New().Funds().Balance.Fetch(t.Context(),
		&server{answer: data(`{"list":[{"balance":1},{"fund_type":"A","balance":1.5e30}]}`)})
	require.NoError(t, err)
	require.True(t, rows[0].Lost, "its fund type is unknown")
	require.False(t, rows[1].Lost)
	require.Equal(t, "balance", rows[1].Faults[0].Field)
	require.Nil(t, rows[1].Raw[0])
}

func TestFunds_EveryTypeHasOneKind(t *testing.T) {
	t.Parallel()
	kinds := map[fund.Kind][]string{
		fund.Cash: {"CASH", "BANK", "MP_CASH", "MP_BANK", "JD_WIRELESS_CASH", "CASH_COST"},
		fund.Grant: {
			"GIFT", "UNION_GIFT", "MP_GIFT", "CONTRACT_GIFT_VIRTUAL", "COMPENSATE_VIRTUAL", "TCC_GIFT", "SPECIAL_GIFT",
			"MP_GAME_DEVELOPER_GIFT",
			"ANDROID_ORIENTED_GIFT", "LOCATION_PROMOTION_REWARDS", "GIFT_RESTRICT", "SHORT_PLAY_GIFT",
			"GAME_CHARGE_INDIRECT_REWARDS_GIFT",
			"GAME_CHARGE_DIRECT_REWARDS_GIFT", "SHORT_PLAY_PUBLISHER_GIFT", "MP_GAME_SPECIAL_REWARDS_GIFT",
			"MP_GAME_PC_TARGET_GIFT",
			"UTILITY_PUBLISHER_GIFT", "MP_NEW_GAME_SUBSIDY",
		},
		fund.Credit: {
			"CREDIT_ROLL", "CREDIT_TEMPORARY", "CONTRACT_CREDIT", "DEBT_FIXED", "DEBT_TEMP", "MINIGAME_CREDIT",
			"MUTUAL_SELECTION_CREDIT_ROLL",
		},
		fund.Other: {
			"SHARED", "CONTRACT_ASSIGN_VIRTUAL", "INTERNAL_QUOTA", "TEST_VIRTUAL", "UNSUPPORTED", "JD_PRIVILEGE",
			"MP_GAME_DEVELOPER_WORKING_FUND",
			"FLOW_SOURCE_AD_FUND", "INNER_RESOURCE_EXCHANGE", "INTEGRATED_MARKETING", "IAA_SHARED_INCOME_COST",
			"IAP_SHARED_INCOME_COST",
		},
	}
	count := 0
	for want, names := range kinds {
		for _, name := range names {
			require.Equal(t, want, New().Funds().Types.Kind("FUND_TYPE_"+name), name)
			count++
		}
	}
	require.Equal(t, 44, count, "all of the platform's SDK")
	for name, want := range map[string]fund.Kind{
		"GENERAL_CASH": fund.Cash, "GENERAL_GIFT": fund.Grant, "BANK": fund.Cash, "GENERAL_SHARED": fund.Other,
		"NEW": fund.Other,
	} {
		require.Equal(t, want, New().Funds().Types.Kind(name), name)
	}
}

func TestFundDaily_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	flow := New().Funds().Daily
	require.Equal(t, 10, flow.MaxDays)
	// The platform's own sample has no time: its day is the requested one.
	sample := `{"account_id":25610,"fund_type":"FUND_TYPE_CASH","deposit":100000,"paid":50000,"trans_in":1100000,` +
		`"trans_out":55000,
		"credit_modify":400000,"balance":300000,"preauth_balance":11}`
	s := &server{answer: data(`{"list":[` + sample +
		`],"page_info":{"page":1,"page_size":10,"total_number":101,"total_page":2}}`)}
	page, err := flow.Page(t.Context(), s, media.ReportQuery{From: "2026-11-20", To: "2026-11-20"}, "")
	require.NoError(t, err)
	require.Equal(t, url.Values{
		"account_id": {"25610"}, "date_range": {`{"end_date":"2026-11-20","start_date":"2026-11-20"}`}, "page": {"1"},
		"page_size": {"100"},
	}, s.queries[0])
	require.Equal(t, 101, page.Total)
	require.Equal(t, "2", page.Next)
	row := page.Rows[0]
	require.Equal(t, day.Day("2026-11-20"), row.Day)
	require.Equal(t, []any{int64(100_000), int64(50_000), int64(1_100_000), int64(55_000), int64(300_000), int64(400_000)},
		row.Raw)
	want := fund.Row{Kind: fund.Cash}
	want.Values[fund.Deposit], want.Values[fund.Paid] = fund.Of(1_000_000_000), fund.Of(500_000_000)
	want.Values[fund.TransferIn], want.Values[fund.TransferOut] = fund.Of(11_000_000_000), fund.Of(550_000_000)
	want.Values[fund.Balance] = fund.Of(3_000_000_000)
	require.Equal(t, []fund.Row{want}, row.Funds)

	page, err = flow.Page(t.Context(), s, media.ReportQuery{From: "2026-11-20", To: "2026-11-20"}, "2")
	require.NoError(t, err)
	require.Empty(t, page.Next)

	// A time belongs to the day in China: 2026-11-14 16:00 UTC is the 15th there.
	s = &server{answer: data(
		`{"list":[{"fund_type":"FUND_TYPE_GIFT","time":1794672000,"paid":null}],"page_info":{"total_number":1}}`)}
	page, err = flow.Page(t.Context(), s, media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "")
	require.NoError(t, err)
	require.Equal(t, day.Day("2026-11-15"), page.Rows[0].Day)
	require.Equal(t, []fund.Row{{Kind: fund.Grant}}, page.Rows[0].Funds, "an unreported amount is not 0")
	require.Equal(t, []any{nil, nil, nil, nil, nil, nil}, page.Rows[0].Raw)

	for _, broken := range []string{`{"list":[{}],"page_info":{"total_number":1}}`,
		`{"list":[{"fund_type":"FUND_TYPE_CASH"}],"page_info":{"total_number":1}}`} {
		page, err = flow.Page(t.Context(), &server{answer: data(broken)},
			media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "")
		requireLost(t, page, err)
	}
	for _, broken := range []string{`{}`, `{"list":[]}`} {
		_, err = flow.Page(t.Context(), &server{answer: data(broken)},
			media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "")
		requireClass(t, media.Transient, err)
	}
	_, err = flow.Page(t.Context(), s, media.ReportQuery{From: "2026-11-10", To: "2026-11-15"}, "nonsense")
	requireClass(t, media.Bug, err)
}
