package jobstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"adsync/base/sqldb"
)

// Quota bounds what a namespace has and publishes. A number of 0 is no bound.
type Quota struct {
	Jobs  int64 `json:"jobs"`  // live ones and dead letters
	Bytes int64 `json:"bytes"` // of their bodies
	Rate  *Rate `json:"rate"`  // of publications; nil for any
}

const quotaMax = 1 << 50

// Validate returns what is wrong with it.
func (q Quota) Validate() error {
	switch {
	case q.Jobs < 0 || q.Jobs > quotaMax || q.Bytes < 0 || q.Bytes > quotaMax:
		return fmt.Errorf("jobs and bytes must be 0 (any number) to %d", int64(quotaMax))
	case q.Rate != nil && (q.Rate.Jobs < 1 || q.Rate.Jobs > quotaMax):
		return fmt.Errorf("rate: jobs must be 1 to %d", int64(quotaMax))
	case q.Rate != nil && (q.Rate.Seconds < 1 || q.Rate.Seconds > rateSeconds):
		return fmt.Errorf("rate: seconds must be 1 to %d", rateSeconds)
	case q == (Quota{}):
		return errors.New("want jobs, bytes or rate")
	}
	return nil
}

// Usage is what a namespace has.
type Usage struct{ Jobs, Bytes int64 }

// Quotas are those of the namespaces.
type Quotas struct{ rows }

// SetQuota changes the quota of a namespace; an empty one removes it.
func (s Quotas) SetQuota(ctx context.Context, namespace string, q Quota) (err error) {
	if q == (Quota{}) {
		err = s.db.Writer(ctx).Exec("DELETE FROM job_quota WHERE namespace = ?", namespace).Error
	} else {
		rate := Rate{}
		if q.Rate != nil {
			rate = *q.Rate
		}
		err = s.db.Upsert(s.db.Writer(ctx), sqldb.Table{Name: "job_quota", Key: []string{"namespace"},
			Columns: []string{"jobs", "bytes", "rate_jobs", "rate_seconds"}},
			[][]any{{namespace, q.Jobs, q.Bytes, rate.Jobs, rate.Seconds}})
	}
	if err != nil {
		return fmt.Errorf("change the quota of %s: %w", namespace, err)
	}
	return nil
}

// AllQuotas returns the quotas by namespace.
func (s Quotas) AllQuotas(ctx context.Context) (map[string]Quota, error) {
	all := map[string]Quota{}
	err := sqldb.EachRow(s.db.Latest(ctx).Raw("SELECT namespace, jobs, bytes, rate_jobs, rate_seconds FROM job_quota"),
		func(rows *sql.Rows) error {
			var namespace string
			var q Quota
			var r Rate
			err := rows.Scan(&namespace, &q.Jobs, &q.Bytes, &r.Jobs, &r.Seconds)
			if r.Seconds > 0 {
				q.Rate = &r
			}
			all[namespace] = q
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the quotas of namespaces: %w", err)
	}
	return all, nil
}

// UsageOf counts the jobs of a namespace, and their bytes if they are wanted. It reads as many rows as it has jobs.
func (s Quotas) UsageOf(ctx context.Context, namespace string, bytes bool) (u Usage, err error) {
	sum := "0"
	if bytes {
		sum = "COALESCE(SUM(LENGTH(body)), 0)"
	}
	for _, table := range slices.Concat(s.tables.all(-1), []string{deadTable}) {
		var jobs, size int64
		err := s.db.Latest(ctx).Raw("SELECT COUNT(*), "+sum+" FROM "+table+
			" WHERE queue_id IN (SELECT id FROM job_queue WHERE namespace = ?)", namespace).Row().Scan(&jobs, &size)
		if err != nil && !isMissing(err) {
			return u, fmt.Errorf("count the jobs of %s: %w", namespace, err)
		}
		u.Jobs, u.Bytes = u.Jobs+jobs, u.Bytes+size
	}
	return u, nil
}
