package kuaishou_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/media"
	"adsync/media/kuaishou"
	"adsync/media/wire"
)

// amountsOf returns the amounts that are set, by kind and column.
func amountsOf(row media.Row) map[string]int64 {
	amounts := map[string]int64{}
	for _, kind := range row.Funds {
		for i, amount := range kind.Values {
			if amount.Set {
				amounts[fmt.Sprint(kind.Kind, " ", fund.Field(i).Column())] = amount.Micros
			}
		}
	}
	return amounts
}

func amount(kind fund.Kind, field fund.Field) string { return fmt.Sprint(kind, " ", field.Column()) }

// Document 2614: yuan.
func TestBalance_ReadsTheSample(t *testing.T) {
	t.Parallel()
	balance := kuaishou.New().Funds().Balance
	s := answering(t, envelope(`{"balance":3704.68,"recharge_balance":1234.56,"contract_rebate":1235.06,`+
		`"direct_rebate":1235.06,"extended_balance":7.0,"total_shared_wallet_balance":1000000.0}`))
	got, err := balance.Fetch(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, []string{`v1/advertiser/fund/get {"advertiser_id":20000681}`}, s.asked)
	require.Len(t, got, 1)
	require.Empty(t, got[0].Object)
	require.Equal(t, map[string]int64{amount(fund.Total, fund.Balance): 3_704_680_000,
		amount(fund.Cash, fund.Balance): 1_234_560_000, amount(fund.Grant, fund.Balance): 2_470_120_000}, amountsOf(got[0]))
	require.Equal(t, []any{int64(370_468), int64(123_456), int64(123_506), int64(123_506)}, got[0].Raw)
	require.Equal(t, "balance_fen", balance.Table.Columns[0].Name)
	require.Contains(t, string(got[0].JSON), "1000000.0", "shared wallets are only in the JSON")

	for _, data := range []string{`null`, `[]`, `{}`, `5`, `{"recharge_balance":1}`} {
		_, err := balance.Fetch(t.Context(), answering(t, envelope(data)))
		requireClass(t, media.Transient, err)
	}
	got, err = balance.Fetch(t.Context(), answering(t, envelope(`{"balance":0.0,"recharge_balance":"much"}`)))
	require.NoError(t, err)
	require.Equal(t, map[string]int64{amount(fund.Total, fund.Balance): 0}, amountsOf(got[0]))
	require.Equal(t, wire.FigureFault, got[0].Faults[0].Kind)
}

// Document 2863: yuan.
func TestFlows_ReadTheSample(t *testing.T) {
	t.Parallel()
	daily := kuaishou.New().Funds().Daily
	s := answering(t, rows(`{"date":"2019-09-05","balance":3000.01,"advertiser_id":20000681,"daily_charge":500.7,`+
		`"real_charged":500.0,"contract_rebate_real_charged":0.5,"direct_rebate_real_charged":0.2,`+
		`"daily_transfer_in":12000.05,"real_recharged":12000.0,"daily_transfer_out":550.5,"daily_share_charge":0.0}`,
		`{"date":"5 September"}`))
	page, err := daily.Page(t.Context(), s, media.ReportQuery{From: "2019-09-05", To: "2019-09-15"}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`v1/advertiser/fund/daily_flows {"advertiser_id":20000681,"end_date":"2019-09-15",` +
		`"page":1,"page_size":500,"start_date":"2019-09-05"}`}, s.asked)
	row := page.Rows[0]
	require.Equal(t, day.Day("2019-09-05"), row.Day)
	require.Equal(t, map[string]int64{
		amount(fund.Total, fund.Paid): 500_700_000, amount(fund.Cash, fund.Paid): 500_000_000,
		amount(fund.Grant, fund.Paid): 700_000, amount(fund.Total, fund.TransferIn): 12_000_050_000,
		amount(fund.Total, fund.TransferOut): 550_500_000, amount(fund.Total, fund.Balance): 3_000_010_000,
	}, amountsOf(row))
	require.Equal(t, []any{int64(50_070), int64(50_000), int64(50), int64(20), int64(1_200_005), int64(55_050),
		int64(300_001)}, row.Raw)
	require.True(t, page.Rows[1].Lost)
	for _, answer := range []string{envelope(`null`), envelope(`{"details":[]}`),
		envelope(`{"total_count":1,"details":5}`)} {
		_, err := daily.Page(t.Context(), answering(t, answer), media.ReportQuery{}, "")
		requireClass(t, media.Transient, err)
	}
}

