package simulator

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLife_AWokenAccountSpendsFromNowOn(t *testing.T) {
	t.Parallel()
	for _, media := range []string{"tencent", "oceanengine"} {
		s := newSim(t, Config{DataDir: t.TempDir()})
		a := s.sleeper(media)
		today := dayOf(noon.Unix())
		s.order("accounts", fields{"media": media, "account": idText(a.id), "wake": true})
		a = s.account(media, a.index)
		require.Empty(t, s.truth().rows(a, scope{from: today - 10, to: today}), "what was is as it was")

		require.NoError(t, s.sim.clock.Set(noon.Add(20*time.Minute)))
		rows := s.truth().rows(a, scope{from: today - 10, to: today})
		require.Len(t, rows, 1, "the account's row of today")
		require.Equal(t, today, rows[0].day)
		require.Positive(t, rows[0].figures[cost])
		for _, o := range s.truth().objects(a) {
			if o.deleted > s.sim.clock.Now().Unix() {
				require.Equal(t, statusActive, o.status)
				require.GreaterOrEqual(t, o.modified, noon.Unix(), "the platform shows that the ads were changed")
			}
		}
		// A second order changes nothing: it is awake.
		require.Equal(t, noon.Unix(), s.sim.world.lives.of(a.mapKey()).Woken)
		s.order("accounts", fields{"media": media, "account": idText(a.id), "wake": true})
		require.Equal(t, noon.Unix(), s.sim.world.lives.of(a.mapKey()).Woken)

		require.NoError(t, s.Close())
		again, err := New(Config{Accounts: ofEach(40), Seed: 7, Start: noon, Frozen: true, DataDir: s.disk.dir})
		require.NoError(t, err)
		require.Equal(t, s.sim.world.lives.all(), again.sim.world.lives.all(), "it lasts over a restart")
		require.NoError(t, again.Close())
	}
}

// sleeper is an account that, once it is woken, has figures on the day of noon.
func (s *sim) sleeper(media string) *account {
	for i := range s.sim.world.count(s.spec(media)) {
		a := s.account(media, i)
		if a.class != classQuiet {
			continue
		}
		a.woken = noon.Unix()
		v := s.truth()
		v.now = noon.Add(20 * time.Minute).Unix()
		if len(v.rows(a, scope{from: dayOf(noon.Unix()), to: dayOf(noon.Unix())})) > 0 {
			return s.account(media, i)
		}
	}
	s.t.Fatal("no such account")
	return nil
}

func TestLife_AClosedAccountIsRefusedAndComesBack(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	tencent, ocean := s.account("tencent", 0), s.account("oceanengine", 0)
	list := func() (int, int) {
		return code(t, s.tencentCall(tencent, "adgroups/get")), code(t, s.oceanCall(ocean, "v3.0/promotion/list/"))
	}
	for _, c := range []struct {
		state          string
		tencent, ocean int
	}{{"frozen", 32211, 40002}, {"revoked", 12201, 40002}, {"open", 0, 0}} {
		s.order("accounts", fields{"media": "tencent", "account": idText(tencent.id), "state": c.state})
		s.order("accounts", fields{"media": "oceanengine", "account": idText(ocean.id), "state": c.state})
		a, b := list()
		require.Equal(t, c.tencent, a, c.state)
		require.Equal(t, c.ocean, b, c.state)
		require.Zero(t, code(t, s.tencentCall(s.account("tencent", 1), "adgroups/get")), "its neighbour goes on")
	}
}

func TestLife_RefusesOrdersThatMeanNothing(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	busy := idText(s.account("tencent", 0).id)
	for _, order := range []fields{
		{"media": "x", "account": busy, "state": "frozen"},
		{"media": "tencent", "account": "1", "state": "frozen"},
		{"media": "tencent", "account": busy, "state": "sleeping"},
		{"media": "tencent", "account": busy},
		{"media": "tencent", "account": busy, "wake": true},
	} {
		require.Equal(t, http.StatusBadRequest, s.control(http.MethodPost, "accounts", order).Code, "%v", order)
	}
}
