package simulator

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/simulator/control"
	"adsync/simulator/world"
)

func TestWorld_SameSeedAndClockGiveTheSameWorld(t *testing.T) {
	t.Parallel()
	one := newSim(t, Config{Start: noon, Frozen: true})
	two := newSim(t, Config{Start: noon.AddDate(0, -8, 3), Frozen: true, Speed: 60})
	require.NoError(t, two.Clock().Set(noon))
	other := newSim(t, Config{Start: noon, Frozen: true, Seed: 8})
	for _, media := range clients {
		for _, part := range [][]string{
			{"kind", "account"}, {"kind", one.spec(media).ObjectKind},
			{"kind", "report_hourly", "level", "ad", "from", "2026-11-14", "to", "2026-11-15"},
			{"kind", "report_daily", "level", "account", "from", "2026-11-01", "to", "2026-11-15"},
		} {
			part = append(part, "media", media)
			lines := one.truthLines(part...)
			require.NotEmpty(t, lines)
			require.Equal(t, lines, two.truthLines(part...))
			require.NotEqual(t, lines, other.truthLines(part...))
		}
	}
}

func TestWorld_SkewIsTheSameForAnySeed(t *testing.T) {
	t.Parallel()
	for seed := range int64(5) {
		w := &world.World{Seed: seed, Accounts: ofEach(200), Specs: specs()}
		for _, p := range w.Specs {
			require.Equal(t, 200, w.Count(p))
			require.Equal(t, world.ClassLarge, w.Account(p, 0).Class)
			seen := map[world.Class]int{}
			for i := range w.Count(p) {
				a := w.Account(p, i)
				seen[a.Class]++
				if a.Class == world.ClassLarge {
					require.GreaterOrEqual(t, a.Slots, 50)
				}
			}
			require.Equal(t, map[world.Class]int{world.ClassLarge: 5, world.ClassMedium: 25, world.ClassSmall: 100,
				world.ClassQuiet: 45, world.ClassEmpty: 25}, seen)
		}
	}
}

func TestWorld_UsesTheConfiguredShareOfActiveAccounts(t *testing.T) {
	t.Parallel()
	for active, want := range map[int]map[world.Class]int{
		0:  {world.ClassLarge: 5, world.ClassMedium: 25, world.ClassSmall: 100, world.ClassQuiet: 45, world.ClassEmpty: 25},
		65: {world.ClassLarge: 5, world.ClassMedium: 25, world.ClassSmall: 100, world.ClassQuiet: 45, world.ClassEmpty: 25},
		20: {world.ClassLarge: 5, world.ClassMedium: 5, world.ClassSmall: 30, world.ClassQuiet: 135, world.ClassEmpty: 25},
		1:  {world.ClassLarge: 5, world.ClassQuiet: 170, world.ClassEmpty: 25},
	} {
		w := &world.World{Seed: 3, Accounts: ofEach(200), Active: active, Specs: specs()}
		for _, p := range w.Specs {
			seen := map[world.Class]int{}
			for i := range w.Count(p) {
				seen[w.Account(p, i).Class]++
			}
			require.Equal(t, want, seen, "%d of 100", active)
		}
	}
}

func TestWorld_KeepsItsShareOfActiveAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newSim(t, Config{Accounts: ofEach(40), Active: 20, DataDir: dir})
	require.Equal(t, 20, first.sim.World.Active)
	require.NoError(t, first.Close())
	require.Equal(t, 20, newSim(t, Config{Accounts: ofEach(40), DataDir: dir}).sim.World.Active)
	_, err := New(Config{Accounts: 2, Active: 66})
	require.ErrorContains(t, err, "66")
}

func TestWorld_AccountsRunTheConfiguredNumberOfAds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := Config{Accounts: ofEach(40), Ads: 50, Active: 1, DataDir: dir}
	require.NoError(t, newSim(t, cfg).Close())
	cfg.Ads = 0
	s := newSim(t, cfg)
	require.Equal(t, 50, s.sim.World.Ads, "a kept world has its own number")
	for _, p := range s.sim.World.Specs {
		run := 0
		for i := range s.sim.World.Count(p) {
			a := s.sim.World.Account(p, i)
			a.Ads(s.sim.Clock.Now().Unix(), false, func(world.Ad) { run++ })
		}
		require.InDelta(t, 50, run/s.sim.World.Count(p), 5, p.Name)
	}
	_, err := New(Config{Accounts: 2, Ads: world.AdsMax + 1})
	require.ErrorContains(t, err, "an account runs up to 187 ads, not 188")
}

