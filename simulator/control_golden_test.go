package simulator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The samples here are written out as the documents show them. They pin each unit.

func truthSampleFigures() (f figures) {
	f[cost], f[impressions], f[clicks], f[activations] = 29_866, 5809, 66, 6 // 298.66 yuan
	return f
}

func truthSampleFund() (*account, fundNow, fundDay) {
	a := &account{p: &spec{name: "sample"}, id: 25_610, index: 3}
	n := fundNow{balance: funds{cash: 120_005, grant: 3050}, paidToday: funds{cash: 98, grant: 2}, locked: 100}
	d := fundDay{
		day: dayOf(time.Date(2026, 11, 15, 12, 34, 56, 0, zone).Unix()), deposit: funds{cash: 100_000, grant: 5}, paid: funds{cash: 50_000, grant: 70},
		transferIn: funds{cash: 1_100_000}, transferOut: funds{cash: 55_050}, balance: funds{cash: 300_000, grant: 1},
	}
	return a, n, d
}

func TestGolden_TruthIsInMicros(t *testing.T) {
	t.Parallel()
	p := &spec{metrics: []metric{
		cost, impressions, clicks, downloads, installs, activations, registrations, conversions, deepConversions,
		firstPays, pays, payAmount, payAmountD1, payAmountD3, payAmountD7, nextDayRetained,
	}}
	day, err := parseDay("2026-11-15")
	require.NoError(t, err)
	q := &truthQuery{p: p}
	line := q.rowLine(nil, &account{p: p, id: 20_000_001}, &row{day: day, hour: 13, object: 41_000_001, figures: truthSampleFigures()}, &silence{})
	require.Equal(t, `{"account":"20000001","day":"2026-11-15","hour":13,"object":"41000001","metrics":{"cost":298660000,"impressions":5809,`+
		`"clicks":66,"downloads":0,"installs":0,"activations":6,"registrations":0,"conversions":0,"deep_conversions":0,"first_pays":0,"pays":0,`+
		`"pay_amount":0,"pay_amount_d1":0,"pay_amount_d3":0,"pay_amount_d7":0,"next_day_retained":0}}`, string(line))
	require.Equal(t, `{"account":"5","object":"6","name":"a","parent":"","status":"paused","daily_budget":300500000,"bid":30050000,"created":1,"modified":2,"deleted":false}`,
		string(objectLine(nil, &account{id: 5}, &object{ad: ad{id: 6, created: 1}, name: "a", status: statusPaused, budget: 30_050, bid: 3005, modified: 2})))
}

func TestGolden_TruthOfFundsIsInMicros(t *testing.T) {
	t.Parallel()
	a, n, d := truthSampleFund()
	lines := fundNowLines(a, &n)
	require.Equal(t, `{"account":"25610","fund":"cash","balance":1200050000,"valid_balance":1199050000,"paid_today":980000}`, string(lines[0]))
	require.Equal(t, `{"account":"25610","fund":"grant","balance":30500000,"valid_balance":30500000,"paid_today":20000}`, string(lines[1]))
	lines = fundDayLines(a, &d)
	require.Equal(t, `{"account":"25610","fund":"cash","day":"2026-11-15","deposit":1000000000,"paid":500000000,"transfer_in":11000000000,`+
		`"transfer_out":550500000,"balance":3000000000}`, string(lines[0]))
	require.Equal(t, `{"account":"25610","fund":"grant","day":"2026-11-15","deposit":50000,"paid":700000,"transfer_in":0,"transfer_out":0,"balance":10000}`, string(lines[1]))
}