// Document 2919.
func TestOperations_NameWhoChangedWhat(t *testing.T) {
	t.Parallel()
	log, has := media.OperationsOf(kuaishou.New())
	require.True(t, has)
	entry := func(fields string) *media.Operation {
		s := answering(t, rows(`{"object_id":"2165304","object_name":"u1",`+
			`"operation_time":"2026-11-21 00:30:00",`+fields+`}`))
		page, err := log.Page(t.Context(), s, media.ReportQuery{From: "2026-11-15", To: "2026-11-21"}, "")
		require.NoError(t, err)
		require.Equal(t, []string{`v1/tool/operation_record/list {"advertiser_id":20000681,"end_date":"2026-11-21",` +
			`"page":1,"page_size":500,"start_date":"2026-11-15"}`}, s.asked)
		require.Empty(t, page.Rows[0].Faults, fields)
		return page.Rows[0].Operation
	}
	require.Equal(t, &media.Operation{
		At: at(t, "2026-11-21 00:30:00"), By: "advertiser", Kind: "change", Level: "adgroup", Object: "2165304",
		Fields: []media.FieldChange{{Name: "cpa_bid", Before: `"35000"`, After: `"36000"`},
			{Name: "put_status", Before: `"投放"`, After: `"删除"`}, {Name: "note", After: `"n"`}},
	}, entry(`"operation_type":2,"operation_target":3,"role_type":1,"content_log":[`+
		`{"field_name":"cpa_bid","original_data":"35000","update_data":"36000"},`+
		`{"field_name":"put_status","original_data":"投放","update_data":"删除"},`+
		`{"field_name":"note","original_data":null,"update_data":"n"}]`))
	for target, level := range map[string]string{"2": "campaign", "3": "adgroup", "4": "creative", "9": "package",
		"1": "account", "5": "account", "12": "account", "null": "account"} {
		o := entry(`"operation_target":` + target)
		require.Equal(t, level, o.Level, target)
		require.Equal(t, map[bool]string{true: "", false: "2165304"}[level == "account"], o.Object, target)
		require.Nil(t, o.Fields)
	}
	for role, by := range map[string]string{"1": "advertiser", "2": "agency", "3": "system", "4": "administrator",
		"5": "marketing API", "10": "10", "null": ""} {
		require.Equal(t, by, entry(`"role_type":`+role).By, role)
	}
	for kind, want := range map[string]string{"1": "new", "2": "change", "3": "3", "null": ""} {
		require.Equal(t, want, entry(`"operation_type":`+kind).Kind, kind)
	}
}

func TestOperations_OfBrokenEntries(t *testing.T) {
	t.Parallel()
	log, _ := media.OperationsOf(kuaishou.New())
	for _, broken := range []string{`"operation_time":"yesterday"`, `"operation_time":5`, `"content_log":5`,
		`"content_log":[5]`, `"content_log":[{"field_name":5}]`, `"operation_target":"x"`, `"role_type":{}`,
		`"operation_target":3,"object_id":{}`} {
		page, err := log.Page(t.Context(), answering(t, rows(`{`+broken+`}`)), media.ReportQuery{}, "")
		require.NoError(t, err)
		require.Len(t, page.Rows, 1)
		require.NotEmpty(t, page.Rows[0].Faults, broken)
		require.NotNil(t, page.Rows[0].Operation, broken)
	}
	_, err := log.Page(t.Context(), answering(t, envelope(`{"details":[]}`)), media.ReportQuery{}, "")
	requireClass(t, media.Transient, err)
}
