package settings

import (
	"context"
	"fmt"
	"time"

	"adsync/base/sqldb"
)

// endedSessionSlack is how much longer than its session the row of an ended session is kept, since the clocks of
// processes differ.
const endedSessionSlack = time.Hour

// EndSession records that a browser's session, which would last until the given moment, has ended for all processes.
// It deletes rows of sessions that have expired.
func (s Sessions) EndSession(ctx context.Context, id string, until time.Time) error {
	now, err := s.Config.Now(ctx)
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	db := s.Config.Writer(ctx)
	if err := db.Table("ended_session").Where("until_at < ?",
		sqldb.At(now.Add(-endedSessionSlack))).Delete(nil).Error; err != nil {
		return fmt.Errorf("delete old ended sessions: %w", err)
	}
	table := sqldb.Table{Name: "ended_session", Key: []string{"id"}, Columns: []string{"until_at"}}
	if err := s.Config.Upsert(db, table, [][]any{{id, sqldb.At(until)}}); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// EndedSessions returns the ids of sessions that were ended before their time.
func (s Sessions) EndedSessions(ctx context.Context) ([]string, error) {
	var ids []string
	if err := s.Config.Writer(ctx).Table("ended_session").Pluck("id", &ids).Error; err != nil {
		return nil, fmt.Errorf("read the ended sessions: %w", err)
	}
	return ids, nil
}
