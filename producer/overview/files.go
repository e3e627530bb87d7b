package overview

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"adsync/base/plural"
	"adsync/base/store/publishing"
	"adsync/client"
)

const (
	// filesSince is how far back failed report files are listed, and filesLate how long a file may wait for its delivery:
	// the times of the alerts AdsyncFilesFailed and AdsyncFilesLate.
	filesSince = 24 * time.Hour
	filesLate  = 30 * time.Minute
)

// fileItems lists the report files that do not arrive, and the destinations that cannot be used.
type fileItems struct {
	*facts

	store fileTables
}

// ofDestination is what the files of one destination are like.
type ofDestination struct {
	name         string
	failed, held int
	lateSince    time.Time // since when one waits for its delivery, if that is too long
}

func (l *fileItems) addFiles(ctx context.Context) error {
	destinations, err := l.store.Destinations(ctx)
	if err != nil || len(destinations) == 0 {
		return err
	}
	states, err := l.store.DestinationStates(ctx)
	if err != nil {
		return err
	}
	now := l.o.Business
	counts, err := l.store.FileCounts(ctx, now.Add(-filesSince), now)
	if err != nil {
		return err
	}
	of := map[string]*ofDestination{}
	for i := range destinations {
		of[destinations[i].Name] = &ofDestination{name: destinations[i].Name}
	}
	for i := range counts {
		if d := of[counts[i].Destination]; d != nil {
			d.add(&counts[i], now)
		}
	}
	for i := range destinations {
		d := of[destinations[i].Name]
		if state := states[d.name]; !state.DownSince.IsZero() {
			l.addDown(&state)
			d.lateSince = time.Time{} // It is the reason.
		}
		if err := l.addFailed(ctx, d); err != nil {
			return err
		}
		l.addWaiting(d, destinations[i].Enabled)
	}
	return nil
}

func (d *ofDestination) add(c *publishing.FileCount, now time.Time) {
	switch {
	case c.State == publishing.Failed:
		d.failed += c.Files
	case c.State == publishing.Waiting:
		d.held += c.Held
	case c.State.Open() && now.Sub(c.Oldest) > filesLate:
		if d.lateSince.IsZero() || c.Oldest.Before(d.lateSince) {
			d.lateSince = c.Oldest
		}
	}
}

// ago converts a moment of the business clock to one of the database's.
func (l *fileItems) ago(t time.Time) time.Time { return l.o.At.Add(-l.real(l.o.Business.Sub(t))) }

func (l *fileItems) addDown(state *publishing.DestinationState) {
	l.add(item{Attention: client.Attention{
		Kind: "destination", Severity: Warn, Title: "The destination " + state.Destination + " cannot be used",
		Cause: sentence(state.ErrorText), Since: l.ago(state.DownSince),
		Remedy: "Its files wait, and one of them tries it again every ten minutes or sooner. The command writes a small " +
			"file there, and names the step that fails.",
		Command: "adsync destinations check " + state.Destination,
	}})
}

func (l *fileItems) addFailed(ctx context.Context, d *ofDestination) error {
	if d.failed == 0 {
		return nil
	}
	newest, err := l.store.SearchFiles(ctx, publishing.Search{Destination: d.name, State: publishing.Failed, Limit: 1})
	if err != nil {
		return err
	}
	cause := ""
	if len(newest) > 0 {
		reason := cmp.Or(newest[0].ErrorText, "no reason is known")
		cause = sentence(fmt.Sprintf("The last one, %s: %s", newest[0].Part(), reason))
	}
	l.add(item{Attention: client.Attention{
		Kind: "files_failed", Severity: Bad,
		Title:   plural.Count(d.failed, "report file has", "report files have") + " not been delivered to " + d.name,
		Cause:   cause,
		Remedy:  "They are not tried again. Remove the cause, then deliver each again: adsync publications redeliver ID.",
		Command: "adsync publications list --state failed --destination " + d.name,
	}})
	return nil
}

func (l *fileItems) addWaiting(d *ofDestination, enabled bool) {
	if d.held > 0 {
		l.add(item{Attention: client.Attention{
			Kind: "files_held", Severity: Bad,
			Title: plural.Count(d.held, "report file", "report files") + " for " + d.name + " held at the latest moment",
			Cause: "Figures are missing that they wait for, and their subscriptions hold incomplete files.",
			Remedy: "They go out when the figures are there. To send them without, set at_latest of the subscription to " +
				"send. The command shows a figure that each waits for.",
			Command: "adsync publications list --state waiting --destination " + d.name,
		}})
	}
	if d.lateSince.IsZero() {
		return
	}
	cause := "The figures are there, and at least one file has not been published for half an hour."
	if !enabled {
		cause = "The destination is switched off."
	}
	l.add(item{Attention: client.Attention{
		Kind: "files_late", Severity: Warn,
		Title: "Report files for " + d.name + " are late", Cause: cause, Since: l.ago(d.lateSince),
		Remedy:  "The command shows how far each is, and its last error.",
		Command: "adsync publications list --destination " + d.name,
	}})
}
