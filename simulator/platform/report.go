package platform

import (
	"cmp"
	"slices"

	"adsync/simulator/world"
)

// Grouping is the key of a report's rows. An hour belongs to its day: hour implies day.
type Grouping struct {
	Day, Hour, Object, Ad, Material, Mode, Project, Site, Union bool
}

type groupedBy struct {
	day, hour int
	object    int64
	ad        int64
	material  int64
	mode      string
	project   int64
	site      string
	union     bool
}

// Apply adds up rows with the same key. Fields outside of the grouping have no meaning in the result.
func (g Grouping) Apply(rows []world.Row, l world.Level) []world.Row {
	if g.Day && (g.Object || l == world.LevelAccount) {
		return rows // the keys are distinct already: no hourly report is grouped by day only
	}
	at := make(map[groupedBy]int, len(rows))
	result := make([]world.Row, 0, len(rows))
	for i := range rows {
		r := rows[i]
		var k groupedBy
		if g.Day {
			k.day = r.Day
		}
		if g.Hour {
			k.hour = r.Hour
		}
		if g.Object {
			k.object = r.Object
		}
		if g.Ad {
			k.ad = r.AdID()
		}
		if g.Material && r.Creative != nil {
			k.material = r.Creative.Material
		}
		if g.Mode && r.Creative != nil {
			k.mode = r.Creative.Mode
		}
		if g.Project && r.Ad != nil {
			k.project = r.Ad.Project
		}
		if g.Site && r.Ad != nil {
			k.site = r.Ad.Site()
		}
		if g.Union && r.Ad != nil {
			k.union = r.Ad.InUnion()
		}
		n, ok := at[k]
		if !ok {
			at[k] = len(result)
			result = append(result, r)
			continue
		}
		result[n].Add(&r.Figures)
	}
	return result
}

// Sum adds up all rows.
func Sum(rows []world.Row) (total world.Figures) {
	for i := range rows {
		total.Add(&rows[i].Figures)
	}
	return total
}

// Order is one criterion for sorting rows.
type Order struct {
	Compare func(a, b *world.Row) int
	Desc    bool
}

// Sorted returns pointers to the rows, sorted stably by all of the orders. Rows are large, so only pointers move, and
// none if the rows are in this order already.
func Sorted(rows []world.Row, by []Order) []*world.Row {
	list := make([]*world.Row, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	compare := func(a, b *world.Row) int {
		for _, o := range by {
			if c := o.Compare(a, b); c != 0 {
				if o.Desc {
					return -c
				}
				return c
			}
		}
		return 0
	}
	if !slices.IsSortedFunc(list, compare) {
		slices.SortStableFunc(list, compare)
	}
	return list
}

// ByDay orders rows by their day.
func ByDay(a, b *world.Row) int { return cmp.Compare(a.Day, b.Day) }

// ByHour orders rows by their hour.
func ByHour(a, b *world.Row) int { return cmp.Compare(a.Hour, b.Hour) }

// ByAd orders rows by their ad.
func ByAd(a, b *world.Row) int { return cmp.Compare(a.AdID(), b.AdID()) }

// ByObject orders rows by their object.
func ByObject(a, b *world.Row) int { return cmp.Compare(a.Object, b.Object) }

// ByMetric orders rows by a figure.
func ByMetric(m world.Metric) func(a, b *world.Row) int {
	return func(a, b *world.Row) int { return cmp.Compare(a.Figures[m], b.Figures[m]) }
}

// ByRatio orders rows by a ratio of their figures.
func ByRatio(of func(*world.Figures) float64) func(a, b *world.Row) int {
	return func(a, b *world.Row) int { return cmp.Compare(of(&a.Figures), of(&b.Figures)) }
}

// Ratio returns a/b, or 0 if b is 0, as the platforms show it.
func Ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Each returns the cost of one of b, rounded to whole fen.
func Each(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return (a + b/2) / b
}
