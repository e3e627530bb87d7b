package publishing

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/store/settings"
)

// Subscriptions reads and writes the tables destination and subscription.
type Subscriptions struct{ *sqldb.Databases }

// Destination is a row of destination: where files are delivered.
type Destination struct {
	Name        string `gorm:"primaryKey"`
	Kind        string
	Address     string
	Prefix      string
	Login       string
	Credentials string `gorm:"serializer:optional"` // sealed; "" = none
	HostKey     string `gorm:"serializer:optional"`
	CA          string `gorm:"serializer:optional"` // certificates in PEM
	Options     string `gorm:"serializer:optional"` // JSON
	Enabled     bool
}

// TableName implements schema.Tabler.
func (Destination) TableName() string { return settings.AuditDestinations }

// CredentialsPlace is the place that the credentials of a destination are sealed for, so that those of one destination
// do not open for another.
func CredentialsPlace(destination string) string { return "destination/" + destination }

// Subscription is a row of subscription: a file that is made again for each period. Its texts are checked by package
// publish.
type Subscription struct {
	Name        string `gorm:"primaryKey"`
	Source      string // JSON
	Scope       string `gorm:"serializer:optional"` // JSON
	Format      string // JSON
	Path        string
	Destination string
	Cron        string
	Timezone    string
	Period      string
	OnEmpty     string
	OnExists    string
	Verify      string
	Manifest    bool
	RowsMax     int64
	// JSON; "" for a file that is made at its moment, and for one that is not corrected.
	Completeness string `gorm:"serializer:optional"`
	Corrections  string `gorm:"serializer:optional"`
	Lane         string // "" = by the size of the file
	Owner        string
	Customer     string
	Enabled      bool
	Application  string // who follows the ends of its files' subtasks in the topic of outcomes; "" = nobody
	Webhook      string // the address that is called when a file is published; "" = none
	// WebhookSecret signs the calls. It is sealed; "" = none.
	WebhookSecret string `gorm:"serializer:optional"`
	// Since is when it was made or enabled last: moments of its cron before that make no file.
	Since time.Time `gorm:"serializer:time"`
}

// WebhookPlace is the place that the secret of a subscription's webhook is sealed for.
func WebhookPlace(subscription string) string { return "subscription/" + subscription + "/webhook" }

// TableName implements schema.Tabler.
func (Subscription) TableName() string { return settings.AuditSubscriptions }

// Destinations returns all rows of destination, by name.
func (s Subscriptions) Destinations(ctx context.Context) ([]Destination, error) {
	var all []Destination
	if err := s.Config.Writer(ctx).Order("name").Find(&all).Error; err != nil {
		return nil, fmt.Errorf("read the destinations: %w", err)
	}
	return all, nil
}

// Destination returns a row of destination, or sqldb.ErrNotFound.
func (s Subscriptions) Destination(ctx context.Context, name string) (Destination, error) {
	return one[Destination](s.Config.Writer(ctx).Where("name = ?", name), "destination "+name)
}

// AllSubscriptions returns all rows of subscription, by name.
func (s Subscriptions) AllSubscriptions(ctx context.Context) ([]Subscription, error) {
	all, err := allSubscriptions(s.Config.Writer(ctx))
	if err != nil {
		return nil, fmt.Errorf("read the subscriptions: %w", err)
	}
	return all, nil
}

func allSubscriptions(db *gorm.DB) (all []Subscription, err error) {
	return all, db.Order("name").Find(&all).Error
}

// Subscription returns a row of subscription, or sqldb.ErrNotFound.
func (s Subscriptions) Subscription(ctx context.Context, name string) (Subscription, error) {
	return one[Subscription](s.Config.Writer(ctx).Where("name = ?", name), "subscription "+name)
}

// one returns the one row that a query finds, or sqldb.ErrNotFound.
func one[R any](query *gorm.DB, what string) (row R, err error) {
	var rows []R
	if err = query.Limit(1).Find(&rows).Error; err == nil && len(rows) == 0 {
		err = sqldb.ErrNotFound
	}
	if err != nil {
		return row, fmt.Errorf("read the %s: %w", what, err)
	}
	return rows[0], nil
}

// PutDestination writes a row of destination. change is given the row as it is, and whether it is known, and returns
// what it is to be.
func (s Subscriptions) PutDestination(ctx context.Context, e settings.Editor, name string,
	change func(before Destination, known bool) (Destination, error)) error {
	err := settings.Edit(ctx, s.Databases, e, settings.AuditDestinations, nil, func(tx *gorm.DB) error {
		var rows []Destination
		if err := tx.Where("name = ?", name).Find(&rows).Error; err != nil {
			return err
		}
		before := Destination{Name: name, Enabled: true}
		if len(rows) > 0 {
			before = rows[0]
		}
		after, err := change(before, len(rows) > 0)
		if err != nil {
			return err
		}
		return tx.Save(&after).Error
	})
	if err != nil {
		return fmt.Errorf("write the destination %s: %w", name, err)
	}
	return nil
}

