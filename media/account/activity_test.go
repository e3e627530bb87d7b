package account_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/media/account"
	"adsync/media/mediatest/invented"
)

func TestActivity_SetsTheTierByTheLastDays(t *testing.T) {
	t.Parallel()
	changed := func(l *life, id int64, at time.Time, field, before string) {
		l.exec(l.store.Data,
			"INSERT INTO config_change (account_id, version, level, object_id, field, before_value, after_value, seen_at) "+
				"VALUES (?, ?, 'adgroup', '1', ?, ?, 'x', ?)",
			id, at.UnixMicro(), field, before, sqldb.At(at))
	}
	modified := func(l *life, id int64, at time.Time) {
		l.exec(l.store.Data,
			"INSERT INTO coverage (account_id, report, level, day, media, high_water, claimed_by, note) VALUES (?, 'adgroup', "+
				"'adgroup', ?, 'tulip', ?, '', '')",
			id, day.Epoch, at.Unix())
	}
	weekAgo := time.Date(2026, 11, 14, 16, 0, 0, 0, time.UTC) // the first moment that counts, in China
	for name, c := range map[string]struct {
		is   string // the tier before; active if empty
		with func(l *life, id int64)
		want string
		why  string
	}{
		"with spend": {"inactive", func(l *life, id int64) { l.figures(id, "2026-11-15", 1, 0) }, "active",
			"figures"},
		"with impressions alone": {"inactive", func(l *life, id int64) { l.figures(id, "2026-11-21", nil, 3) }, "active",
			"figures"},
		"whose spend is a week ago": {"", func(l *life, id int64) {
			l.figures(id, "2026-11-14", 9, 9)
			l.whole(id, "report_daily", "account", week()...)
		}, "inactive", "quiet"},
		"with rows of nothing": {"", func(l *life, id int64) {
			l.figures(id, "2026-11-20", 0, 0)
			l.whole(id, "report_daily", "account", week()...)
		}, "inactive", "quiet"},
		"whose ads were changed": {"inactive", func(l *life, id int64) { changed(l, id, weekAgo, "daily_budget", "1") },
			"active", "changes"},
		"whose ads were changed before": {"", func(l *life, id int64) {
			changed(l, id, weekAgo.Add(-time.Second), "bid", "1")
			l.whole(id, "report_daily", "account", week()...)
		}, "inactive", "quiet"},
		"with a new ad": {"inactive", func(l *life, id int64) { changed(l, id, now, results.FieldCreated, "") }, "active",
			"changes"},
		"whose platform has a new field": {"", func(l *life, id int64) {
			changed(l, id, now, "new_field", "")
			l.whole(id, "report_daily", "account", week()...)
		}, "inactive", "quiet"},
		"whose ads have a future modification": {"", func(l *life, id int64) {
			modified(l, id, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
			l.whole(id, "report_daily", "account", week()...)
		}, "inactive", "quiet"},
		"whose ads have a recent modification": {"inactive", func(l *life, id int64) { modified(l, id, weekAgo) }, "active",
			"changes"},
		"modified long ago": {"", func(l *life, id int64) {
			modified(l, id, weekAgo.Add(-time.Second))
			l.whole(id, "report_daily", "account", week()...)
		}, "inactive", "quiet"},
		"that was never pulled": {"inactive", func(*life, int64) {}, "active", "new"},
		"whose present day only is open": {"", func(l *life,
			id int64) {
			l.whole(id, "report_daily", "account", week()[:6]...)
		}, "inactive", "quiet"},
		"that we could not pull for a day": {"", func(l *life, id int64) {
			l.whole(id, "report_daily", "account", append(week()[:2:2], week()[3:]...)...)
		}, "active", ""},
		"that stays quiet and was not seen": {"inactive",
			func(l *life, id int64) { l.whole(id, "report_daily", "account", "2026-10-01") }, "inactive", ""},
		"that was pulled at another level": {"inactive",
			func(l *life, id int64) { l.whole(id, "report_daily", "adgroup", week()...) }, "active", "new"},
		"whose login is dead": {"", func(l *life, id int64) {
			l.figures(id, "2026-11-21", 1, 1)
			l.exec(l.store.Config, "UPDATE media_token SET state = 'reauthorise'")
		}, "invalid", "login"},
		"whose login works again": {"invalid", func(l *life,
			id int64) {
			l.whole(id, "report_daily", "account", week()...)
		}, "active", "returned"},
		"parked recently": {"", func(l *life, id int64) {
			l.whole(id, "report_daily", "account", week()...)
			l.exec(l.store.Config, "UPDATE media_account SET parked = 'x', parked_since = ?", sqldb.At(now.AddDate(0, 0, -29)))
		}, "active", ""},
		"parked for a month": {"inactive", func(l *life, _ int64) {
			l.exec(l.store.Config, "UPDATE media_account SET parked = 'x', parked_since = ?", sqldb.At(now.AddDate(0, 0, -30)))
		}, "invalid", "parked"},
		"parked by hand": {"inactive", func(l *life, _ int64) {
			l.exec(l.store.Config,
				"UPDATE media_account SET parked = 'x'")
		}, "inactive", ""},
		"raised a moment ago": {"", func(l *life, id int64) {
			l.whole(id, "report_daily", "account", week()...)
			l.exec(l.store.Config, "UPDATE media_account SET tier_since = ?", sqldb.At(now.Add(-2*time.Hour+time.Second)))
		}, "active", ""},
		"raised some hours ago": {"", func(l *life, id int64) {
			l.whole(id, "report_daily", "account", week()...)
			l.exec(l.store.Config, "UPDATE media_account SET tier_since = ?", sqldb.At(now.Add(-2*time.Hour)))
		}, "inactive", "quiet"},
		"with a tier set by an operator": {"inactive", func(l *life, id int64) {
			l.figures(id, "2026-11-21", 1, 1)
			l.exec(l.store.Config, "UPDATE media_account SET tier_by = 'manual'")
		}, "inactive", ""},
		"in an unknown zone": {"inactive", func(l *life, id int64) {
			l.figures(id, "2026-11-21", 1, 1)
			l.exec(l.store.Config, "UPDATE media_account SET timezone = 'Mars/Olympus'")
		}, "inactive", ""},
	} {
		t.Run("an account "+name, func(t *testing.T) {
			t.Parallel()
			l := newLife(t)
			id := l.account("1", china)
			if c.is != "" {
				l.exec(l.store.Config, "UPDATE media_account SET tier = ?", c.is)
			}
			c.with(l, id)
			changed := l.activity(0)
			tier, why := l.tier(id)
			require.Equal(t, c.want, tier)
			require.Equal(t, c.why, why)
			require.Equal(t, c.why != "", changed == 1, "the result's rows count the changed tiers")
			require.Zero(t, l.activity(0), "a second check changes nothing")
		})
	}
}

func TestActivity_CountsDaysInTheAccountsZone(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	// At this moment it is the 22nd in Auckland and the 21st in Los Angeles.
	l.at = time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	east, west := l.account("1", "Pacific/Auckland"), l.account("2", "America/Los_Angeles")
	for _, id := range []int64{east, west} {
		l.figures(id, "2026-11-15", 1, 1)
		l.whole(id, "report_daily", "account", day.Between("2026-11-15", "2026-11-22")...)
	}
	l.activity(0)
	tier, _ := l.tier(east)
	require.Equal(t, settings.TierInactive, tier, "the 15th is eight days ago")
	tier, _ = l.tier(west)
	require.Equal(t, settings.TierActive, tier)
}

func TestActivity_TheOutcomeDoesNotDependOnBatches(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	dead := l.addLogin("dead")
	l.exec(l.store.Config, "UPDATE media_token SET state = 'reauthorise' WHERE id = ?", dead)
	zones := []string{china, "Pacific/Auckland", "America/Los_Angeles"}
	var ids []int64
	for n := range 9 {
		ids = append(ids, l.account(numbered(n), zones[n%len(zones)]))
	}
	window := day.Between("2026-11-13", "2026-11-22")
	rapid.Check(t, func(t *rapid.T) {
		for _, table := range []string{"report_daily", "coverage", "config_change"} {
			l.exec(l.store.Data, "DELETE FROM "+table)
		}
		type row struct {
			tier, by, parked string
			login            int64
		}
		before := map[int64]row{}
		for _, id := range ids {
			before[id] = row{
				tier:   rapid.SampledFrom([]string{"active", "inactive", "invalid"}).Draw(t, "tier"),
				by:     rapid.SampledFrom([]string{"auto", "auto", "auto", "manual"}).Draw(t, "by"),
				parked: rapid.SampledFrom([]string{"", "", "", "frozen"}).Draw(t, "parked"),
				login:  rapid.SampledFrom([]int64{l.login, l.login, l.login, dead}).Draw(t, "login"),
			}
			if rapid.Bool().Draw(t, "spent") {
				l.figures(id, rapid.SampledFrom(window).Draw(t, "on"), rapid.IntRange(0, 1).Draw(t, "cost"), 0)
			}
			if n := rapid.SampledFrom([]int{0, len(window), rapid.IntRange(0, len(window)).Draw(t, "some")}).Draw(t,
				"whole days"); n > 0 {
				l.whole(id, "report_daily", "account", window[:n]...)
			}
			if rapid.IntRange(0, 3).Draw(t, "changed") == 0 {
				at := now.Add(-time.Duration(rapid.IntRange(0, 10*24).Draw(t, "hours ago")) * time.Hour)
				l.exec(l.store.Data,
					"INSERT INTO config_change (account_id, version, level, object_id, field, before_value, after_value, seen_at) "+
						"VALUES (?, ?, 'adgroup', '1', 'bid', '1', '2', ?)",
					id, at.UnixMicro(), sqldb.At(at))
			}
		}
		outcome := func(batch int) map[int64]string {
			for id, r := range before {
				l.exec(l.store.Config,
					"UPDATE media_account SET tier = ?, tier_by = ?, tier_since = NULL, tier_reason = '', parked = ?, parked_since "+
						"= ?, token_id = ? WHERE id = ?",
					r.tier, r.by, r.parked, sqldb.At(now.AddDate(0, 0, -40)), r.login, id)
			}
			l.activity(batch)
			after := map[int64]string{}
			for _, id := range ids {
				tier, why := l.tier(id)
				after[id] = tier + " " + why
			}
			return after
		}
		require.Equal(t, outcome(1), outcome(rapid.IntRange(2, len(ids)+1).Draw(t, "batch")))
	})
}

func TestActivity_RefusesInvalidParams(t *testing.T) {
	t.Parallel()
	h := account.ActivityHandler(account.ActivityOptions{Platform: invented.New(), Logger: slog.New(slog.DiscardHandler)})
	for params, want := range map[string]string{
		`{"days":0}`:                "params.days: 0 is refused: want 1 to 60",
		`{"days":61}`:               "params.days: 61 is refused: want 1 to 60",
		`{"invalid_after_days":-1}`: "params.invalid_after_days: -1 is refused: want 1 or more",
		`{"dayz":7}`:                `params.dayz: there is no such field: want days, invalid_after_days`,
	} {
		require.EqualError(t, h.Check(json.RawMessage(params)), want)
	}
}

func TestSetTiers_KeepsAnOperatorsConcurrentChange(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	taken, moved, kept := l.account("1", china), l.account("2", china), l.account("3", china)
	l.exec(l.store.Config, "UPDATE media_account SET tier_by = 'manual' WHERE id = ?", taken)
	l.exec(l.store.Config, "UPDATE media_account SET tier = 'invalid' WHERE id = ?", moved)
	var changes []settings.TierChange
	for _, id := range []int64{taken, moved, kept} {
		changes = append(changes, settings.TierChange{ID: id, From: settings.TierActive, To: settings.TierInactive,
			Reason: "quiet"})
	}
	n, err := l.store.SetTiers(t.Context(), changes, now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for id, want := range map[int64]string{taken: "active", moved: "invalid", kept: "inactive"} {
		tier, _ := l.tier(id)
		require.Equal(t, want, tier)
	}
}
