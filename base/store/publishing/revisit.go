package publishing

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
)

// OrderRevisits orders runs for published files that are due to be looked at again, and makes them due again at a
// later time. It adds the runs of one lane to one order, as OrderFiles does.
func (s Publications) OrderRevisits(ctx context.Context, limit int, now, again time.Time,
	order func(files []Publication) ([]ledger.RunOrder, error)) error {
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		files, err := orderRuns(tx, tx.Where("state = ? AND revisit_at <= ?", Published, sqldb.At(now)).
			Order("revisit_at, id").Limit(limit), order)
		if err != nil {
			return err
		}
		for i := range files {
			err := tx.Table("publication").Where("id = ?", files[i].ID).UpdateColumn("revisit_at", sqldb.At(again)).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("order a second look at files: %w", err)
	}
	return nil
}

// FileRevisited records what a second look at a published file has found: the columns state, error_text, check_at,
// compare_at and compared of p. It writes nothing if the file was delivered again meanwhile.
func (s Publications) FileRevisited(ctx context.Context, p *Publication) error {
	p.RevisitAt = p.revisitAt()
	p.ErrorText = sqldb.Cut(p.ErrorText, errorMax)
	err := s.Data.Retry(ctx, func() error {
		return s.Data.Writer(ctx).Model(p).Where("state = ? AND delivery = ?", Published, p.Delivery).
			Select("state", "error_text", "check_at", "compare_at", "revisit_at", "compared", "updated_at").
			UpdateColumns(p).Error
	})
	if err != nil {
		return fmt.Errorf("record the second look at the file %s: %w", p.Part(), err)
	}
	return nil
}

// FileNotified records the call of a published file's webhook: the columns webhook_at and webhook_error of p. It writes
// nothing if the file was delivered again meanwhile. What else is due has a run already, which is ordered again at a
// moment if it does not end.
func (s Publications) FileNotified(ctx context.Context, p *Publication, again time.Time) error {
	p.RevisitAt, p.WebhookError = p.revisitAt(), sqldb.Cut(p.WebhookError, webhookErrorMax)
	if !p.RevisitAt.IsZero() && !p.RevisitAt.After(p.UpdatedAt) {
		p.RevisitAt = again
	}
	err := s.Data.Retry(ctx, func() error {
		return s.Data.Writer(ctx).Model(p).Where("state = ? AND delivery = ?", Published, p.Delivery).
			Select("webhook_at", "webhook_error", "revisit_at", "updated_at").UpdateColumns(p).Error
	})
	if err != nil {
		return fmt.Errorf("record the call of the webhook of the file %s: %w", p.Part(), err)
	}
	return nil
}

// revisitAt returns when a published file needs a run next; zero if it needs none.
func (p *Publication) revisitAt() time.Time {
	return earlier(p.WebhookAt, earlier(p.CheckAt, p.CompareAt))
}

// webhookErrorMax is how long the error of a webhook is kept, in bytes.
const webhookErrorMax = 500

// earlier returns the earlier one of two times; a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
