package simulator

import (
	"cmp"
	"slices"
	"strconv"
)

// What an alteration can touch.
const (
	AlterValue    = "value"    // one metric or property of one row differs
	AlterRow      = "row"      // one row is missing, or is there again under another id
	AlterPage     = "page"     // up to 100 neighbouring rows of a list or report are missing
	AlterAccount  = "account"  // all report rows of an account at a level are missing, or another account's
	AlterDay      = "day"      // all report rows of an account, level and day are missing
	AlterHour     = "hour"     // the same for an hour
	AlterDeletion = "deletion" // a live object is served as deleted, or a deleted one as live
)

// Effects of an alteration.
const (
	effectChanged    = "changed"
	effectMissing    = "missing"
	effectDuplicated = "duplicated"
	effectSwapped    = "swapped"
	effectDeleted    = "served as deleted"
	effectLive       = "served as live"
)

// What rows an alteration is about.
const (
	ofReport = "report"
	ofConfig = "config"
)

const pageRows = 100

// Alteration says exactly what is served differently from the truth. It changes nothing in the truth, and everything
// served agrees with it: totals, page counts, sums. It does not move with time: what it names stays altered.
type Alteration struct {
	What   string `json:"what"`
	Seed   uint64 `json:"seed"`
	Of     string `json:"of,omitempty"` // report or config
	Effect string `json:"effect,omitempty"`

	Media       string `json:"media,omitempty"`
	Account     string `json:"account,omitempty"`
	Level       string `json:"level,omitempty"`       // of reports: account or ad
	Granularity string `json:"granularity,omitempty"` // of reports: daily or hourly; both when empty
	Day         string `json:"day,omitempty"`
	Hour        *int   `json:"hour,omitempty"`
	Object      string `json:"object,omitempty"`
	Field       string `json:"field,omitempty"`

	Was          string      `json:"was,omitempty"`           // the value, when it was ordered, in the unit of the truth
	Served       string      `json:"served,omitempty"`        // what was served from then on
	Delta        int64       `json:"delta,omitempty"`         // of numbers, in the unit of the truth: added to what is true at any time
	OtherObject  string      `json:"other_object,omitempty"`  // the id a duplicate goes by
	OtherAccount string      `json:"other_account,omitempty"` // whose rows are served, and who gets this account's
	Rows         []AlterKey  `json:"rows,omitempty"`          // which rows are missing, for a page
	RowCount     int         `json:"row_count,omitempty"`     // how many rows it touched when it was ordered
	compiled     compiledKey // of the fields above, for speed
}

// AlterKey names one row.
type AlterKey struct {
	Day    string `json:"day,omitempty"`
	Hour   *int   `json:"hour,omitempty"`
	Object string `json:"object,omitempty"`
}

type rowKey struct {
	day, hour int
	object    int64
}

type compiledKey struct {
	rowKey
	other   int64
	field   metric
	gone    map[rowKey]bool
	partner account
}

// alterations finds what is altered of an account; it is built anew when one is ordered or taken back.
type alterations struct {
	byAccount map[accountKey][]*Alteration
}

func compileAlterations(w *world, list []*Alteration) *alterations {
	all := &alterations{byAccount: map[accountKey][]*Alteration{}}
	for _, kept := range list {
		x := new(*kept)
		p := w.spec(x.Media)
		if p == nil {
			continue
		}
		a, ok := w.lookupText(p, x.Account)
		if !ok {
			continue
		}
		x.compile()
		if x.Effect == effectSwapped {
			partner, ok := w.lookupText(p, x.OtherAccount)
			if !ok {
				continue
			}
			x.compiled.partner = partner
			back := new(*x)
			back.compiled.partner = a
			all.byAccount[partner.mapKey()] = append(all.byAccount[partner.mapKey()], back)
		}
		all.byAccount[a.mapKey()] = append(all.byAccount[a.mapKey()], x)
	}
	if len(all.byAccount) == 0 {
		return nil
	}
	return all
}

func (x *Alteration) compile() {
	x.compiled.rowKey = AlterKey{x.Day, x.Hour, x.Object}.key()
	x.compiled.other, _ = strconv.ParseInt(x.OtherObject, 10, 64)
	if m := slices.Index(metricNames[:], x.Field); m >= 0 {
		x.compiled.field = metric(m)
	}
	x.compiled.gone = map[rowKey]bool{}
	for _, k := range x.Rows {
		x.compiled.gone[k.key()] = true
	}
}

