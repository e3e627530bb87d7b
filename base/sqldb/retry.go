package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"

	"adsync/base/clock"
)

const (
	conflictTries = 8
	cutTries      = 4
	// cutPatience is how long after its beginning work is begun again on a new connection. A server that does not answer
	// at all takes longer than that to be noticed: its caller hears of it the first time.
	cutPatience = 2 * time.Second
)

// Retry does work again, a few times, that the database undid or whose connection was cut. What was cut may have been
// committed unseen, so fn must be right when it is done twice.
func (d *DB) Retry(ctx context.Context, fn func() error) error {
	began := clock.Mark()
	for conflicts, cuts := 0, 0; ; {
		err := fn()
		if err == nil || ctx.Err() != nil {
			return err
		}
		switch troubleOf(err) {
		case conflict:
			if conflicts++; conflicts == conflictTries {
				return err
			}
		case broken:
			if cuts++; cuts == cutTries || clock.Since(began) > cutPatience {
				return explainCut(err)
			}
		case unable, lasting:
			return err
		}
		if ended := clock.Sleep(ctx, rand.N(time.Duration(conflicts+cuts)*20*time.Millisecond)); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// explainCut adds to an error that says no more than "bad connection" what may be behind it.
func explainCut(err error) error {
	if !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, mysql.ErrInvalidConn) {
		return err
	}
	return fmt.Errorf("%w (the connection was cut, or the server only takes reads)", err)
}
