package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/fault"
	"adsync/simulator/world"
)

func (s *sim) alter(order fields) (id string, x fault.Alteration) {
	s.t.Helper()
	if media, ok := order["media"].(string); ok {
		s.spec(media)
	}
	order["kind"] = "alter"
	w := s.control("POST", "faults", order)
	require.Equal(s.t, 201, w.Code, "%s", w.Body)
	var f fault.Fault
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &f))
	require.NotNil(s.t, f.Alteration)
	return f.ID, *f.Alteration
}

// differs returns, by table, how many rows that a client gets differ from the truth, for all accounts or some.
func (s *sim) differs(media string, accounts ...*world.Account) map[string]int {
	found := map[string]int{}
	for _, x := range sets(media) {
		if n := s.pull(media, x, accounts...).differences(s.truthOf(media, x, accounts...)); n > 0 {
			found[fmt.Sprint(x.kind, " ", x.level)] = n
		}
	}
	return found
}

func (s *sim) accountOf(media, id string) *world.Account {
	a, ok := s.sim.World.LookupText(s.spec(media), id)
	require.True(s.t, ok)
	return &a
}

// touched returns the tables that an alteration concerns.
func touched(x fault.Alteration) []string {
	if x.Of == fault.OfConfig {
		return []string{map[string]string{"tencent": "adgroup ", "oceanengine": "promotion "}[x.Media]}
	}
	if x.Granularity == "" {
		return []string{"report_daily " + x.Level, "report_hourly " + x.Level}
	}
	return []string{"report_" + x.Granularity + " " + x.Level}
}

func TestAlter_EachOrderChangesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: ofEach(8)}).unlimited()
	effects := map[string]int{}
	kinds := []string{fault.AlterValue, fault.AlterRow, fault.AlterPage, fault.AlterAccount, fault.AlterDay,
		fault.AlterHour, fault.AlterDeletion, fault.AlterRow, fault.AlterUnit}
	for seed := range 5 * len(kinds) {
		what := kinds[seed%len(kinds)]
		order := fields{"what": what, "seed": seed, "media": clients[seed/len(kinds)%len(clients)]}
		if seed >= 14 && (what == fault.AlterValue || what == fault.AlterRow || what == fault.AlterPage) {
			// Some effects are rare at random.
			if order["of"] = fault.OfConfig; seed/8%2 == 0 {
				order["of"], order["level"] = fault.OfReport, "ad"
			}
		}
		id, x := s.alter(order)
		accounts := []*world.Account{s.accountOf(x.Media, x.Account)}
		if x.OtherAccount != "" {
			accounts = append(accounts, s.accountOf(x.Media, x.OtherAccount))
		}
		if seed%20 == 0 {
			accounts = nil // all accounts take too long
		}
		found := s.differs(x.Media, accounts...)
		tables := touched(x)
		for _, table := range tables {
			require.Positive(t, found[table], "%s is not seen: %s", table, jsonText(x))
		}
		require.Len(t, found, len(tables), "%v for %s", found, jsonText(x))
		if what == fault.AlterValue || what == fault.AlterDeletion || what == fault.AlterRow {
			require.Equal(t, 1, found[tables[0]], jsonText(x))
		}
		if x.Effect == fault.EffectMissing && what != fault.AlterAccount {
			require.Equal(t, x.RowCount, found[tables[0]], jsonText(x))
		}
		effects[what+" "+x.Of+" "+x.Effect]++
		require.Equal(t, 200, s.control("DELETE", "faults/"+id, nil).Code)
	}
	for _, want := range []string{
		"value report changed", "value config changed", "row report missing", "row report duplicated", "row config missing",
		"row config duplicated",
		"page report missing", "account report missing", "account report swapped", "day report missing",
		"hour report missing", "unit report changed",
		"deletion config served as deleted", "deletion config served as live",
	} {
		require.Positive(t, effects[want], "%s: %v", want, effects)
	}
	for _, media := range clients {
		require.Empty(t, s.differs(media), "nothing differs after the removal")
	}
}