func (k AlterKey) key() rowKey {
	r := rowKey{hour: noHour}
	if k.Day != "" {
		r.day, _ = parseDay(k.Day)
	}
	if k.Hour != nil {
		r.hour = *k.Hour
	}
	r.object, _ = strconv.ParseInt(k.Object, 10, 64)
	return r
}

// concerns tells whether an alteration is about the rows of a scope.
func (x *Alteration) concerns(s scope) bool {
	return x.Of == ofReport && x.Level == s.level.String() &&
		(x.Granularity == "" || (x.Granularity == "hourly") == s.hourly)
}

// rows makes an account's report rows as they are served.
func (t *alterations) Rows(v *view, a *account, s scope) []row {
	list := t.byAccount[a.mapKey()]
	source := a
	for _, x := range list {
		if x.Effect == effectSwapped && x.concerns(s) {
			source = &x.compiled.partner
		}
	}
	rows := v.trueRows(source, s)
	for _, x := range list {
		if x.Effect != effectSwapped && x.concerns(s) {
			rows = x.alterRows(rows)
		}
	}
	return rows
}

func (x *Alteration) alterRows(rows []row) []row {
	at := x.compiled.rowKey
	switch {
	case x.What == AlterValue:
		for i := range rows {
			if rows[i].key() == at {
				delta := x.Delta
				if x.compiled.field.isMoney() {
					delta /= microsPerFen
				}
				rows[i].figures[x.compiled.field] += delta
			}
		}
		return rows
	case x.Effect == effectDuplicated:
		for _, r := range rows {
			if r.key() == at {
				r.object = x.compiled.other
				rows = append(rows, r)
				break
			}
		}
		slices.SortStableFunc(rows, compareRows)
		return rows
	default:
		return slices.DeleteFunc(rows, func(r row) bool { return x.hides(r.key()) })
	}
}

// hides tells whether a row is missing.
func (x *Alteration) hides(k rowKey) bool {
	at := x.compiled.rowKey
	switch x.What {
	case AlterRow:
		return k == at
	case AlterPage:
		return x.compiled.gone[k]
	case AlterDay:
		return k.day == at.day
	case AlterHour:
		return k.day == at.day && k.hour == at.hour
	default:
		return x.What == AlterAccount
	}
}

func (r *row) key() rowKey { return rowKey{r.day, r.hour, r.object} }

func compareRows(a, b row) int {
	return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.hour, b.hour), cmp.Compare(a.object, b.object))
}

// objects makes an account's configuration as it is served.
func (t *alterations) Objects(v *view, a *account) []object {
	list := v.trueObjects(a)
	for _, x := range t.byAccount[a.mapKey()] {
		if x.Of == ofConfig {
			list = x.alterObjects(list)
		}
	}
	return list
}

func (x *Alteration) alterObjects(list []object) []object {
	at := x.compiled.object
	switch {
	case x.What == AlterPage:
		return slices.DeleteFunc(list, func(o object) bool { return x.compiled.gone[rowKey{hour: noHour, object: o.id}] })
	case x.Effect == effectMissing:
		return slices.DeleteFunc(list, func(o object) bool { return o.id == at })
	case x.Effect == effectDuplicated:
		for _, o := range list {
			if o.id == at {
				o.id = x.compiled.other
				list = append(list, o)
				break
			}
		}
		slices.SortStableFunc(list, func(a, b object) int { return cmp.Compare(a.id, b.id) })
		return list
	}
	for i := range list {
		if list[i].id == at {
			x.alterObject(&list[i])
		}
	}
	return list
}

func (x *Alteration) alterObject(o *object) {
	switch {
	case x.Effect == effectDeleted:
		o.status = statusDeleted
	case x.Effect == effectLive:
		o.status = statusPaused
	case x.Field == "name":
		o.name = x.Served
	case x.Field == "budget":
		o.budget += x.Delta / microsPerFen
	case x.Field == "bid":
		o.bid += x.Delta / microsPerFen
	case x.Field == "status":
		// An ad that its owner pauses or resumes later is still served as the opposite.
		switch o.status {
		case statusActive:
			o.status = statusPaused
		case statusPaused:
			o.status = statusActive
		}
	}
}
