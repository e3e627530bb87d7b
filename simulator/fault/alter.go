package fault

import (
	"cmp"
	"slices"
	"strconv"

	"adsync/simulator/world"
)

// The kinds of alterations.
const (
	AlterValue    = "value"    // one metric or property of one row differs
	AlterRow      = "row"      // one row is missing, or repeated under another id
	AlterPage     = "page"     // up to 100 neighbouring rows of a list or report are missing
	AlterAccount  = "account"  // all report rows of an account at a level are missing, or another account's
	AlterDay      = "day"      // all report rows of an account, level and day are missing
	AlterHour     = "hour"     // all report rows of an account, level and hour are missing
	AlterUnit     = "unit"     // the money in all report rows of an account at a level is a hundred times as high
	AlterDeletion = "deletion" // a live object is served as deleted, or a deleted one as live
)

// Effects of an alteration.
const (
	EffectChanged    = "changed"
	EffectMissing    = "missing"
	effectDuplicated = "duplicated"
	effectSwapped    = "swapped"
	effectDeleted    = "served as deleted"
	effectLive       = "served as live"
)

// The kinds of rows that an alteration concerns.
const (
	OfReport = "report"
	OfConfig = "config"
)

const pageRows = 100

// fensOfYuan is by how much money is off where the one is taken for the other.
const fensOfYuan = 100

// Alteration describes exactly what is served differently from the truth. The truth does not change, and all served
// data are consistent with the alteration: totals, page counts, sums. It does not depend on time: the named rows stay
// altered.
type Alteration struct {
	What   string `json:"what"`
	Seed   uint64 `json:"seed"`
	Of     string `json:"of,omitempty"` // report or config
	Effect string `json:"effect,omitempty"`

	Media       string `json:"media,omitempty"`
	Account     string `json:"account,omitempty"`
	Level       string `json:"level,omitempty"`       // for reports: account or ad
	Granularity string `json:"granularity,omitempty"` // for reports: daily or hourly; both when empty
	Day         string `json:"day,omitempty"`
	Hour        *int   `json:"hour,omitempty"`
	Object      string `json:"object,omitempty"`
	Field       string `json:"field,omitempty"`

	Was    string `json:"was,omitempty"`    // the true value at the time of the order, in the unit of the truth
	Served string `json:"served,omitempty"` // the value served from then on
	// for numbers, in the unit of the truth: added to the true value at any time
	Delta        int64       `json:"delta,omitempty"`
	OtherObject  string      `json:"other_object,omitempty"`  // the id of a duplicate
	OtherAccount string      `json:"other_account,omitempty"` // the account whose rows are swapped with this account's
	Rows         []AlterKey  `json:"rows,omitempty"`          // the missing rows, for a page
	RowCount     int         `json:"row_count,omitempty"`     // how many rows it concerned at the time of the order
	compiled     compiledKey // of the fields above, for speed
}

// AlterKey identifies one row.
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
	field   world.Metric
	gone    map[rowKey]bool
	partner world.Account
}

// alterations finds the alterations of an account; it is rebuilt when one is ordered or removed.
type alterations struct {
	byAccount map[world.AccountKey][]*Alteration
}

func compileAlterations(w *world.World, list []*Alteration) *alterations {
	all := &alterations{byAccount: map[world.AccountKey][]*Alteration{}}
	for _, kept := range list {
		x := new(*kept)
		p := w.Spec(x.Media)
		if p == nil {
			continue
		}
		a, ok := w.LookupText(p, x.Account)
		if !ok {
			continue
		}
		x.compile()
		if x.Effect == effectSwapped {
			partner, ok := w.LookupText(p, x.OtherAccount)
			if !ok {
				continue
			}
			x.compiled.partner = partner
			back := new(*x)
			back.compiled.partner = a
			all.byAccount[partner.MapKey()] = append(all.byAccount[partner.MapKey()], back)
		}
		all.byAccount[a.MapKey()] = append(all.byAccount[a.MapKey()], x)
	}
	if len(all.byAccount) == 0 {
		return nil
	}
	return all
}

func (x *Alteration) compile() {
	x.compiled.rowKey = AlterKey{x.Day, x.Hour, x.Object}.key()
	x.compiled.other, _ = strconv.ParseInt(x.OtherObject, 10, 64)
	if m := slices.Index(world.MetricNames[:], x.Field); m >= 0 {
		x.compiled.field = world.Metric(m)
	}
	x.compiled.gone = map[rowKey]bool{}
	for _, k := range x.Rows {
		x.compiled.gone[k.key()] = true
	}
}

