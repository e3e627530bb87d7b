package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// The serializers of models' fields: "time" is for a time.Time that is stored as a Time, "optional" for a string
// whose empty value is stored as NULL.
func init() {
	schema.RegisterSerializer("time", timeColumn{})
	schema.RegisterSerializer("optional", optionalColumn{})
}

type timeColumn struct{}

// Scan implements schema.SerializerInterface.
func (timeColumn) Scan(ctx context.Context, field *schema.Field, row reflect.Value, v any) error {
	var t Time
	err := t.Scan(v)
	field.ReflectValueOf(ctx, row).Set(reflect.ValueOf(t.Time))
	return err
}

// Value implements schema.SerializerInterface.
func (timeColumn) Value(_ context.Context, _ *schema.Field, _ reflect.Value, v any) (any, error) {
	return At(v.(time.Time)).Value()
}

type optionalColumn struct{}

// Scan implements schema.SerializerInterface.
func (optionalColumn) Scan(ctx context.Context, field *schema.Field, row reflect.Value, v any) error {
	var text sql.NullString
	err := text.Scan(v)
	field.ReflectValueOf(ctx, row).SetString(text.String)
	return err
}

// Value implements schema.SerializerInterface.
func (optionalColumn) Value(_ context.Context, _ *schema.Field, _ reflect.Value, v any) (any, error) {
	text := v.(string)
	return sql.NullString{String: text, Valid: text != ""}.Value()
}

// ForUpdate is the clause of reads whose rows no other transaction may change until this one ends. SQLite, which has
// one writer, leaves it out.
var ForUpdate = clause.Locking{Strength: clause.LockingStrengthUpdate}

// One reads the one row that a query finds; sql.ErrNoRows if it finds none.
func One(query *gorm.DB, row any) error {
	err := query.Take(row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return sql.ErrNoRows
	}
	return err
}

// Touch sets a row's updated_at to the database's time, for BeforeUpdate of models.
func Touch(tx *gorm.DB) error {
	tx.Statement.SetColumn("updated_at", gorm.Expr(Dialect(tx.Name()).Now()))
	return nil
}
