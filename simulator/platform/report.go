package platform

import (
	"cmp"
	"slices"

	"adsync/simulator/world"
)

// Grouping is by what the rows of a report are kept apart. An hour is one of its day: hour implies day.
type Grouping struct {
	Day, Hour, Object, Ad, Material, Mode, Project, Site bool
}

type groupedBy struct {
	day, hour int
	object    int64
	ad        int64
	material  int64
	mode      string
	project   int64
	site      string
}

// Apply adds up the rows that fall together. What is not grouped by means nothing in the result.
func (g Grouping) Apply(rows []world.Row, l world.Level) []world.Row {
	if g.Day && (g.Object || l == world.LevelAccount) {
		return rows // they are apart already: no report by the hour is grouped by the day alone
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

// Order is one thing that rows are sorted by.
type Order struct {
	Compare func(a, b *world.Row) int
	Desc    bool
}

// Sorted lists the rows by all of the orders, and leaves what they do not tell apart as it was. Rows are large: what
// moves is pointers to them, and nothing does if the order is the one that rows are made in.
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

// ByObject orders rows by what they are about.
func ByObject(a, b *world.Row) int { return cmp.Compare(a.Object, b.Object) }

// ByMetric orders rows by a figure.
func ByMetric(m world.Metric) func(a, b *world.Row) int {
	return func(a, b *world.Row) int { return cmp.Compare(a.Figures[m], b.Figures[m]) }
}

// ByRatio orders rows by what is calculated from their figures.
func ByRatio(of func(*world.Figures) float64) func(a, b *world.Row) int {
	return func(a, b *world.Row) int { return cmp.Compare(of(&a.Figures), of(&b.Figures)) }
}

// Ratio is a/b, and 0 where there is nothing to divide by, as the platforms show it.
func Ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Each is what one of b costs, in whole fen, rounded.
func Each(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return (a + b/2) / b
}
