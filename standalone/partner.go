package standalone

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	simworld "adsync/simulator/world"
	"adsync/standalone/verify"
)

// partnerFile is the business's own database, next to the others. It holds figures that a game's servers count and
// that no platform knows.
const partnerFile = "partner.db"

const partnerTable = `CREATE TABLE IF NOT EXISTS partner_daily (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  deleted INTEGER NOT NULL DEFAULT 0,
  day DATE NOT NULL,
  game TEXT NOT NULL,
  os TEXT NOT NULL,
  media TEXT NOT NULL,
  account TEXT NOT NULL,
  level TEXT NOT NULL,
  object_id TEXT NOT NULL DEFAULT '',
  new_users INTEGER NULL,
  returning_users INTEGER NULL,
  pay_amount_d1 INTEGER NULL,
  pay_amount_d3 INTEGER NULL,
  pay_amount_d7 INTEGER NULL,
  pay_amount_d14 INTEGER NULL,
  pay_amount_d30 INTEGER NULL,
  UNIQUE (day, media, account, level, object_id)
);
CREATE INDEX IF NOT EXISTS partner_daily_changes ON partner_daily (updated_at, id);`

// How much the partner knows.
const (
	partnerDays     = 7   // today included
	partnerAccounts = 200 // of each platform
	partnerObjects  = 6   // of an account and level
)

// strangerAccount is an account that only the partner knows.
const strangerAccount = "90000000001"

func openPartnerFile(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", sqldb.SQLiteFile(path, url.Values{"_pragma": {"busy_timeout(10000)"}}))
	if err != nil {
		return nil, fmt.Errorf("open the partner's database: %w", err)
	}
	return db, nil
}

// partnerSource is the name of the partner's database among the sources, and partnerCopy that of its copy.
const (
	partnerSource = "simulated"
	partnerCopy   = "partner"
)

// checkSources refuses a source of the settings that has the name of the partner's database.
func checkSources(o Options) error {
	if _, taken := o.Sources[partnerSource]; taken {
		return fmt.Errorf("sources.%s: rename it: this is the simulated world's own source", partnerSource)
	}
	return nil
}

// openSources opens the databases whose tables are copied. That of the partner is part of the simulated world: it is
// filled, and its copy is made if no copy has its target.
func (s *stack) openSources(ctx context.Context) (err error) {
	if err := seedPartner(ctx, s.dir.file(partnerFile), s.world); err != nil {
		return err
	}
	if err := s.seedPartnerCopy(ctx); err != nil {
		return err
	}
	all := copies.SourcesConfig{
		partnerSource: {Driver: sqldb.SQLite, DSN: secret.NewText(s.dir.file(partnerFile))},
	}
	maps.Copy(all, s.Sources)
	if s.sources, err = copies.OpenSources(all); err != nil {
		return err
	}
	s.opened(s.sources.Close)
	return nil
}

// seedPartnerCopy makes the copy of the partner's table, unless there is one. It takes a name that no copy has.
func (s *stack) seedPartnerCopy(ctx context.Context) error {
	have, err := s.store.TableCopies(ctx)
	if err != nil {
		return err
	}
	name := partnerCopy
	for _, c := range have { // They are in the order of their names.
		if c.IsPartner() {
			return nil
		}
		if c.Name == name {
			name += "_"
		}
	}
	by := settings.Editor{Actor: "adsync", Action: "copy.put"}
	return s.store.PutTableCopy(ctx, by, name, func(c *copies.TableCopy) error {
		c.Source, c.SourceTable, c.Into = partnerSource, "partner_daily", copies.PartnerTable
		c.Complete()
		return c.Validate()
	})
}

// seedPartner fills the partner's database with figures of the world's last days. They are derived from the objects'
// ids and the day, so that the same world has the same figures. Existing rows stay.
func seedPartner(ctx context.Context, path string, w *world) error {
	db, err := openPartnerFile(path)
	if err != nil {
		return err
	}
	p := &partnerSeed{world: w, today: day.Of(w.clock.Now(), simworld.Zone)}
	if err = p.gather(ctx); err == nil {
		err = p.write(ctx, db)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("fill the partner's database: %w", err)
	}
	return nil
}

// partnerObject identifies the object of a partner's row.
type partnerObject struct{ media, account, level, object string }

type partnerSeed struct {
	world   *world
	today   day.Day
	objects []partnerObject
}

// gather chooses the accounts' objects for which the partner has figures.
func (p *partnerSeed) gather(ctx context.Context) error {
	for name, c := range p.world.creds {
		var accounts []string
		for _, app := range c.Apps {
			for _, l := range app.Logins {
				accounts = append(accounts, l.AccountIDs...)
			}
		}
		slices.Sort(accounts)
		accounts = slices.Compact(accounts)
		for _, account := range accounts[:min(len(accounts), partnerAccounts)] {
			p.objects = append(p.objects, partnerObject{name, account, settings.AccountLevel, ""})
			taken := map[string]int{}
			err := verify.Objects(ctx, http.DefaultClient, p.world.address, name, account, func(level, object string) {
				if taken[level] < partnerObjects {
					taken[level]++
					p.objects = append(p.objects, partnerObject{name, account, level, object})
				}
			})
			if err != nil {
				return err
			}
		}
		p.objects = append(p.objects, partnerObject{name, strangerAccount, settings.AccountLevel, ""})
	}
	slices.SortFunc(p.objects, func(a, b partnerObject) int {
		return slices.Compare([]string{a.media, a.account, a.level, a.object},
			[]string{b.media, b.account, b.level, b.object})
	})
	return nil
}

func (p *partnerSeed) write(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, partnerTable); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	insert, err := tx.PrepareContext(ctx, `INSERT OR IGNORE INTO partner_daily
		(day, game, os, media, account, level, object_id, new_users, returning_users, pay_amount_d1, pay_amount_d3,
		pay_amount_d7, deleted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }() // the commit tells
	for _, on := range day.Between(p.today.Add(1-partnerDays), p.today) {
		for _, o := range p.objects {
			game, system, _ := gameOf(o.media, o.account)
			args := append([]any{on.String(), game, system, o.media, o.account, o.level, o.object}, p.figures(o, on)...)
			if _, err := insert.ExecContext(ctx, args...); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// figures returns the partner's figures of an object's day, and whether the row is deleted. The last days do not have
// the later payments yet.
func (p *partnerSeed) figures(o partnerObject, on day.Day) []any {
	h := fnv.New64a()
	_, _ = h.Write([]byte(o.media + "/" + o.account + "/" + o.level + "/" + o.object + "/" + on.String()))
	n := int64(h.Sum64() >> 1)
	users, returning := n%40, n/40%60
	paid := n / 2400 % 20_000 * 10_000
	args := []any{users, returning, paid}
	for i, days := range []int{3, 7} {
		if on.Add(days-1) > p.today {
			args = append(args, nil)
		} else {
			args = append(args, paid+paid/int64(2+i))
		}
	}
	return append(args, n/7%50 == 0)
}
