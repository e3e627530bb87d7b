package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/store/results"
)

// lists returns the last pull of each list that is new, by account.
func (p *Published) lists(ctx context.Context) (map[int64][]pulledDay, error) {
	rows, err := p.coverage(ctx, "day = ?", day.Epoch)
	if err != nil {
		return nil, err
	}
	all := map[int64][]pulledDay{}
	for _, r := range rows {
		if r.State == results.Complete && p.known[r.covered()] != r.ClaimedVersion {
			all[r.AccountID] = append(all[r.AccountID], r)
		}
	}
	return all, nil
}

// listName is the name of a platform's list of objects in coverage.
func (w world) listName(o objects) string { return strings.TrimPrefix(o.table, w.media+"_") }

// compareList compares the objects of a list that is pulled by changes. An object is right if it equals what its
// platform showed at one moment between the beginning and the end of the last pull, whichever pull wrote it.
func (p *Published) compareList(ctx context.Context, v *verifier, w world, a account, pull pulledDay) error {
	at := slices.IndexFunc(w.objects, func(o objects) bool { return w.listName(o) == pull.Report })
	if at < 0 || w.objects[at].modified == "" || (p.Shallow && w.objects[at].deep()) {
		return nil
	}
	o := w.objects[at]
	have, err := v.objectRows(ctx, o, a.id)
	if err != nil {
		return err
	}
	begin, _ := p.World(time.UnixMicro(pull.ClaimedVersion))
	_, end := p.World(pull.PulledAt.Add(time.Millisecond)) // The time in the row is cut to milliseconds.
	rows, wrong, edited, err := o.differences(ctx, v, w.media, a, have, end)
	if err != nil {
		return err
	}
	moments := []time.Time{begin}
	for _, moment := range edited {
		if moment.After(begin) && moment.Before(end) {
			moments = append(moments, moment) // The pull may have read only the first of two edits.
		}
	}
	for _, moment := range moments {
		if len(wrong) == 0 {
			break
		}
		_, then, _, err := o.differences(ctx, v, w.media, a, have, moment)
		if err != nil {
			return err
		}
		maps.DeleteFunc(wrong, func(u unit, _ string) bool { _, still := then[u]; return !still })
	}
	if len(wrong) > 0 {
		if changed, err := p.changed(ctx, []pulledDay{pull}); err != nil || changed {
			return err
		}
	}
	p.know([]pulledDay{pull})
	p.count(rows, wrong, a, o.level)
	return nil
}

// differences returns how many objects there are, in the truth of a moment or in addition to it, what is wrong with
// them, and when the wrong ones were last modified.
func (o objects) differences(ctx context.Context, v *verifier, media string, a account, have map[string]objectRow,
	at time.Time) (
	rows int, wrong map[unit]string, edited []time.Time, err error,
) {
	index := func(name string) int {
		return slices.IndexFunc(o.columns, func(c rawColumn) bool { return c.name == name })
	}
	modified, status := index(o.modified), index(o.status)
	wrong = map[unit]string{}
	known := map[string]bool{}
	query := truthQuery{media: media, kind: o.kind, account: a.externalID, at: strconv.FormatInt(at.UnixMilli(), 10)}
	err = readTruth(ctx, v.Client, v.Simulator, query, func(r truthRow) error {
		known[r.Object] = true
		if r.Unlisted {
			return nil // Only the nightly full pull finds that no list has it any longer.
		}
		u := unit{o.table, rowKey{object: r.Object}}
		row, ok := have[r.Object]
		if ok && row.values[modified] == o.columns[modified].want(r) {
			// A status may change without the object's time. Pulls of changes miss that; the nightly full pull finds it.
			row.values = slices.Clone(row.values)
			row.values[status] = o.columns[status].want(r)
		}
		judge(wrong, u, "object "+r.Object, ok, func(c *comparison) { o.compare(c, "object "+r.Object, row, r) })
		if _, is := wrong[u]; is {
			edited = append(edited, time.Unix(r.Modified, 0))
		}
		return nil
	})
	for id := range have {
		if !known[id] {
			wrong[unit{o.table, rowKey{object: id}}] = fmt.Sprintf("object %s is not in the truth", id)
			known[id] = true
		}
	}
	return len(known), wrong, edited, err
}
