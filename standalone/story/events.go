package story

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/simulator/night"
	simworld "adsync/simulator/world"
)

// Event is a change that a story makes to the world or to the tables.
type Event struct {
	Name  string
	media string // the platform; empty if it is an event of all
	what  string // what becomes of it, for the screen
	// lasting events are checked at the end of the story; others when the platforms are calm again.
	lasting bool
	// begin starts the event just before a scene whose moment is at. met later returns how often the event struck; it is
	// nil if the world is too small for the event.
	begin func(ctx context.Context, p *Story, at time.Time) (met metFunc, err error)
	// after runs when the scene's clock has stopped, before the scene's runs are awaited; nil does nothing.
	after func(ctx context.Context, p *Story) error
}

type metFunc func(context.Context) (int64, error)

// counted returns a function that counts by a query of one number.
func counted(db *sqldb.DB, query string, args ...any) metFunc {
	return func(ctx context.Context) (n int64, err error) {
		err = db.Writer(ctx).Raw(query, args...).Row().Scan(&n)
		return n, err
	}
}

// grown counts now, and returns a function that returns by how much the count has grown since.
func grown(ctx context.Context, count metFunc) (metFunc, error) {
	before, err := count(ctx)
	return func(ctx context.Context) (int64, error) {
		now, err := count(ctx)
		return now - before, err
	}, err
}

// openEvent is an event that was begun.
type openEvent struct {
	Event
	at  string
	met metFunc
}

// fault is an error that the simulator produces a number of times.
func fault(media, name, what string, order map[string]any) Event {
	return Event{Name: name, what: what, begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
		order = maps.Clone(order)
		order["media"] = media
		return p.orderFault(ctx, order)
	}}
}

func shiftedPages(p night.Platform) Event {
	return fault(p.Media, "page shifted", "pulled again",
		map[string]any{"kind": "lost_row", "endpoint": p.HourlyReports, "count": 2})
}

// orderFault orders a fault. The returned function reads from the simulator how often it struck.
func (p *Story) orderFault(ctx context.Context, order map[string]any) (metFunc, error) {
	id, err := p.addFault(ctx, order)
	return func(ctx context.Context) (int64, error) { return p.faultMet(ctx, id) }, err
}

// addFault orders a fault, and returns its id.
func (p *Story) addFault(ctx context.Context, order map[string]any) (id string, err error) {
	var ordered struct {
		ID string `json:"id"`
	}
	err = p.sim.Send(ctx, http.MethodPost, "faults", order, &ordered)
	return ordered.ID, err
}

// faultMet returns how often a fault struck.
func (p *Story) faultMet(ctx context.Context, id string) (int64, error) {
	var all struct {
		Faults []struct {
			ID  string `json:"id"`
			Met int64  `json:"met"`
		} `json:"faults"`
	}
	if err := p.sim.Get(ctx, "faults", &all); err != nil {
		return 0, err
	}
	for _, f := range all.Faults {
		if f.ID == id {
			return f.Met, nil
		}
	}
	return 0, fmt.Errorf("the simulator no longer knows the fault %s", id)
}

// emptyYesterday is an answer of platforms in the early morning: success without rows. The figures of the account's
// yesterday are in the tables and must stay there.
func emptyYesterday(media string) Event {
	return Event{Name: "empty yesterday", what: "refused: the tables keep yesterday, and it is pulled again",
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			yesterday := p.yesterday()
			externalID, id, err := p.first(ctx, media)
			if err != nil {
				return nil, err
			}
			_, err = p.orderFault(ctx, map[string]any{
				"kind": "alter", "what": "day", "media": media, "account": externalID, "level": "account", "granularity": "daily",
				"day": yesterday,
			})
			const query = "SELECT COUNT(*) FROM coverage WHERE account_id = ? AND report = 'report_daily' AND day = ? AND " +
				"state = ?"
			return counted(p.store.Data, query, id, yesterday, results.Suspect), err
		}}
}

// corrected is a correction of an account's yesterday that is published in the scene.
func corrected(media string) Event {
	return Event{Name: "yesterday corrected", what: "pulled by the look-back of the morning",
		begin: func(ctx context.Context, p *Story, at time.Time) (metFunc, error) {
			yesterday := p.yesterday()
			err := p.sim.Post(ctx, "truth/correct", map[string]any{
				"media": media, "account": p.stack.Accounts[media][0], "from": yesterday, "to": yesterday, "percent": -8,
				"at": at.Unix(),
			})
			return func(context.Context) (int64, error) { return 1, nil }, err
		}}
}