func TestWorld_IDsHaveTheirPlatformsFormAndAreFound(t *testing.T) {
	t.Parallel()
	w := &world.World{Seed: 3, Accounts: world.AccountsMax, Specs: specs()}
	digits := func(n int64) int { return len(strconv.FormatInt(n, 10)) }
	now := world.LastMoment.Unix() - 1
	for _, p := range w.Specs {
		last := int64(0)
		for _, i := range []int{0, 1, 999, w.Count(p) / 2, w.Count(p) - 1} {
			a := w.Account(p, i)
			require.Equal(t, digits(p.AccountBase), digits(a.ID), p.Name)
			require.Greater(t, a.ID, last, "accounts are numbered in the order of their ids")
			last = a.ID
			found, ok := w.Lookup(p, a.ID)
			require.True(t, ok)
			require.Equal(t, a, found)
			_, ok = w.Lookup(p, a.ID+1)
			require.False(t, ok)
			objects := (&world.View{Now: now, Corrections: world.NewCorrections()}).Objects(&a)
			before := int64(0)
			for _, o := range objects {
				require.Equal(t, digits(p.ObjectBase), digits(o.ID), p.Name)
				require.Greater(t, o.ID, before, "objects come in the order of their ids")
				before = o.ID
			}
		}
		_, ok := w.Lookup(p, 5)
		require.False(t, ok)
		_, ok = w.LookupText(p, "x")
		require.False(t, ok)
	}
}

func TestWorld_StartsALargeWorldQuickly(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: ofEach(20_000)})
	var all map[string]control.Credentials
	require.NoError(t, json.Unmarshal(s.control("GET", "credentials", nil).Body.Bytes(), &all))
	for _, c := range all {
		seen := map[string]bool{}
		require.Len(t, c.Apps, 20)
		for _, app := range c.Apps {
			require.Len(t, app.Logins, 10)
			for _, l := range app.Logins {
				require.Len(t, l.AccountIDs, 100)
				for _, id := range l.AccountIDs {
					require.False(t, seen[id], "a login reaches its own accounts only")
					seen[id] = true
				}
			}
		}
		require.Len(t, seen, 20_000)
	}
}

// moments generates moments in the world's middle years.
func moments() *rapid.Generator[int64] {
	return rapid.Int64Range(world.FirstMoment.Unix()+100*world.DayLength,
		time.Date(2030, 1, 1, 0, 0, 0, 0, world.Zone).Unix())
}

func testWorld() *world.World {
	return &world.World{Seed: 11, Accounts: ofEach(200), Specs: specs()}
}

func drawAccount(t *rapid.T, w *world.World) world.Account {
	p := w.Specs[rapid.IntRange(0, len(w.Specs)-1).Draw(t, "platform")]
	return w.Account(p, rapid.IntRange(0, w.Count(p)-1).Draw(t, "account"))
}

// shown returns the properties that an object's modification time covers.
func shown(o world.Object) string { return fmt.Sprint(o.Name, o.Budget, o.Bid, o.Status) }

func TestAd_ModificationTimeIsWhenItLastChanged(t *testing.T) {
	t.Parallel()
	w := testWorld()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t, w)
		now := moments().Draw(t, "now")
		v := &world.View{Now: now, Corrections: world.NewCorrections()}
		for _, o := range v.Objects(&a) {
			require.LessOrEqual(t, o.Created, o.Modified)
			require.LessOrEqual(t, o.Modified, now)
			between := rapid.Int64Range(o.Modified, now).Draw(t, "between")
			require.Equal(t, shown(o), shown(o.At(between)), "nothing changes after the modification")
			require.Equal(t, o.Modified, o.At(between).Modified)
			if o.Modified > o.Created {
				earlier := o.At(o.Modified - 1)
				require.Less(t, earlier.Modified, o.Modified)
			}
			require.Equal(t, o.Deleted <= now, o.Status == world.StatusDeleted)
		}
	})
}

func TestAd_HasAllKindsOfEditsWithinADay(t *testing.T) {
	t.Parallel()
	w := testWorld()
	start := world.DayStart(world.DayOf(noon.Unix()))
	seen := map[string]int{}
	for _, p := range w.Specs {
		for i := range w.Count(p) {
			a := w.Account(p, i)
			before := map[int64]world.Object{}
			for _, o := range (&world.View{Now: start, Corrections: world.NewCorrections()}).Objects(&a) {
				before[o.ID] = o
			}
			for _, o := range (&world.View{Now: start + world.DayLength, Corrections: world.NewCorrections()}).Objects(&a) {
				b, ok := before[o.ID]
				switch {
				case !ok:
					seen["created"]++
				case b.Status != world.StatusDeleted && o.Status == world.StatusDeleted:
					seen["deleted"]++
				case b.Status == world.StatusActive && o.Status == world.StatusPaused:
					seen["paused"]++
				case b.Status == world.StatusPaused && o.Status == world.StatusActive:
					seen["resumed"]++
				}
				if ok && b.Name != o.Name {
					seen["renamed"]++
				}
				if ok && b.Bid != o.Bid {
					seen["re-bid"]++
				}
				if ok && b.Budget != o.Budget {
					seen["re-budgeted"]++
				}
			}
		}
	}
	for _, what := range []string{"created", "deleted", "paused", "resumed", "renamed", "re-bid", "re-budgeted"} {
		require.Positive(t, seen[what], "%s: %v", what, seen)
	}
}

// specs returns the Specs of all platforms.
func specs() (list []*world.Spec) {
	for _, p := range platforms() {
		list = append(list, p.Spec())
	}
	return list
}
