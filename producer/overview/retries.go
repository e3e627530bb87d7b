package overview

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/overview"
	"adsync/client"
)

// retryItems lists the subtasks that wait to be tried again.
type retryItems struct{ *facts }

// addRetries groups the subtasks that wait to be tried again by media and error print.
func (l *retryItems) addRetries(context.Context) error {
	type key struct{ media, print string }
	groups := map[key][]overview.Waiting{}
	for _, w := range l.waiting {
		k := key{w.Media, sqldb.ErrorPrint(w.Reason)}
		groups[k] = append(groups[k], w)
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(cmp.Compare(len(groups[b]), len(groups[a])), cmp.Compare(a.media, b.media),
			cmp.Compare(a.print, b.print))
	})
	for _, k := range keys {
		group := groups[k]
		a := item{Attention: client.Attention{Kind: "retry", Severity: Note, Media: k.media,
			Title:   plural.Count(len(group), "subtask waits", "subtasks wait") + " to be tried again",
			Cause:   sentence(group[0].Reason),
			AtLeast: len(l.waiting) == groupRowsMax, MoneyOf: "a day of these accounts",
			Remedy: "They are tried again automatically: " + next(group[0].Due, l.o.At) +
				". If the cause stays, they fail for good. To have them tried at once: adsync limits end-pause --media " +
				k.media + " --yes.", Command: "adsync subtasks due --state retrying --media " + k.media}}
		for _, w := range group {
			if w.AccountID != 0 {
				a.ids = append(a.ids, w.AccountID)
			}
		}
		a.count()
		l.add(a)
	}
	return nil
}