// takenBack is an ad of an account, on each platform, whose figures of yesterday the platform retracts completely.
// Their share of the account's is too small to be suspect.
func takenBack(platforms []night.Platform) Event {
	return Event{Name: "ad's day taken back", what: "its rows go with the look-back of the morning", lasting: true,
		begin: func(ctx context.Context, p *Story, at time.Time) (metFunc, error) {
			yesterday, db := p.yesterday(), p.store.Data
			type ad struct {
				account int64
				object  string
			}
			var ads []ad
			for _, platform := range platforms {
				media := platform.Media
				externalID, id, err := p.first(ctx, media)
				if err != nil {
					return nil, err
				}
				var small []string
				const query = "SELECT object_id FROM report_daily WHERE account_id = ? AND level = 'adgroup' AND day = ? AND " +
					"impressions > 0 AND" +
					" 50 * cost < (SELECT SUM(cost) FROM report_daily WHERE account_id = ? AND level = 'adgroup' AND day = ?) ORDER " +
					"BY cost DESC, object_id LIMIT 1"
				if err := db.Writer(ctx).Raw(query, id, yesterday, id, yesterday).Scan(&small).Error; err != nil {
					return nil, fmt.Errorf("find an ad of account %s: %w", externalID, err)
				}
				for _, object := range small {
					err := p.sim.Post(ctx, "truth/correct", map[string]any{
						"media": media, "account": externalID, "object": object, "from": yesterday, "to": yesterday, "percent": -100,
						"at": at.Unix(),
					})
					if err != nil {
						return nil, err
					}
					ads = append(ads, ad{id, object})
				}
			}
			if len(ads) == 0 {
				return nil, nil
			}
			return func(ctx context.Context) (gone int64, err error) {
				for _, x := range ads {
					var rows int64
					const query = "SELECT COUNT(*) FROM report_daily WHERE account_id = ? AND level = 'adgroup' AND day = ? AND " +
						"object_id = ?"
					if err := db.Writer(ctx).Raw(query, x.account, yesterday, x.object).Row().Scan(&rows); err != nil {
						return gone, err
					}
					if rows == 0 {
						gone++
					}
				}
				return gone, nil
			}, nil
		}}
}

// editedLate is edits of all ads of an account, on each platform, that become visible minutes after their modification
// time. The edit of one ad has a later time and is visible at once.
func editedLate(platforms []night.Platform) Event {
	return Event{Name: "edits shown late", what: "pulls of changes reach back, and have them", lasting: true,
		begin: func(ctx context.Context, p *Story, at time.Time) (metFunc, error) {
			told := at.Add(-20 * time.Second)
			var counts []metFunc
			for _, list := range platforms {
				externalID, id, err := p.first(ctx, list.Media)
				if err != nil {
					return nil, err
				}
				var one string
				data := p.store.Data
				err = data.Writer(ctx).Raw("SELECT object_id FROM "+list.Ads+
					" WHERE account_id = ? AND deleted_at IS NULL ORDER BY object_id LIMIT 1", id).Row().Scan(&one)
				if err != nil {
					return nil, fmt.Errorf("find an ad of account %s: %w", externalID, err)
				}
				for _, order := range []map[string]any{
					{"at": told.Unix(), "shown": at.Add(5 * time.Minute).Unix()},
					{"at": told.Add(10 * time.Second).Unix(), "object": one},
				} {
					order["media"], order["account"], order["percent"] = list.Media, externalID, 10
					if err := p.sim.Post(ctx, "edits", order); err != nil {
						return nil, err
					}
				}
				query := "SELECT COUNT(*) FROM " + list.Ads + " WHERE account_id = ? AND " + list.Modified + " = ?"
				counts = append(counts, counted(data, query, id, sqldb.At(told)))
			}
			return func(ctx context.Context) (n int64, err error) {
				for _, count := range counts {
					seen, err := count(ctx)
					if n += seen; err != nil {
						return n, err
					}
				}
				return n, nil
			}, nil
		}}
}

