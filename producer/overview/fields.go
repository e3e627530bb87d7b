package overview

import (
	"cmp"
	"context"

	"adsync/base/store/settings"
	"adsync/client"
)

// fieldItems are the fields that platforms refuse.
type fieldItems struct {
	*facts

	store fieldTables
}

// attendFields names the fields that somebody has added and that their platform refuses: nobody else learns of it.
func (l *fieldItems) attendFields(ctx context.Context) error {
	rows, err := l.store.ReportFields(ctx, "")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.State != settings.FieldRefused {
			continue
		}
		narrowed := ""
		if r.Report != "" {
			narrowed += " --report " + quote(r.Report)
		}
		if r.Level != "" {
			narrowed += " --level " + quote(r.Level)
		}
		l.add(item{Attention: client.Attention{
			Kind: "field", Severity: Note, Media: r.Media, Title: "The field " + r.Field + ", which was added, is refused",
			Cause: sentence(r.Reason),
			Since: r.UpdatedAt.Time,
			Remedy: "No report asks for it. Add it under the platform's own name, or only to the reports that have it (" +
				cmp.Or(r.Report, "all") +
				" now); the command takes this one off the list.",
			Command: "adsync fields drop " + r.Media + " " + quote(r.Field) + narrowed,
		}})
	}
	return nil
}
