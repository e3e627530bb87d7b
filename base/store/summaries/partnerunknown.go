package summaries

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
)

// PartnerAccount is an account as the partner names it.
type PartnerAccount struct {
	Media   string `gorm:"column:media"`
	Account string `gorm:"column:external_id"`
	Rows    int    `gorm:"column:n"`
}

// UnknownPartnerAccounts returns the accounts that rows of partner_daily name and that were not known when the rows
// came, with the number of their rows.
func (s PartnerCopy) UnknownPartnerAccounts(ctx context.Context) ([]PartnerAccount, error) {
	var accounts []PartnerAccount
	err := s.Data.Writer(ctx).Raw(
		"SELECT media, external_id, COUNT(*) AS n FROM partner_daily WHERE account_id IS NULL GROUP BY media, external_id" +
			" ORDER BY media, external_id").Scan(&accounts).Error
	if err != nil {
		return nil, fmt.Errorf("read the partner's accounts that are not known: %w", err)
	}
	return accounts, nil
}

// AssignPartnerRows assigns the partner's rows of a formerly unknown account to the account, marks their days for
// wide_daily, and returns how many rows it changed. It returns copies.ErrOvertaken when another run has begun.
func (s PartnerCopy) AssignPartnerRows(ctx context.Context, run *copies.State, account settings.Account) (int, error) {
	adopted := 0
	err := s.write(ctx, run, run.CursorValue, func(tx *gorm.DB, now time.Time) error {
		var ids []int64
		err := tx.Raw(
			"SELECT partner_id FROM partner_daily WHERE account_id IS NULL AND media = ? AND external_id = ?"+
				" ORDER BY partner_id", account.Media, account.ExternalID).Scan(&ids).Error
		if err != nil {
			return err
		}
		entries, newest, err := partnerEntries(tx, ids)
		if err != nil {
			return err
		}
		adopted = len(entries)
		version := max(now.UnixMicro(), newest+1)
		touched := touchedDays{}
		values := make([][]any, 0, len(entries))
		for _, before := range entries {
			e := before.entry(account)
			touched.add(account.Media, account.ID, e.Day)
			values = append(values, append(e.args(), sqldb.At(now), version))
		}
		if err := s.Data.Upsert(tx, partnerTable, values); err != nil {
			return err
		}
		return touched.mark(s.Data, tx, now.UnixMicro())
	})
	if err != nil {
		return 0, fmt.Errorf("assign the partner's rows of account %s to account %d: %w", account.ExternalID, account.ID, err)
	}
	return adopted, nil
}
