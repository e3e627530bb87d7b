package show

import (
	"fmt"
	"io"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Publications prints report files.
var Publications = List[client.Publication]{
	Rows:    "publications",
	none:    "There are no such files.",
	more:    moreBy("--subscription, --state …"),
	columns: publicationColumns,
}

var publicationColumns = columns[client.Publication]{
	{"FILE", func(p *client.Publication) any { return p.ID }},
	{"SUBSCRIPTION", func(p *client.Publication) any { return p.Subscription }},
	{"PERIOD", func(p *client.Publication) any { return period(p) }},
	{"REVISION", func(p *client.Publication) any { return p.Revision }},
	{"STATE", func(p *client.Publication) any { return publicationState(p) }},
	{"ROWS", func(p *client.Publication) any { return known(p.Rows) }},
	{"BYTES", func(p *client.Publication) any { return known(p.Bytes) }},
	{"PUBLISHED", func(p *client.Publication) any { return p.PublishedAt }},
	{"NAME", func(p *client.Publication) any { return p.Name }},
	{"NOTE", func(p *client.Publication) any { return p.Error }},
}

// Publication prints one report file, with the figures that it lacks.
func Publication(w io.Writer, p *client.Publication) error {
	t := table.New(w)
	t.Pairs("file", p.ID, "subscription", p.Subscription, "period", period(p), "revision", p.Revision,
		"sequence", p.Sequence, "state", publicationState(p))
	if p.Error != "" {
		t.Pairs("note", table.Whole(p.Error))
	}
	t.Pairs("destination", p.Destination, "name", table.Whole(p.Name), "customer", p.Customer, "rows", known(p.Rows),
		"columns", known(p.Columns), "bytes", known(p.Bytes), "sha256", p.Sha256, "lane", p.Lane, "run", p.RunID)
	t.Pairs("due", p.DueAt, "waits until", p.LatestAt, "planned", p.PlannedAt, "rendered", p.RenderedAt, "uploaded",
		p.UploadedAt, "verified", p.VerifiedAt, "visible", p.VisibleAt, "published", p.PublishedAt,
		"compared at", p.CompareAt, "corrected until", p.CorrectUntil,
		"webhook at", p.WebhookAt, "webhook error", table.Whole(p.WebhookError))
	if err := t.Flush(); err != nil || len(p.Missing) == 0 {
		return err
	}
	fmt.Fprintln(w, "\nFigures that were missing when it was made:")
	return missingColumns.print(w, p.Missing)
}

var missingColumns = columns[client.MissingFigures]{
	{"MEDIA", func(m *client.MissingFigures) any { return m.Media }},
	{"ACCOUNT", func(m *client.MissingFigures) any { return m.AccountID }},
	{"REPORT", func(m *client.MissingFigures) any { return m.Report }},
	{"LEVEL", func(m *client.MissingFigures) any { return m.Level }},
	{"FROM", func(m *client.MissingFigures) any { return m.From }},
	{"TO", func(m *client.MissingFigures) any { return m.To }},
	{"WHY", func(m *client.MissingFigures) any { return m.Why }},
	{"PARKED", func(m *client.MissingFigures) any { return yesOrNo(m.Parked) }},
}

// OrderedPublications prints the files of an order, or those that an order would make.
func OrderedPublications(w io.Writer, o *client.OrderedPublications) error {
	if err := orderedColumns.print(w, o.Publications); err != nil {
		return err
	}
	n := plural.Count(len(o.Publications), "file", "files")
	if !o.Ordered {
		_, err := fmt.Fprintf(w, "\nIt would be %s. Nothing was ordered.\n", n)
		return err
	}
	_, err := fmt.Fprintf(w, "\nOrdered %s.\n", n)
	return err
}

var orderedColumns = columns[client.Publication]{
	{"SUBSCRIPTION", func(p *client.Publication) any { return p.Subscription }},
	{"PERIOD", func(p *client.Publication) any { return period(p) }},
	{"REVISION", func(p *client.Publication) any { return p.Revision }},
	{"STATE", func(p *client.Publication) any { return p.State }},
	{"NAME", func(p *client.Publication) any { return p.Name }},
}

// ChangedPublication returns a function that prints a file after an action. done is the verb: "Cancelled" or "Ordered
// again".
func ChangedPublication(done string) func(io.Writer, *client.Publication) error {
	return func(w io.Writer, p *client.Publication) error {
		_, err := fmt.Fprintf(w, "%s: revision %d of %s for %s, %s.\n", done, p.Revision, table.Plain(p.Subscription),
			period(p), table.Plain(p.Name))
		return err
	}
}

// period is the days of a file.
func period(p *client.Publication) string {
	if p.From == p.To {
		return table.Clean(p.From)
	}
	return table.Clean(p.From + " to " + p.To)
}

func publicationState(p *client.Publication) string {
	if p.Incomplete {
		return string(p.State) + ", incomplete"
	}
	return string(p.State)
}

// known is a number, or a dash where there is none yet.
func known(n *int64) any {
	if n == nil {
		return ""
	}
	return *n
}