// ResealDestination replaces the credentials of a destination by the same credentials sealed again, and reports whether
// it did: not if they were changed meanwhile.
func (s Subscriptions) ResealDestination(ctx context.Context, d Destination, sealed string) (bool, error) {
	res := s.Config.Writer(ctx).Table(d.TableName()).Where("name = ? AND credentials = ?", d.Name, d.Credentials).
		Update("credentials", sealed)
	if res.Error != nil {
		return false, fmt.Errorf("reseal the credentials of the destination %s: %w", d.Name, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// ResealWebhook replaces the secret of a subscription's webhook by the same secret sealed again, and reports whether it
// did: not if it was changed meanwhile.
func (s Subscriptions) ResealWebhook(ctx context.Context, row Subscription, sealed string) (bool, error) {
	res := s.Config.Writer(ctx).Table(row.TableName()).
		Where("name = ? AND webhook_secret = ?", row.Name, row.WebhookSecret).Update("webhook_secret", sealed)
	if res.Error != nil {
		return false, fmt.Errorf("reseal the secret of the webhook of %s: %w", row.Name, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// Around is what a subscription must agree with. It does not change while a subscription is written.
type Around struct {
	Others       []Subscription // all other rows
	Destinations []Destination  // all
	Lanes        []settings.Lane
}

// PutSubscription writes a row of subscription. change is given the row as it is, and whether it is known, and returns
// what it is to be. A row that is new, or was not enabled before, begins now.
func (s Subscriptions) PutSubscription(ctx context.Context, e settings.Editor, name string, now time.Time,
	change func(before Subscription, known bool, around Around) (Subscription, error)) error {
	err := settings.Edit(ctx, s.Databases, e, settings.AuditSubscriptions, nil, func(tx *gorm.DB) error {
		// DeleteDestination and DeleteLane wait for this table.
		all, err := allSubscriptions(tx)
		if err != nil {
			return err
		}
		var around Around
		if err := tx.Order("name").Find(&around.Destinations).Error; err != nil {
			return err
		}
		if err := tx.Order("media, name").Find(&around.Lanes).Error; err != nil {
			return err
		}
		before, known := Subscription{Name: name, Enabled: true}, false
		for _, row := range all {
			if row.Name == name {
				before, known = row, true
			} else {
				around.Others = append(around.Others, row)
			}
		}
		after, err := change(before, known, around)
		if err != nil {
			return err
		}
		if !known || after.Enabled && !before.Enabled {
			after.Since = now
		}
		return tx.Save(&after).Error
	})
	if err != nil {
		return fmt.Errorf("write the subscription %s: %w", name, err)
	}
	return nil
}

// DeleteDestination deletes a row of destination, unless check refuses that; check is given all subscriptions, by name.
// It returns sqldb.ErrNotFound if there is no such row.
func (s Subscriptions) DeleteDestination(ctx context.Context, e settings.Editor, name string,
	check func([]Subscription) error) error {
	err := settings.Edit(ctx, s.Databases, e, settings.AuditDestinations, nil, func(tx *gorm.DB) error {
		// No subscription is edited meanwhile: it could come to name the destination.
		if err := settings.LockTable(tx, settings.AuditSubscriptions); err != nil {
			return err
		}
		all, err := allSubscriptions(tx.Clauses(sqldb.ForUpdate))
		if err == nil {
			err = check(all)
		}
		if err != nil {
			return err
		}
		return deleted(tx.Where("name = ?", name).Delete(&Destination{}))
	})
	if err != nil {
		return fmt.Errorf("delete the destination %s: %w", name, err)
	}
	return nil
}

// DeleteSubscription deletes a row of subscription, or returns sqldb.ErrNotFound. Its publications stay.
func (s Subscriptions) DeleteSubscription(ctx context.Context, e settings.Editor, name string) error {
	err := settings.Edit(ctx, s.Databases, e, settings.AuditSubscriptions, nil, func(tx *gorm.DB) error {
		return deleted(tx.Where("name = ?", name).Delete(&Subscription{}))
	})
	if err != nil {
		return fmt.Errorf("delete the subscription %s: %w", name, err)
	}
	return nil
}

func deleted(res *gorm.DB) error {
	if res.Error == nil && res.RowsAffected == 0 {
		return sqldb.ErrNotFound
	}
	return res.Error
}
