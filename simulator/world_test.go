package simulator

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWorld_SameSeedAndClockGiveTheSameWorld(t *testing.T) {
	t.Parallel()
	one := newSim(t, Config{Start: noon, Frozen: true})
	two := newSim(t, Config{Start: noon.AddDate(0, -8, 3), Frozen: true, Speed: 60})
	require.NoError(t, two.Clock().Set(noon))
	other := newSim(t, Config{Start: noon, Frozen: true, Seed: 8})
	for _, media := range []string{"tencent", "oceanengine"} {
		for _, part := range [][]string{
			{"kind", "account"}, {"kind", one.spec(media).objectKind},
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
		w := &world{seed: seed, accounts: 400, specs: specs()}
		for _, p := range w.specs {
			require.Equal(t, 200, w.count(p))
			require.Equal(t, classLarge, w.account(p, 0).class)
			seen := map[class]int{}
			for i := range w.count(p) {
				a := w.account(p, i)
				seen[a.class]++
				if a.class == classLarge {
					require.GreaterOrEqual(t, a.slots, 50)
				}
			}
			require.Equal(t, map[class]int{classLarge: 5, classMedium: 25, classSmall: 100, classQuiet: 45, classEmpty: 25}, seen)
		}
	}
}

func TestWorld_SoManyOfAHundredAreActive(t *testing.T) {
	t.Parallel()
	for active, want := range map[int]map[class]int{
		0:  {classLarge: 5, classMedium: 25, classSmall: 100, classQuiet: 45, classEmpty: 25},
		65: {classLarge: 5, classMedium: 25, classSmall: 100, classQuiet: 45, classEmpty: 25},
		20: {classLarge: 5, classMedium: 5, classSmall: 30, classQuiet: 135, classEmpty: 25},
		1:  {classLarge: 5, classQuiet: 170, classEmpty: 25},
	} {
		w := &world{seed: 3, accounts: 400, active: active, specs: specs()}
		for _, p := range w.specs {
			seen := map[class]int{}
			for i := range w.count(p) {
				seen[w.account(p, i).class]++
			}
			require.Equal(t, want, seen, "%d of 100", active)
		}
	}
}

func TestWorld_KeepsItsShareOfActiveAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newSim(t, Config{Accounts: ofEach(40), Active: 20, DataDir: dir})
	require.Equal(t, 20, first.sim.world.active)
	require.NoError(t, first.Close())
	require.Equal(t, 20, newSim(t, Config{Accounts: ofEach(40), DataDir: dir}).sim.world.active)
	_, err := New(Config{Accounts: 2, Active: 66})
	require.ErrorContains(t, err, "66")
}

func TestWorld_IDsAreOfTheirPlatformsShapeAndFoundAgain(t *testing.T) {
	t.Parallel()
	w := &world{seed: 3, accounts: accountsMax, specs: specs()}
	digits := map[string][2]int{"tencent": {8, 11}, "oceanengine": {16, 19}}
	now := lastMoment.Unix() - 1
	for _, p := range w.specs {
		last := int64(0)
		for _, i := range []int{0, 1, 999, 250_000, w.count(p) - 1} {
			a := w.account(p, i)
			require.Len(t, fmt.Sprint(a.id), digits[p.name][0])
			require.Greater(t, a.id, last, "accounts are numbered in the order of their ids")
			last = a.id
			found, ok := w.lookup(p, a.id)
			require.True(t, ok)
			require.Equal(t, a, found)
			_, ok = w.lookup(p, a.id+1)
			require.False(t, ok)
			objects := (&view{now: now, corrections: newCorrections()}).objects(&a)
			before := int64(0)
			for _, o := range objects {
				require.Len(t, fmt.Sprint(o.id), digits[p.name][1])
				require.Greater(t, o.id, before, "objects come in the order of their ids")
				before = o.id
			}
		}
		_, ok := w.lookup(p, 5)
		require.False(t, ok)
		_, ok = w.lookupText(p, "x")
		require.False(t, ok)
	}
	require.Greater(t, w.specs[1].objectBase, int64(1)<<53)
}

func TestWorld_StartsLargeInNoTime(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: ofEach(20_000)})
	var all map[string]Credentials
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

// moments draws a moment of the world's middle years.
func moments() *rapid.Generator[int64] {
	return rapid.Int64Range(firstMoment.Unix()+100*dayLength, time.Date(2030, 1, 1, 0, 0, 0, 0, zone).Unix())
}

func testWorld() *world {
	return &world{seed: 11, accounts: 400, specs: specs()}
}

func drawAccount(t *rapid.T, w *world) account {
	p := w.specs[rapid.IntRange(0, len(w.specs)-1).Draw(t, "platform")]
	return w.account(p, rapid.IntRange(0, w.count(p)-1).Draw(t, "account"))
}

// shown is what an object's modification time speaks of.
func shown(o object) string { return fmt.Sprint(o.name, o.budget, o.bid, o.status) }

func TestAd_ModificationTimeIsWhenItLastChanged(t *testing.T) {
	t.Parallel()
	w := testWorld()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t, w)
		now := moments().Draw(t, "now")
		v := &view{now: now, corrections: newCorrections()}
		for _, o := range v.objects(&a) {
			require.LessOrEqual(t, o.created, o.modified)
			require.LessOrEqual(t, o.modified, now)
			between := rapid.Int64Range(o.modified, now).Draw(t, "between")
			require.Equal(t, shown(o), shown(o.at(between)), "nothing changes after the modification")
			require.Equal(t, o.modified, o.at(between).modified)
			if o.modified > o.created {
				earlier := o.at(o.modified - 1)
				require.Less(t, earlier.modified, o.modified)
			}
			require.Equal(t, o.deleted <= now, o.status == statusDeleted)
		}
	})
}

func TestAd_LifeShowsAllKindsOfEditsWithinADay(t *testing.T) {
	t.Parallel()
	w := testWorld()
	start := dayStart(dayOf(noon.Unix()))
	seen := map[string]int{}
	for _, p := range w.specs {
		for i := range w.count(p) {
			a := w.account(p, i)
			before := map[int64]object{}
			for _, o := range (&view{now: start, corrections: newCorrections()}).objects(&a) {
				before[o.id] = o
			}
			for _, o := range (&view{now: start + dayLength, corrections: newCorrections()}).objects(&a) {
				b, ok := before[o.id]
				switch {
				case !ok:
					seen["created"]++
				case b.status != statusDeleted && o.status == statusDeleted:
					seen["deleted"]++
				case b.status == statusActive && o.status == statusPaused:
					seen["paused"]++
				case b.status == statusPaused && o.status == statusActive:
					seen["resumed"]++
				}
				if ok && b.name != o.name {
					seen["renamed"]++
				}
				if ok && b.bid != o.bid {
					seen["re-bid"]++
				}
				if ok && b.budget != o.budget {
					seen["re-budgeted"]++
				}
			}
		}
	}
	for _, what := range []string{"created", "deleted", "paused", "resumed", "renamed", "re-bid", "re-budgeted"} {
		require.Positive(t, seen[what], "%s: %v", what, seen)
	}
}

// specs are those of the platforms that there are.
func specs() (list []*spec) {
	for _, p := range platforms() {
		list = append(list, p.spec())
	}
	return list
}
