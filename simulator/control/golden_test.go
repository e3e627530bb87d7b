package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/world"
)

// The samples here are copied from the documents. They check each unit.

func truthSampleFigures() (f world.Figures) {
	f[world.Cost], f[world.Impressions], f[world.Clicks], f[world.Activations] = 29_866, 5809, 66, 6 // 298.66 yuan
	return f
}

func truthSampleFund() (*world.Account, world.FundNow, world.FundDay) {
	a := &world.Account{Platform: &world.Spec{Name: "sample"}, ID: 25_610, Index: 3}
	n := world.FundNow{Balance: world.Funds{Cash: 120_005, Grant: 3050}, PaidToday: world.Funds{Cash: 98, Grant: 2},
		Locked: 100}
	d := world.FundDay{
		Day:     world.DayOf(time.Date(2026, 11, 15, 12, 34, 56, 0, world.Zone).Unix()),
		Deposit: world.Funds{Cash: 100_000, Grant: 5}, Paid: world.Funds{Cash: 50_000, Grant: 70},
		TransferIn: world.Funds{Cash: 1_100_000}, TransferOut: world.Funds{Cash: 55_050},
		Balance: world.Funds{Cash: 300_000, Grant: 1},
	}
	return a, n, d
}

func TestGolden_TruthIsInMicros(t *testing.T) {
	t.Parallel()
	p := &world.Spec{Metrics: []world.Metric{
		world.Cost, world.Impressions, world.Clicks, world.Downloads, world.Installs, world.Activations, world.Registrations,
		world.Conversions, world.DeepConversions,
		world.FirstPays, world.Pays, world.PayAmount, world.PayAmountD1, world.PayAmountD3, world.PayAmountD7,
		world.NextDayRetained,
	}}
	day, err := world.ParseDay("2026-11-15")
	require.NoError(t, err)
	q := &truthQuery{p: p}
	line := q.rowLine(nil, &world.Account{Platform: p, ID: 20_000_001},
		&world.Row{Day: day, Hour: 13, Object: 41_000_001, Figures: truthSampleFigures()}, &world.Silence{})
	sameWire(t,
		`{"account":"20000001","day":"2026-11-15","hour":13,"object":"41000001","metrics":{"cost":298660000,`+
			`"impressions":5809,`+
			`"clicks":66,"downloads":0,"installs":0,"activations":6,"registrations":0,"conversions":0,"deep_conversions":0,`+
			`"first_pays":0,"pays":0,`+
			`"pay_amount":0,"pay_amount_d1":0,"pay_amount_d3":0,"pay_amount_d7":0,"next_day_retained":0}}`, string(line))
	sameWire(t,
		`{"account":"5","object":"6","name":"a","parent":"","status":"paused","daily_budget":300500000,"bid":30050000,`+
			`"created":1,"modified":2,"deleted":false}`,
		string(objectLine(nil, &world.Account{ID: 5}, &world.Object{Ad: world.Ad{ID: 6, Created: 1}, Name: "a",
			Status: world.StatusPaused, Budget: 30_050, Bid: 3005, Modified: 2})))
}

func TestGolden_TruthOfFundsIsInMicros(t *testing.T) {
	t.Parallel()
	a, n, d := truthSampleFund()
	lines := fundNowLines(a, &n)
	sameWire(t, `{"account":"25610","fund":"cash","balance":1200050000,"valid_balance":1199050000,"paid_today":980000}`,
		string(lines[0]))
	sameWire(t, `{"account":"25610","fund":"grant","balance":30500000,"valid_balance":30500000,"paid_today":20000}`,
		string(lines[1]))
	lines = fundDayLines(a, &d)
	sameWire(t,
		`{"account":"25610","fund":"cash","day":"2026-11-15","deposit":1000000000,"paid":500000000,`+
			`"transfer_in":11000000000,`+
			``+
			`"transfer_out":550500000,"balance":3000000000}`, string(lines[0]))
	sameWire(t,
		`{"account":"25610","fund":"grant","day":"2026-11-15","deposit":50000,"paid":700000,"transfer_in":0,`+
			`"transfer_out":0,`+
			`"balance":10000}`, string(lines[1]))
}

// sameWire compares all digits: a JSON decoder would round numbers of 19 digits before the comparison.
func sameWire(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}