func TestAlter_NamesExactlyWhatDiffers(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	_, x := s.alter(fields{"what": "value", "seed": 17, "media": "tencent", "level": "ad", "granularity": "daily",
		"field": "cost"})
	require.Equal(t, "changed", x.Effect)
	k := fmt.Sprintf("%s/%s/-1/%s", x.Account, x.Day, x.Object)
	daily := sets("tencent")[2]
	got, want := s.pull("tencent", daily)[k], s.truthOf("tencent", daily)[k]
	require.Contains(t, want, `"cost":`+x.Was+",")
	require.Equal(t, strings.Replace(want, `"cost":`+x.Was, `"cost":`+x.Served, 1), got)

	_, x = s.alter(fields{"what": "value", "seed": 3, "media": "oceanengine", "field": "bid"})
	k = x.Account + "/" + x.Object
	config := sets("oceanengine")[0]
	want = s.truthOf("oceanengine", config)[k]
	require.Equal(t, strings.Replace(want, `"bid":`+x.Was, `"bid":`+x.Served, 1), s.pull("oceanengine", config)[k])
}

func TestAlter_AppliesItsSelectors(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: 12}).unlimited()
	a := s.account("oceanengine", 0)
	_, x := s.alter(fields{"what": "hour", "seed": 5, "media": "oceanengine", "account": idText(a.ID), "level": "account",
		"day": "2026-11-14", "hour": 20})
	require.Equal(t, []string{idText(a.ID), "account", "hourly", "2026-11-14", "missing"},
		[]string{x.Account, x.Level, x.Granularity, x.Day, x.Effect})
	require.Equal(t, map[string]int{"report_hourly account": 1}, s.differs("oceanengine"))
	_, y := s.alter(fields{"what": "row", "seed": 5, "media": "oceanengine", "account": idText(a.ID), "level": "ad",
		"granularity": "hourly", "day": "2026-11-14"})
	require.Equal(t, "2026-11-14", y.Day)
	_, z := s.alter(fields{"what": "page", "seed": 6, "media": "tencent", "of": "config"})
	require.Len(t, z.Rows, z.RowCount)
	require.Equal(t, map[string]int{"adgroup ": z.RowCount}, s.differs("tencent"))
}

func TestAlter_SameSeedChoosesTheSame(t *testing.T) {
	t.Parallel()
	one, two := newSim(t, Config{}), newSim(t, Config{})
	for seed := range 20 {
		_, x := one.alter(fields{"what": "row", "seed": seed})
		_, y := two.alter(fields{"what": "row", "seed": seed})
		require.Equal(t, x, y)
	}
}

func TestAlter_RefusesImpossibleOrders(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	quiet := s.find("tencent", world.ClassQuiet)
	for name, order := range map[string]fields{
		"an unknown thing":          {"what": "planet"},
		"an unknown platform":       {"what": "row", "media": "x"},
		"an unknown account":        {"what": "row", "media": "tencent", "account": "5"},
		"an account without rows":   {"what": "day", "media": "tencent", "account": idText(quiet.ID)},
		"a metric it lacks":         {"what": "value", "media": "oceanengine", "field": "pay_amount"},
		"a bad day":                 {"what": "day", "day": "15.11."},
		"a bad hour":                {"what": "hour", "hour": 24},
		"a level of configuration":  {"what": "deletion", "level": "ad"},
		"an hour in daily":          {"what": "value", "field": "name", "granularity": "daily"},
		"a day without figures yet": {"what": "day", "day": "2026-12-24"},
		"a mistyped selector":       {"what": "day", "acount": "1"},
		"no such level":             {"what": "row", "level": "campaign"},
		"no such granularity":       {"what": "row", "granularity": "weekly"},
	} {
		order["kind"] = "alter"
		w := s.control("POST", "faults", order)
		require.Equal(t, 400, w.Code, "%s: %s", name, w.Body)
		require.NotEmpty(t, decoded(t, w)["error"])
	}
	require.Empty(t, s.faults.All())
}
