package results

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"adsync/base/day"
	"adsync/base/metric"
)

// A day's digest is a number of its rows: of their keys, JSON and costs, of the account's currency and zone, and of the
// columns that rows have. A whole and believed pull of a day leaves it in coverage. The next such pull with the same
// digest would change no row, so it does not read them either. The number also has the version of the claim under which
// it was written: whatever claims the day afterwards makes it invalid, also a program that knows no digests.

// digester computes the digests of a pull's days.
type digester struct {
	hash  xxhash.Digest
	small [binary.MaxVarintLen64]byte
	basis uint64 // of what all rows have in common
}

func newDigester(w *ReportWrite) *digester {
	d := &digester{}
	d.hash.Reset()
	d.text(w.Currency)
	d.text(w.Zone)
	for _, c := range w.Raw.Columns {
		d.text(c.Name)
	}
	for _, name := range ReportTable(w.Hourly).Columns {
		d.text(name)
	}
	d.basis = d.hash.Sum64()
	return d
}

// number adds a number to the hash. It is as long as its value needs.
func (d *digester) number(n int64) {
	d.hash.Write(d.small[:binary.PutVarint(d.small[:], n)]) //nolint:errcheck // It returns none.
}

func (d *digester) text(s string) {
	d.number(int64(len(s)))
	d.hash.WriteString(s) //nolint:errcheck // It returns none.
}

// row returns the digest of a row, without its day. That of a day is the sum of its rows', because answers have no
// order.
func (d *digester) row(r *ReportRow) uint64 {
	d.hash.ResetWithSeed(d.basis)
	d.text(r.Object)
	d.number(int64(r.Hour))
	cost, _ := r.Metrics.Get(metric.Cost)
	d.number(cost)
	d.text(r.JSON)
	return d.hash.Sum64()
}

// digestAt returns a digest as coverage has it after a claim with a version.
func digestAt(digest uint64, version int64) int64 {
	return int64(digest) ^ version //nolint:gosec // Any number will do.
}

// compareDigests computes the digests of a pull's days, and leaves in toRead those whose stored rows must be read. The
// rows of the others are known: they are those of the pull.
func (p *reportPull) compareDigests() {
	p.toRead = p.Days
	if !p.Whole || p.FromHour > 0 {
		return // It leaves no digest.
	}
	digester := newDigester(&p.ReportWrite)
	digests, costs := make(map[day.Day]uint64, len(p.Days)), make(map[day.Day]int64, len(p.Days))
	for i := range p.Rows {
		if row := &p.Rows[i]; p.stored.rows[row.key(p.Hourly)] == i {
			cost, _ := row.Metrics.Get(metric.Cost)
			digests[row.Day] += digester.row(row)
			costs[row.Day] += cost
		}
	}
	p.toRead = nil
	known := make(map[day.Day]bool, len(p.Days))
	for i := range p.outcomes {
		o, before := &p.outcomes[i], &p.before[i]
		digest := digester.basis + digests[o.day]
		o.digest = &digest
		if p.Compare || before.Digest == nil || *before.Digest != digestAt(digest, before.ClaimedVersion) {
			p.toRead = append(p.toRead, o.day)
			continue
		}
		known[o.day] = true
		p.stored.costs[o.day] = costs[o.day]
	}
	for i := range p.Rows {
		if known[p.Rows[i].Day] {
			p.stored.same[i], p.stored.shown[i] = true, true
		}
	}
}
