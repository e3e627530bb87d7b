package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// RestingLogin is a login whose refresh rests after failed tries: until then no process requests new tokens for it.
type RestingLogin struct {
	settings.Login

	Until         time.Time // by the config database's time
	Tries         int       // since the last new pair
	Reason        string    // why the last try failed
	AccessExpires time.Time
	Accounts      int64 // bound ones that are pulled with it
}

// RestingLogins returns the logins of a media whose refresh rests now, by id; of all platforms if media is empty.
func (s Subtasks) RestingLogins(ctx context.Context, media string, limit int) ([]RestingLogin, error) {
	query := "SELECT t.id, t.media, t.app_id, t.login, COALESCE(l.name, ''), t.state, t.intent_until, t.intent_tries," +
		" t.rest_reason, t.access_expires_at," +
		" (SELECT COUNT(*) FROM media_account a WHERE a.token_id = t.id AND a.bound = 1)" +
		" FROM media_token t LEFT JOIN media_login l ON l.token_id = t.id WHERE " + resting(s.Config)
	args := []any{settings.TokenOK}
	if media != "" {
		query, args = query+" AND t.media = ?", append(args, media)
	}
	found := s.Config.Current(ctx).Raw(query+" ORDER BY t.id LIMIT ?", append(args, limit)...)
	all, err := sqldb.Rows(found, func(rows *sql.Rows, l *RestingLogin) error {
		var until, expires sqldb.Time
		err := rows.Scan(&l.ID, &l.Media, &l.AppID, &l.Login.Login, &l.Name, &l.State, &until, &l.Tries, &l.Reason, &expires,
			&l.Accounts)
		l.Until, l.AccessExpires = until.Time, expires.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the logins whose refresh rests: %w", err)
	}
	return all, nil
}

// resting returns the condition of a row t of media_token whose refresh rests; its argument is TokenOK.
func resting(d *sqldb.DB) string {
	return "t.state = ? AND t.intent_holder = '' AND t.intent_until > " + d.Dialect().Now()
}

// EndRest lets a login's refresh be tried at once, if it rests.
func (s Subtasks) EndRest(ctx context.Context, tokenID int64) error {
	d := s.Config.Dialect()
	err := s.Config.Writer(ctx).Exec("UPDATE media_token SET intent_until = NULL, updated_at = "+d.Now()+
		" WHERE id = ? AND intent_holder = '' AND intent_until > "+d.Now(), tokenID).Error
	if err != nil {
		return fmt.Errorf("end the rest of the refresh of login %d: %w", tokenID, err)
	}
	return nil
}

// waitingForTime follows subtask_due: the subtasks of a media in some states that wait only for a moment after now.
const waitingForTime = "WHERE state IN ? AND due_at > ? AND media = ? AND waits_for = ''"

// CountWaits returns how many subtasks of a media in one of the states wait only for a moment.
func (s Subtasks) CountWaits(ctx context.Context, media string, states []task.State, now time.Time) (n int, err error) {
	err = s.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM subtask_due "+waitingForTime, states, sqldb.At(now),
		media).Row().Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the waiting subtasks of %s: %w", media, err)
	}
	return n, nil
}

// EndWaits makes due now the subtasks of a media that are in one of the states and wait only for a moment. It returns
// how many it changed. It needs no lease, since repeating it has the same effect. Subtasks that begin to wait
// meanwhile may stay.
func (s Subtasks) EndWaits(
	ctx context.Context, media string, states []task.State, now time.Time,
) (ended int, err error) {
	all, err := s.CountWaits(ctx, media, states, now)
	for err == nil && ended < all {
		list, err := readDue(ctx, s.Databases, waitingForTime+" ORDER BY due_at LIMIT ?", states, sqldb.At(now), media,
			s.Data.RowsPerStatement(5))
		if err != nil || len(list) == 0 {
			return ended, err
		}
		slices.SortFunc(list, func(a, b Due) int { return compareKeys(a.Key, b.Key) })
		rows := make([][]any, len(list))
		for i, d := range list {
			rows[i] = []any{d.RunID, d.AccountID, d.Part, d.Delivery, sqldb.At(now)}
		}
		err = s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
			return sqldb.UpdateByValues(s.Data, tx, sqldb.ValueUpdate{
				Table: dueTable.Name, Key: SubtaskKey,
				Columns: []string{"run_id", "account_id", "part", "delivery", "due_at"},
				Set:     [][2]string{{"due_at", "o.due_at"}},
				Where:   "t.delivery = o.delivery AND t.waits_for = '' AND t.due_at > o.due_at AND t.state <> '" + dueSent + "'",
			}, rows)
		})
		if err != nil {
			return ended, fmt.Errorf("end the waits of %s: %w", plural.Count(len(list), "subtask", "subtasks"), err)
		}
		ended += len(list)
	}
	return ended, err
}