// dropped is creatives that are removed from all ads of an account. Without what, the platform no longer lists them. It
// reports no time of removal. gone is the query that counts the rows marked as deleted.
func dropped(media, gone, what string) Event {
	return Event{Name: "creatives taken out", lasting: true,
		what: cmp.Or(what, "missed by the full pull of the night, and marked as deleted"),
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			externalID, id, err := p.first(ctx, media)
			if err != nil {
				return nil, err
			}
			met, err := grown(ctx, counted(p.store.Data, gone, id))
			if err != nil {
				return nil, err
			}
			return met, p.sim.Post(ctx, "edits", map[string]any{
				"media": media, "account": externalID, "drop_creatives": true,
			})
		}}
}

// tokensDead ends the access tokens of all of a platform's logins.
func tokensDead(media string) Event {
	begin := func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
		met, err := grown(ctx, p.generations(media))
		if err != nil {
			return nil, err
		}
		_, err = p.orderFault(ctx, map[string]any{"kind": "token_death", "media": media})
		return met, err
	}
	return Event{Name: "token died", what: "refreshed once, and the calls continue", begin: begin}
}

// refreshLost is a refresh whose answer is lost, of one of a platform's logins. The platform has killed the old pair: a
// person has to authorise the login again.
func refreshLost(media, endpoint string) Event {
	lost := fault(media, "", "", map[string]any{"kind": "half_body", "endpoint": endpoint, "count": 1})
	return Event{Name: "answer of a refresh lost", what: "parked until the login was authorised again",
		begin: func(ctx context.Context, p *Story, at time.Time) (metFunc, error) {
			if _, err := p.orderFault(ctx, map[string]any{"kind": "token_death", "media": media}); err != nil {
				return nil, err
			}
			return lost.begin(ctx, p, at)
		},
		after: func(ctx context.Context, p *Story) error { return p.authorise(ctx, media) }}
}

// grantWithdrawn ends the tokens of all of a platform's logins, which no refresh replaces: a person has to authorise
// them again.
func grantWithdrawn(media string) Event {
	return Event{Name: "grant withdrawn", what: "parked until the login was authorised again",
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			met, err := grown(ctx, p.generations(media))
			if err != nil {
				return nil, err
			}
			_, err = p.orderFault(ctx, map[string]any{"kind": "token_death", "media": media, "token": "pair"})
			return met, err
		},
		after: func(ctx context.Context, p *Story) error { return p.authorise(ctx, media) }}
}

// generations counts the tokens that a platform's logins have had.
func (p *Story) generations(media string) metFunc {
	return counted(p.store.Config, "SELECT COALESCE(SUM(generation), 0) FROM media_token WHERE media = ?", media)
}

// authorise waits until a login of a platform is parked, and authorises the platform's logins again.
func (p *Story) authorise(ctx context.Context, media string) error {
	const query = "SELECT COUNT(*) FROM media_token WHERE media = ? AND state = ?"
	parked := counted(p.store.Config, query, media, settings.TokenReauthorise)
	err := await(ctx, parkingMax, "no login of "+media+" needs a new authorisation", func() (bool, error) {
		n, err := parked(ctx)
		return n > 0, err
	})
	if err != nil {
		return err
	}
	return p.stack.Authorise(ctx, media)
}

// parkingMax is how long a login whose pair is lost may take to be parked.
const parkingMax = 2 * time.Minute

// rebound is an operator's correction of an account that was bound to the wrong game.
func rebound(media string) Event {
	return Event{Name: "account rebound", what: "the summaries of all its days follow", lasting: true,
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			s := p.store
			_, id, err := p.first(ctx, media)
			if err != nil {
				return nil, err
			}
			var before string
			err = s.Config.Writer(ctx).Raw("SELECT game FROM account_binding WHERE account_id = ?", id).Row().Scan(&before)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return nil, err
			}
			var next string
			err = s.Config.Writer(ctx).Raw("SELECT MIN(code) FROM game WHERE code <> ?", before).Row().Scan(&next)
			if err != nil {
				return nil, err
			}
			table := sqldb.Table{Name: "account_binding", Key: []string{"account_id", "from_day"},
				Columns: []string{"to_day", "game", "os"}}
			err = s.Config.Upsert(s.Config.Writer(ctx), table,
				[][]any{{id, day.Day("2020-01-01"), day.Day("9999-12-31"), next, "ios"}})
			return counted(s.Data, "SELECT COUNT(*) FROM binding_applied WHERE account_id = ? AND game = ?", id, next), err
		}}
}

