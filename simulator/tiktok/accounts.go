package tiktok

import (
	"strconv"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// How many accounts a call names.
const (
	infoAccountsMax   = 100
	reportAccountsMax = 5
)

// ofAccount returns the handler of an endpoint whose calls name one account.
func (t *tiktok) ofAccount(
	serve func(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure,
) handler {
	return func(c *platform.Call, l *world.Login, p *platform.Params) *platform.Failure {
		a, err := t.account(c, l, c.Query.Get("advertiser_id"))
		if err != nil {
			return err
		}
		return serve(c, &a, p)
	}
}

// account returns an account that a login reaches and the platform has not closed.
func (t *tiktok) account(c *platform.Call, l *world.Login, id string) (world.Account, *platform.Failure) {
	if id == "" {
		return world.Account{}, wrong("advertiser_id: Missing data for required field.")
	}
	a, err := t.reached(c, l, id)
	if err == nil && c.Sim.World.Closed(&a) == world.LifeFrozen {
		return a, refusal(c, codeClosed, "advertiser %s is closed", id)
	}
	return a, err
}

// reached returns an account that a login reaches.
func (t *tiktok) reached(c *platform.Call, l *world.Login, id string) (world.Account, *platform.Failure) {
	a, ok := c.Sim.World.LookupText(t.about, id)
	if !ok || !l.Reaches(a.Index) || c.Sim.World.Closed(&a) == world.LifeRevoked {
		return a, platform.Failf(codeForbidden, "No permission to operate advertiser %s", id)
	}
	return a, nil
}

// several returns the accounts of advertiser_ids. One that find refuses fails the whole call, or is left out.
func (t *tiktok) several(p *platform.Params, l *world.Login, most int,
	find func(c *platform.Call, l *world.Login, id string) (world.Account, *platform.Failure),
) (list []world.Account, _ *platform.Failure) {
	c := p.Call
	ids := p.Texts("advertiser_ids", most)
	if p.Failure != nil {
		return nil, p.Failure
	}
	if len(ids) == 0 {
		return nil, wrong("advertiser_ids: a list of 1 to %d ids", most)
	}
	for _, id := range ids {
		a, err := find(c, l, id)
		if err == nil {
			list = append(list, a)
			continue
		}
		if len(ids) > 1 {
			c.Sim.Switches.Meet(trap.ForbiddenID)
		}
		if c.Assumed(forbiddenFails) == 1 {
			return nil, err
		}
	}
	if len(ids) > 1 && c.Sim.Traps.Springs(c, trap.ForbiddenID) {
		return nil, platform.Failf(codeForbidden, "No permission to operate advertiser %s", ids[len(ids)-1])
	}
	return list, nil
}

// advertiser is an account of a call.
type advertiser struct {
	c *platform.Call
	*world.Account
}

// advertiserFields has the time of creation in seconds.
var advertiserFields = []platform.Field[advertiser]{
	field("advertiser_id", func(w *platform.Writer, x advertiser) { w.Text(strconv.FormatInt(x.ID, 10)) }),
	field("name", func(w *platform.Writer, x advertiser) { w.Text(x.Name()) }),
	field("company", func(w *platform.Writer, x advertiser) { w.Text(x.Company()) }),
	fixed[advertiser]("role", `"ROLE_ADVERTISER"`),
	field("status", func(w *platform.Writer, x advertiser) {
		if x.c.Sim.World.Closed(x.Account) == world.LifeFrozen {
			w.Text("STATUS_DISABLE")
			return
		}
		w.Text("STATUS_ENABLE")
	}),
	field("currency", func(w *platform.Writer, x advertiser) { w.Text(x.Calendar.CurrencyCode()) }),
	field("timezone", func(w *platform.Writer, x advertiser) { w.Text(x.Calendar.ZoneName()) }),
	field("display_timezone", func(w *platform.Writer, x advertiser) { w.Text(x.Calendar.ZoneName()) }),
	field("balance", func(w *platform.Writer, x advertiser) {
		writeMoney(w, x.Account, x.c.View.FundNow(x.Account).Balance.Total())
	}),
	field("create_time", func(w *platform.Writer, x advertiser) {
		w.Number(world.FirstMoment.Unix() - x.Key.Sub(8).Below(900*world.DayLength))
	}),
}

// info answers advertiser/info. A closed account is listed with its status.
func (t *tiktok) info(c *platform.Call, l *world.Login, p *platform.Params) *platform.Failure {
	fields := chosen(p, advertiserFields)
	list, err := t.several(p, l, infoAccountsMax, t.reached)
	if err != nil || p.Failure != nil {
		return err
	}
	t.answer(c, func(w *platform.Writer) {
		w.OpenArray("list")
		for i := range list {
			w.Open('{')
			platform.WriteFields(c, w, fields, advertiser{c, &list[i]}, false)
			w.Close('}')
		}
		w.Close(']')
	})
	return nil
}
