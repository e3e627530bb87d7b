package overview

import (
	"context"
	"fmt"

	"adsync/base/plural"
	"adsync/base/rawtable"
	"adsync/base/store/overview"
	"adsync/base/store/results"
	"adsync/client"
)

// unusableFieldsMax is the number of fields with unusable values that are shown.
const unusableFieldsMax = 20

// unusableItems lists the values that could not be used.
type unusableItems struct {
	*facts

	glance interface {
		Unusable(limit int) ([]overview.UnusableField, error)
	}
}

// addUnusable lists the fields with values that the last pulls could not use.
func (l *unusableItems) addUnusable(context.Context) error {
	fields, err := l.glance.Unusable(unusableFieldsMax)
	if err != nil {
		return err
	}
	for _, f := range fields {
		what := map[rawtable.FaultKind]string{
			rawtable.KeyFault:       "the rows are lost, and their days or lists are partial",
			rawtable.FigureFault:    "the values are NULL, and their days are partial",
			rawtable.FutureFault:    "the values are kept as data, and do not move the mark of changes",
			rawtable.AttributeFault: "the values are NULL, or their text was repaired",
		}[f.Kind]
		severity := Note
		if f.Kind == rawtable.KeyFault || f.Kind == rawtable.FigureFault {
			severity = Warn
		}
		a := item{Attention: client.Attention{
			Kind: "unusable", Severity: severity, Media: f.Media,
			Title: plural.Count(f.Number, "value", "values") + " of " + f.Report + "." + f.Field + " cannot be used",
			Cause: sentence(fmt.Sprintf("in the platform's rows %s %s: %s", f.Field, f.Why, what)), Accounts: f.Accounts,
			Since:   f.Since.Time,
			Remedy:  "Look at the platform's answer in the row's row_json. The next pull that can use it clears this.",
			Command: "adsync coverage " + f.Media + "/ID",
		}, ids: []int64{f.AccountID}}
		if f.Report == results.PartnerReport {
			a.ids, a.Command = nil, ""
			a.Cause = sentence(fmt.Sprintf("in the partner's rows %s %s: %s", f.Field, f.Why, map[rawtable.FaultKind]string{
				rawtable.KeyFault: "the rows are not kept", rawtable.FigureFault: "the values are NULL",
				rawtable.AttributeFault: "the values were repaired",
			}[f.Kind]))
			a.Remedy = "partner_unusable names the rows and what is wrong. Correct them in the partner's table, with a new " +
				"updated_at: the next run of the copy clears this."
		}
		l.add(a)
	}
	return nil
}