// hole is a day of an account that our tables lose, together with its coverage. The look-backs have already pulled it
// and will not pull it again.
func hole(media string, ago int) Event {
	var filled metFunc
	return Event{Name: "day lost from the tables", what: "found by coverage, and filled", lasting: true,
		after: func(ctx context.Context, p *Story) error {
			// A day that comes as a file may take longer than the patience with other work.
			err := await(ctx, fillMax, "the day that "+media+" lost is not filled", func() (bool, error) {
				p.stack.Runs.Plan.Wake()
				n, err := filled(ctx)
				return n > 0, err
			})
			if _, late := errors.AsType[*lateError](err); late {
				return nil // The report says that the event was not met, and which rows differ.
			}
			return err
		},
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			s := p.store
			_, id, err := p.first(ctx, media)
			if err != nil {
				return nil, err
			}
			lost := day.Of(p.midnight, simworld.Zone).Add(-ago)
			const ofDay = " WHERE account_id = ? AND level = 'account' AND day = ?"
			const coverage = " FROM coverage" + ofDay + " AND report = 'report_daily'"
			for _, statement := range []string{"DELETE FROM " + media + "_report_daily" + ofDay, "DELETE FROM report_daily" +
				ofDay, "DELETE" + coverage} {
				if err := s.Data.Writer(ctx).Exec(statement, id, lost).Error; err != nil {
					return nil, err
				}
			}
			filled = counted(s.Data, "SELECT COUNT(*)"+coverage+" AND complete_version > 0", id, lost)
			return filled, nil
		}}
}

// fillMax is how long the fill of a lost day may take.
const fillMax = 2 * time.Minute

// daysOrdered is an order by hand for some days of an account at once, on a platform that refuses a report of several.
// It is met once for each day that was pulled.
func daysOrdered(media string, days int) Event {
	return Event{Name: "days ordered at once", what: "a call for each, as a report of more than one day is refused",
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			_, id, err := p.first(ctx, media)
			if err != nil {
				return nil, err
			}
			last := p.yesterday().Add(-2)
			run, err := p.order(ctx, media+".report_daily.account", task.Order{Accounts: []int64{id},
				From: last.Add(1 - days), To: last, By: "standalone --once"})
			return counted(p.store.Data, "SELECT succeeded FROM run WHERE id = ? AND failed = 0", run), err
		}}
}

// metricRetired is a figure that a platform's reports no longer know.
func metricRetired(media, field string) Event {
	return Event{Name: "metric retired", what: "its reports continue without it, and its columns are NULL",
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			_, err := p.orderFault(ctx, map[string]any{"kind": "retire_field", "media": media, "field": field})
			return func(ctx context.Context) (n int64, err error) {
				fields, err := p.store.ReportFields(ctx, media)
				for _, f := range fields {
					if f.State == settings.FieldRetired {
						n++ // A report at a level.
					}
				}
				return n, err
			}, err
		}}
}

// yesterday returns the day that ends in the story.
func (p *Story) yesterday() day.Day { return day.Of(p.midnight, simworld.Zone).Add(-1) }

// first returns the platform's id and our id of a platform's first account, which is a large one.
func (p *Story) first(ctx context.Context, media string) (externalID string, id int64, err error) {
	externalID = p.stack.Accounts[media][0]
	found, err := p.store.FindAccounts(ctx, media, []string{externalID})
	if err == nil && found[externalID].ID == 0 {
		err = fmt.Errorf("the tables have no account %s of %s", externalID, media)
	}
	return externalID, found[externalID].ID, err
}

// closeEvents records the results of the open events, at the story's end of all of them, and cancels their orders in
// the simulator.
func (p *Story) closeEvents(ctx context.Context, end bool) error {
	var kept []openEvent
	for _, e := range p.open {
		if e.lasting && !end {
			kept = append(kept, e)
			continue
		}
		met, err := e.met(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", named(e.media, e.Name), err)
		}
		p.report.Events = append(p.report.Events,
			EventReport{Name: e.Name, Media: e.media, At: e.at, Met: met, What: e.what})
	}
	p.open = kept
	return p.sim.Send(ctx, http.MethodDelete, "faults", nil, nil)
}
