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
	// cutPatience is how long after its beginning work is repeated on a new connection. A server that does not answer at
	// all is noticed later than that: its caller gets the first error.
	cutPatience = 2 * time.Second
)

// Retry repeats work, a few times, that the database undid or whose connection was cut. A cut may have hidden a
// commit, so fn must be correct if it runs twice.
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

// explainCut adds the possible causes to an error that only reports a bad connection.
func explainCut(err error) error {
	if !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, mysql.ErrInvalidConn) {
		return err
	}
	return fmt.Errorf("%w (the connection was cut, or the server only takes reads)", err)
}
