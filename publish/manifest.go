package publish

import (
	"context"
	"encoding/json"
	"path"
	"time"
)

// Manifest describes a delivered file, in a file with its name and ".manifest.json".
type Manifest struct {
	Subscription string          `json:"subscription"`
	File         string          `json:"file"` // its name without the directory
	From         string          `json:"from"`
	To           string          `json:"to"`
	Revision     int             `json:"revision"`
	Rows         int64           `json:"rows"`
	Columns      int             `json:"columns"`
	Bytes        int64           `json:"bytes"`
	SHA256       string          `json:"sha256"`
	Incomplete   bool            `json:"incomplete"`
	Missing      json.RawMessage `json:"missing,omitempty"`
	RenderedAt   time.Time       `json:"rendered_at"`
}

// manifestSuffix ends the names of manifests.
const manifestSuffix = ".manifest.json"

func (d *delivery) writeManifest(ctx context.Context) error {
	m := Manifest{
		Subscription: d.p.Subscription, File: path.Base(d.p.Name), From: string(d.p.FromDay), To: string(d.p.ToDay),
		Revision: d.p.Revision, Rows: *d.p.RowCount, Columns: *d.p.ColumnCount, Bytes: *d.p.ByteSize, SHA256: d.p.SHA256,
		Incomplete: d.p.Incomplete, RenderedAt: d.p.RenderedAt.UTC(),
	}
	if d.p.Missing != "" {
		m.Missing = json.RawMessage(d.p.Missing)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f := fileOf(d.p.Name+manifestSuffix, d.p.Delivery, append(text, '\n'))
	token, err := d.place.Upload(ctx, f, func(string) error { return nil })
	if err != nil {
		return err
	}
	if err := d.place.Verify(ctx, f, token, d.s.Verify == verifyReadback); err != nil {
		return err
	}
	if err := d.place.Discard(ctx, f.Name, f.Delivery); err != nil {
		return err
	}
	return d.place.Reveal(ctx, f, token, true)
}
