package simulator

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/world"
)

func TestLife_AWokenAccountSpendsFromNowOn(t *testing.T) {
	t.Parallel()
	for _, media := range clients {
		s := newSim(t, Config{DataDir: t.TempDir()})
		a := s.sleeper(media)
		today := world.DayOf(noon.Unix())
		s.order("accounts", fields{"media": media, "account": idText(a.ID), "wake": true})
		a = s.account(media, a.Index)
		require.Empty(t, s.truth().Rows(a, world.Scope{From: today - 10, To: today}), "past days do not change")

		require.NoError(t, s.sim.Clock.Set(noon.Add(20*time.Minute)))
		rows := s.truth().Rows(a, world.Scope{From: today - 10, To: today})
		require.Len(t, rows, 1, "the account's row of today")
		require.Equal(t, today, rows[0].Day)
		require.Positive(t, rows[0].Figures[world.Cost])
		for _, o := range s.truth().Objects(a) {
			if o.Deleted > s.sim.Clock.Now().Unix() {
				require.Equal(t, world.StatusActive, o.Status)
				require.GreaterOrEqual(t, o.Modified, noon.Unix(), "the platform shows that the ads were changed")
			}
		}
		// A second order changes nothing: the account is awake.
		require.Equal(t, noon.Unix(), s.sim.World.Lives.Of(a.MapKey()).Woken)
		s.order("accounts", fields{"media": media, "account": idText(a.ID), "wake": true})
		require.Equal(t, noon.Unix(), s.sim.World.Lives.Of(a.MapKey()).Woken)

		require.NoError(t, s.Close())
		again, err := New(Config{Accounts: ofEach(40), Seed: 7, Start: noon, Frozen: true, DataDir: s.disk.dir})
		require.NoError(t, err)
		require.Equal(t, s.sim.World.Lives.All(), again.sim.World.Lives.All(), "it survives a restart")
		require.NoError(t, again.Close())
	}
}

// sleeper returns a sleeping account that has figures on the day of noon once it is woken.
func (s *sim) sleeper(media string) *world.Account {
	for i := range s.sim.World.Count(s.spec(media)) {
		a := s.account(media, i)
		if a.Class != world.ClassQuiet {
			continue
		}
		a.Woken = noon.Unix()
		v := s.truth()
		v.Now = noon.Add(20 * time.Minute).Unix()
		if len(v.Rows(a, world.Scope{From: world.DayOf(noon.Unix()), To: world.DayOf(noon.Unix())})) > 0 {
			return s.account(media, i)
		}
	}
	s.t.Fatal("no such account")
	return nil
}

func TestLife_AClosedAccountIsRefusedUntilItIsOpened(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	for _, media := range clients {
		a := s.account(media, 0)
		for _, c := range []struct {
			state string
			want  map[string]int // by platform
		}{
			{"frozen", map[string]int{"tencent": 32211, "oceanengine": 40002}},
			{"revoked", map[string]int{"tencent": 12201, "oceanengine": 40002}}, {"open", nil},
		} {
			s.order("accounts", fields{"media": media, "account": idText(a.ID), "state": c.state})
			require.Equal(t, c.want[media], code(t, s.ads(a)), "%s: %s", media, c.state)
			require.Zero(t, code(t, s.ads(s.account(media, 1))), "another account is not affected")
		}
	}
}

func TestLife_RefusesInvalidOrders(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	media := clients[0]
	busy := idText(s.account(media, 0).ID)
	for _, order := range []fields{
		{"media": "x", "account": busy, "state": "frozen"},
		{"media": media, "account": "1", "state": "frozen"},
		{"media": media, "account": busy, "state": "sleeping"},
		{"media": media, "account": busy},
		{"media": media, "account": busy, "wake": true},
	} {
		require.Equal(t, http.StatusBadRequest, s.control(http.MethodPost, "accounts", order).Code, "%v", order)
	}
}
