package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/ratelimit/grant"
	"adsync/base/sqldb"
)

// ExternalMedia is a row of media_external: a platform without Go code.
type ExternalMedia struct {
	Name     string `gorm:"primaryKey"`
	Timezone string // of accounts that have no other
	Currency string // of accounts that have no other
	Limits   string // a JSON list of ExternalLimit
	Enabled  bool
}

// TableName implements schema.Tabler.
func (ExternalMedia) TableName() string { return AuditExternal }

// ExternalLimit is a call limit of such a platform, with the fields of a rule of GET /api/v1/limits/rules.
type ExternalLimit struct {
	Endpoint     string  `json:"endpoint"`
	EachEndpoint bool    `json:"each_endpoint,omitempty"`
	Scope        string  `json:"scope"`
	PeriodMs     int64   `json:"period_ms"`
	Calls        int64   `json:"calls"`
	Share        float64 `json:"share,omitempty"`
	Cost         int64   `json:"cost,omitempty"`
	CalendarZone string  `json:"calendar_zone,omitempty"`
	PenaltyMs    int64   `json:"penalty_ms,omitempty"`
}

// Rules returns the platform's call limits, unchecked.
func (m *ExternalMedia) Rules() ([]grant.Rule, error) {
	var limits []ExternalLimit
	if err := json.Unmarshal([]byte(m.Limits), &limits); err != nil {
		return nil, fmt.Errorf("media_external %s: limits: %w", m.Name, err)
	}
	rules := make([]grant.Rule, len(limits))
	for i, l := range limits {
		rules[i] = grant.Rule{Media: m.Name, Endpoint: grant.PlainEndpoint(l.Endpoint), Each: l.EachEndpoint,
			Scope: grant.Scope(l.Scope), Period: time.Duration(l.PeriodMs) * time.Millisecond, Limit: int(l.Calls),
			Share: l.Share, Cost: int(l.Cost), Calendar: l.CalendarZone,
			Penalty: time.Duration(l.PenaltyMs) * time.Millisecond}
	}
	return rules, nil
}

// ExternalMedias returns the rows of media_external, by name; none before the migration that makes the table.
func (s Accounts) ExternalMedias(ctx context.Context) ([]ExternalMedia, error) {
	tables, err := s.Config.Tables(ctx)
	if err != nil || !slices.Contains(tables, AuditExternal) {
		return nil, err
	}
	var rows []ExternalMedia
	if err := s.Config.Writer(ctx).Order("name").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read media_external: %w", err)
	}
	return rows, nil
}

// PutExternalMedia makes or changes a row of media_external. change is given the present row; known reports whether
// there is one. It may refuse.
func (s Accounts) PutExternalMedia(ctx context.Context, e Editor, name string,
	change func(m *ExternalMedia, known bool) error) error {
	err := Edit(ctx, s.Databases, e, AuditExternal, nil, func(tx *gorm.DB) error {
		var rows []ExternalMedia
		if err := tx.Where("name = ?", name).Find(&rows).Error; err != nil {
			return err
		}
		m := ExternalMedia{Name: name, Limits: "[]", Enabled: true}
		if len(rows) > 0 {
			m = rows[0]
		}
		if err := change(&m, len(rows) > 0); err != nil {
			return err
		}
		return tx.Save(&m).Error
	})
	if err != nil {
		return fmt.Errorf("write the platform %s: %w", name, err)
	}
	return nil
}

// PutExternalAccounts adds accounts of a platform without Go code, which are pulled from then on, and changes the name,
// zone and currency of those that are known. It is recorded in the audit log.
func (s Accounts) PutExternalAccounts(ctx context.Context, e Editor, media string, accounts []Account) error {
	for batch := range slices.Chunk(accounts, accountBatch) {
		ids := make([]string, len(batch))
		for i := range batch {
			ids[i] = batch[i].ExternalID
		}
		before, err := s.FindAccounts(ctx, media, ids)
		if err != nil {
			return err
		}
		err = s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error {
			for i := range batch {
				a := &batch[i]
				err := tx.Exec(s.Config.Dialect().InsertIgnore()+
					"media_account (media, external_id, name, token_id, tier, timezone, currency, bound)"+
					" VALUES (?, ?, ?, 0, ?, ?, ?, 1)", media, a.ExternalID, sqldb.Cut(a.Name, 255), TierActive, a.Timezone,
					a.Currency).Error
				if err != nil {
					return err
				}
				err = tx.Exec("UPDATE media_account SET name = ?, timezone = ?, currency = ? WHERE media = ? AND external_id = ?",
					sqldb.Cut(a.Name, 255), a.Timezone, a.Currency, media, a.ExternalID).Error
				if err != nil {
					return err
				}
			}
			after, err := accountsByExternalID(tx, media, ids)
			if err != nil {
				return err
			}
			return recordAccounts(tx, e, media, before, after)
		})
		if err != nil {
			return fmt.Errorf("put accounts of %s: %w", media, err)
		}
	}
	return nil
}

// recordAccounts writes an entry into audit_log for each account that is new or has changed.
func recordAccounts(tx *gorm.DB, e Editor, media string, before, after map[string]Account) error {
	for id, a := range after {
		had, known := before[id]
		if known && had == a {
			continue
		}
		entry := Audit{Actor: e.Actor, Action: e.Action, Object: "media_account/" + media + "/" + id}
		text, err := json.Marshal(a.Ref())
		if err != nil {
			return err
		}
		entry.After = string(text)
		if known {
			if text, err = json.Marshal(had.Ref()); err != nil {
				return err
			}
			entry.Before = string(text)
		}
		if err := tx.Create(&entry).Error; err != nil {
			return err
		}
	}
	return nil
}
