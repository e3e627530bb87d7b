package jobstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"adsync/base/sqldb"
)

// Backoff is how long a job waits after a try that failed: Base after the first, Factor times as long after each
// further one, and at most Cap.
type Backoff struct {
	Base   int64   `json:"base"`   // seconds, 0 to BackoffMax; 0 is no wait
	Factor float64 `json:"factor"` // 1 to 10
	Cap    int64   `json:"cap"`    // seconds, Base to BackoffMax
}

// BackoffMax is the longest wait, in seconds.
const BackoffMax = 7 * 24 * 60 * 60

// After returns the wait after a number of claims.
func (b Backoff) After(claims int64) time.Duration {
	if b.Base == 0 || claims < 1 {
		return 0
	}
	seconds := float64(b.Base) * math.Pow(b.Factor, float64(claims-1))
	return time.Duration(min(seconds, float64(b.Cap)) * float64(time.Second))
}

// Validate returns what is wrong with it.
func (b Backoff) Validate() error {
	switch {
	case b.Base < 0 || b.Base > BackoffMax:
		return fmt.Errorf("base must be 0 to %d seconds", BackoffMax)
	case !(b.Factor >= 1 && b.Factor <= 10): // Also for what is no number.
		return errors.New("factor must be 1 to 10")
	case b.Cap < b.Base || b.Cap > BackoffMax:
		return fmt.Errorf("cap must be base to %d seconds", BackoffMax)
	}
	return nil
}

// String returns "base factor cap".
func (b Backoff) String() string {
	return fmt.Sprintf("%d %s %d", b.Base, strconv.FormatFloat(b.Factor, 'g', 6, 64), b.Cap)
}

// ParseBackoff reads what String returns.
func ParseBackoff(text string) (b Backoff, err error) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return b, errors.New("want base, factor and cap")
	}
	var errs [3]error
	b.Base, errs[0] = strconv.ParseInt(parts[0], 10, 64)
	b.Factor, errs[1] = strconv.ParseFloat(parts[1], 64)
	b.Cap, errs[2] = strconv.ParseInt(parts[2], 10, 64)
	if errors.Join(errs[:]...) != nil {
		return b, errors.New("base, factor and cap must be numbers")
	}
	return b, b.Validate()
}

// Rate is how many jobs of a queue are claimed in a time.
type Rate struct {
	Jobs    int64 `json:"jobs"`
	Seconds int64 `json:"seconds"`
}

// Settings are those of a queue.
type Settings struct {
	Backoff     *Backoff `json:"backoff,omitempty"`
	Rate        *Rate    `json:"rate,omitempty"`
	Concurrency int64    `json:"concurrency,omitempty"` // claims at the same time; 0 for any number
	KeepDead    int64    `json:"keep_dead,omitempty"`   // seconds for which dead letters are kept; 0 for the default
}

const (
	rateMax     = 1_000_000
	rateSeconds = 24 * 60 * 60
	keepDeadMax = 10 * 365 * 24 * 60 * 60
)

// Validate returns what is wrong with them.
func (s Settings) Validate() error {
	if s.Backoff != nil {
		if err := s.Backoff.Validate(); err != nil {
			return fmt.Errorf("backoff: %w", err)
		}
	}
	switch {
	case s.Rate != nil && (s.Rate.Jobs < 1 || s.Rate.Jobs > rateMax):
		return fmt.Errorf("rate: jobs must be 1 to %d", rateMax)
	case s.Rate != nil && (s.Rate.Seconds < 1 || s.Rate.Seconds > rateSeconds):
		return fmt.Errorf("rate: seconds must be 1 to %d", rateSeconds)
	case s.Concurrency < 0 || s.Concurrency > rateMax:
		return fmt.Errorf("concurrency must be 0 (any number) to %d", rateMax)
	case s.KeepDead != 0 && (s.KeepDead < 60 || s.KeepDead > keepDeadMax):
		return fmt.Errorf("keep_dead must be 60 to %d seconds, or 0 for the default", keepDeadMax)
	}
	return nil
}

// limited reports whether claims are bounded.
func (s Settings) limited() bool { return s.Rate != nil || s.Concurrency > 0 }

// SetQueue changes the settings of a queue.
func (s Names) SetQueue(ctx context.Context, q Queue, settings Settings, now time.Time) error {
	text := []byte{}
	if settings != (Settings{}) {
		var err error
		if text, err = json.Marshal(settings); err != nil {
			return fmt.Errorf("encode the settings of a queue: %w", err)
		}
	}
	if err := s.Name(ctx, []Queue{q}, now); err != nil {
		return err
	}
	err := s.db.Writer(ctx).Exec("UPDATE job_queue SET settings = ?, rate_at = 0 WHERE id = ?", string(text),
		int64(q.ID())).Error
	if err != nil {
		return fmt.Errorf("change the settings of a queue: %w", err)
	}
	return nil
}

// SettingsOf returns the settings of a queue.
func (s Names) SettingsOf(ctx context.Context, q Queue) (settings Settings, err error) {
	texts, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT settings FROM job_queue WHERE id = ?", int64(q.ID())),
		func(rows *sql.Rows, text *string) error { return rows.Scan(text) })
	if err == nil && len(texts) > 0 && texts[0] != "" {
		err = json.Unmarshal([]byte(texts[0]), &settings)
	}
	if err != nil {
		return settings, fmt.Errorf("read the settings of a queue: %w", err)
	}
	return settings, nil
}

// Load reads which queues are paused, which it returns, and the settings of all queues, which claims and the ends of
// claims of this process follow from then on. Call it each second.
func (s Names) Load(ctx context.Context) (paused map[QueueID]bool, err error) {
	all := map[QueueID]Settings{}
	paused = map[QueueID]bool{}
	err = sqldb.EachRow(s.db.Latest(ctx).Raw("SELECT id, paused, settings FROM job_queue "+
		"WHERE paused = 1 OR settings <> ''"),
		func(rows *sql.Rows) error {
			var id QueueID
			var held bool
			var text string
			if err := rows.Scan(&id, &held, &text); err != nil {
				return err
			}
			if held {
				paused[id] = true
			}
			if text == "" {
				return nil
			}
			var settings Settings
			err := json.Unmarshal([]byte(text), &settings)
			all[id] = settings
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the settings of queues: %w", err)
	}
	s.settings.Store(&all)
	return paused, nil
}

// of returns the settings of a queue, as they were at the last Load.
func (s Names) of(q QueueID) Settings {
	if all := s.settings.Load(); all != nil {
		return (*all)[q]
	}
	return Settings{}
}

// KeptDead returns for how long the dead letters of queues are kept that have a setting for it.
func (s Names) KeptDead() map[QueueID]time.Duration {
	kept := map[QueueID]time.Duration{}
	if all := s.settings.Load(); all != nil {
		for id, settings := range *all {
			if settings.KeepDead > 0 {
				kept[id] = time.Duration(settings.KeepDead) * time.Second
			}
		}
	}
	return kept
}
