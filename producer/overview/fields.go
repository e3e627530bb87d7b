package overview

import (
	"cmp"
	"context"

	"adsync/base/store/settings"
	"adsync/client"
)

// fieldItems lists the added fields that platforms refuse.
type fieldItems struct {
	*facts

	store fieldTables
}

// addFields lists the added fields that their platform refuses. No subtask fails for such a field, so only this item
// shows it.
func (l *fieldItems) addFields(ctx context.Context) error {
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
			Kind: "field", Severity: Note, Media: r.Media, Title: "The platform refuses the added field " + r.Field,
			Cause: sentence(r.Reason),
			Since: r.UpdatedAt.Time,
			Remedy: "No report requests it. Add it under the platform's own name, or only to the reports that have it (" +
				cmp.Or(r.Report, "all") + " now). The command drops it from the list.",
			Command: "adsync fields drop " + r.Media + " " + quote(r.Field) + narrowed,
		}})
	}
	return nil
}
