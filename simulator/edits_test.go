package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/world"
)

func TestEdit_IsVisibleLaterThanItsTimeOfModification(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{DataDir: t.TempDir()}).unlimited()
	a := s.find("tencent", world.ClassLarge)
	told, shown := noon.Add(-10*time.Second).Unix(), noon.Add(time.Minute)
	before := map[int64]world.Object{}
	for _, o := range s.truth().Objects(a) {
		before[o.ID] = o
	}
	order := fields{"media": "tencent", "account": idText(a.ID), "percent": 10, "at": told, "shown": shown.Unix()}
	s.order("edits", order)
	// A query for changes since then finds the visible edit.
	since := func() (ids []int64) {
		raw, err := json.Marshal(data(t, s.tencentCall(a, "adgroups/get", "page_size", "100", "filtering",
			`[{"field":"last_modified_time","operator":"EQUALS","values":["`+strconv.FormatInt(told, 10)+`"]}]`))["list"])
		require.NoError(t, err)
		var rows []struct {
			ID int64 `json:"adgroup_id"`
		}
		require.NoError(t, json.Unmarshal(raw, &rows))
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return ids
	}
	a = s.account("tencent", a.Index)
	for _, o := range s.truth().Objects(a) {
		require.Equal(t, before[o.ID].Bid, o.Bid, "the edit is not visible yet")
		require.Equal(t, before[o.ID].Modified, o.Modified)
	}
	require.Empty(t, since())

	s.order("clock", fields{"now": shown})
	edited := 0
	for _, o := range s.truth().Objects(a) {
		if o.Deleted <= shown.Unix() {
			require.Equal(t, before[o.ID].Bid, o.Bid, "a deleted ad keeps its bid")
			continue
		}
		edited++
		require.Equal(t, before[o.ID].Bid*110/100, o.Bid)
		require.Equal(t, told, o.Modified)
	}
	require.Greater(t, edited, 10)
	require.Len(t, since(), min(edited, 100))

	// A single ad, at once.
	one := since()[0]
	s.order("edits", fields{"media": "tencent", "account": idText(a.ID), "object": idText(one), "percent": 50})
	require.NotContains(t, since(), one)
	require.Len(t, since(), min(edited, 101)-1)

	// Creatives are removed from their ads, and have figures to the end of their last day.
	taken := shown.Add(time.Hour)
	s.order("clock", fields{"now": taken})
	creativesAt := func(at time.Time) (live int, players map[int]bool) {
		a = s.account("tencent", a.Index)
		for _, c := range a.Creatives(at.Unix()) {
			if c.Status != world.StatusDeleted {
				live++
			}
		}
		v := s.truth()
		v.Now = at.Unix()
		players = map[int]bool{}
		for _, r := range v.Rows(a, world.Scope{Level: world.LevelCreative, From: world.DayOf(at.Unix()),
			To: world.DayOf(at.Unix())}) {
			players[r.Creative.N] = true
		}
		return live, players
	}
	many, before1 := creativesAt(taken)
	s.order("edits", fields{"media": "tencent", "account": idText(a.ID), "drop_creatives": true})
	ads := 0
	for _, o := range s.truth().Objects(a) {
		if o.Deleted > taken.Unix() {
			ads++
		}
	}
	few, sameDay := creativesAt(taken)
	require.Equal(t, ads, few, "each ad keeps one")
	require.Greater(t, many, few+10)
	require.Greater(t, len(before1), 1)
	require.Equal(t, before1, sameDay)
	_, nextDay := creativesAt(time.Unix(world.DayStart(world.DayOf(taken.Unix())+1), 0).Add(9 * time.Hour))
	require.Equal(t, map[int]bool{0: true}, nextDay)

	for name, bad := range map[string]fields{
		"both": {"drop_creatives": true}, "shown later": {"drop_creatives": true, "percent": 0, "at": taken.Unix(),
			"shown": taken.Unix() + 1},
		"media": {"media": "x"}, "account": {"account": "1"}, "percent": {"percent": 0},
		"shown before it was made": {"at": told + 600},
		"shown before now":         {"shown": shown.Unix() - 1}, "more": {"more": 1},
	} {
		o := maps.Clone(order)
		maps.Copy(o, bad)
		require.Equal(t, 400, s.control(http.MethodPost, "edits", o).Code, name)
	}
	kept := s.sim.World.Edits.All()
	require.Len(t, kept, 3)
	require.NoError(t, s.Close())
	again, err := New(Config{Accounts: ofEach(40), Seed: 7, Start: noon, Frozen: true, DataDir: s.disk.dir})
	require.NoError(t, err)
	require.Equal(t, kept, again.sim.World.Edits.All(), "it survives a restart")
	require.NoError(t, again.Close())
}

// The published hours of a day do not change when creatives are removed during the day: a creative that would have
// been deleted later on that day has no figures of the day, before and after.
func TestEdits_RemovedCreativesChangeNoFiguresOfTheirDay(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: ofEach(200)})
	told := func(a *world.Account) map[string]world.Figures {
		all := map[string]world.Figures{}
		for _, r := range s.truth().Rows(a, world.Scope{Level: world.LevelCreative, From: world.DayOf(noon.Unix()),
			To: world.DayOf(noon.Unix()), Hourly: true}) {
			all[fmt.Sprint(r.Creative.ID, " ", r.Hour)] = r.Figures
		}
		return all
	}
	rows := 0
	for _, media := range clients {
		for i := range 200 {
			before := told(s.account(media, i))
			s.order("edits", fields{"media": media, "account": idText(s.account(media, i).ID), "drop_creatives": true})
			require.Equal(t, before, told(s.account(media, i)), "%s account %d", media, i)
			rows += len(before)
		}
	}
	require.Greater(t, rows, 1000*len(clients))
}