func (k AlterKey) key() rowKey {
	r := rowKey{hour: world.NoHour}
	if k.Day != "" {
		r.day, _ = world.ParseDay(k.Day)
	}
	if k.Hour != nil {
		r.hour = *k.Hour
	}
	r.object, _ = strconv.ParseInt(k.Object, 10, 64)
	return r
}

// concerns reports whether an alteration concerns the rows of a scope.
func (x *Alteration) concerns(s world.Scope) bool {
	return x.Of == OfReport && x.Level == s.Level.String() &&
		(x.Granularity == "" || (x.Granularity == "hourly") == s.Hourly)
}

// Rows returns an account's report rows as served.
func (t *alterations) Rows(v *world.View, a *world.Account, s world.Scope) []world.Row {
	list := t.byAccount[a.MapKey()]
	source := a
	for _, x := range list {
		if x.Effect == effectSwapped && x.concerns(s) {
			source = &x.compiled.partner
		}
	}
	rows := v.TrueRows(source, s)
	for _, x := range list {
		if x.Effect != effectSwapped && x.concerns(s) {
			rows = x.alterRows(rows, a.Calendar)
		}
	}
	return rows
}

func (x *Alteration) alterRows(rows []world.Row, of *world.Calendar) []world.Row {
	at := x.compiled.rowKey
	switch {
	case x.What == AlterValue:
		for i := range rows {
			if keyOfRow(&rows[i]) == at {
				delta := x.Delta
				if x.compiled.field.IsMoney() {
					delta /= of.Smallest()
				}
				rows[i].Figures[x.compiled.field] += delta
			}
		}
		return rows
	case x.What == AlterUnit:
		for i := range rows {
			for m := range rows[i].Figures {
				if world.Metric(m).IsMoney() {
					rows[i].Figures[m] *= fensOfYuan
				}
			}
		}
		return rows
	case x.Effect == effectDuplicated:
		for _, r := range rows {
			if keyOfRow(&r) == at {
				r.Object = x.compiled.other
				rows = append(rows, r)
				break
			}
		}
		slices.SortStableFunc(rows, CompareRows)
		return rows
	default:
		return slices.DeleteFunc(rows, func(r world.Row) bool { return x.hides(keyOfRow(&r)) })
	}
}

// hides reports whether a row is missing.
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

func keyOfRow(r *world.Row) rowKey { return rowKey{r.Day, r.Hour, r.Object} }

// CompareRows orders rows by day, hour and object.
func CompareRows(a, b world.Row) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Object, b.Object))
}

// Objects returns an account's configuration as served.
func (t *alterations) Objects(v *world.View, a *world.Account) []world.Object {
	list := v.TrueObjects(a)
	for _, x := range t.byAccount[a.MapKey()] {
		if x.Of == OfConfig {
			list = x.alterObjects(list, a.Calendar)
		}
	}
	return list
}

func (x *Alteration) alterObjects(list []world.Object, of *world.Calendar) []world.Object {
	at := x.compiled.object
	switch {
	case x.What == AlterPage:
		return slices.DeleteFunc(list,
			func(o world.Object) bool { return x.compiled.gone[rowKey{hour: world.NoHour, object: o.ID}] })
	case x.Effect == EffectMissing:
		return slices.DeleteFunc(list, func(o world.Object) bool { return o.ID == at })
	case x.Effect == effectDuplicated:
		for _, o := range list {
			if o.ID == at {
				o.ID = x.compiled.other
				list = append(list, o)
				break
			}
		}
		slices.SortStableFunc(list, func(a, b world.Object) int { return cmp.Compare(a.ID, b.ID) })
		return list
	}
	for i := range list {
		if list[i].ID == at {
			x.alterObject(&list[i], of)
		}
	}
	return list
}

func (x *Alteration) alterObject(o *world.Object, of *world.Calendar) {
	switch {
	case x.Effect == effectDeleted:
		o.Status = world.StatusDeleted
	case x.Effect == effectLive:
		o.Status = world.StatusPaused
	case x.Field == "name":
		o.Name = x.Served
	case x.Field == "budget":
		o.Budget += x.Delta / of.Smallest()
	case x.Field == "bid":
		o.Bid += x.Delta / of.Smallest()
	case x.Field == "status":
		// An ad that its owner pauses or resumes later is still served as the opposite.
		switch o.Status {
		case world.StatusActive:
			o.Status = world.StatusPaused
		case world.StatusPaused:
			o.Status = world.StatusActive
		}
	}
}
