package simulator

import (
	"cmp"
	"slices"
)

// grouping is by what the rows of a report are kept apart. An hour is one of its day: hour implies day.
type grouping struct {
	day, hour, object, ad, material, mode, project, site bool
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

// apply adds up the rows that fall together. What is not grouped by means nothing in the result.
func (g grouping) apply(rows []row, l level) []row {
	if g.day && (g.object || l == levelAccount) {
		return rows // they are apart already: no report by the hour is grouped by the day alone
	}
	at := make(map[groupedBy]int, len(rows))
	result := make([]row, 0, len(rows))
	for i := range rows {
		r := rows[i]
		var k groupedBy
		if g.day {
			k.day = r.day
		}
		if g.hour {
			k.hour = r.hour
		}
		if g.object {
			k.object = r.object
		}
		if g.ad {
			k.ad = r.adID()
		}
		if g.material && r.creative != nil {
			k.material = r.creative.material
		}
		if g.mode && r.creative != nil {
			k.mode = r.creative.mode
		}
		if g.project && r.ad != nil {
			k.project = r.ad.project
		}
		if g.site && r.ad != nil {
			k.site = r.ad.site()
		}
		n, ok := at[k]
		if !ok {
			at[k] = len(result)
			result = append(result, r)
			continue
		}
		result[n].add(&r.figures)
	}
	return result
}

// sum adds up all rows.
func sum(rows []row) (total figures) {
	for i := range rows {
		total.add(&rows[i].figures)
	}
	return total
}

// order is one thing that rows are sorted by.
type order struct {
	compare func(a, b *row) int
	desc    bool
}

// sorted lists the rows by all of the orders, and leaves what they do not tell apart as it was. Rows are large: what
// moves is pointers to them, and nothing does if the order is the one that rows are made in.
func sorted(rows []row, by []order) []*row {
	list := make([]*row, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	compare := func(a, b *row) int {
		for _, o := range by {
			if c := o.compare(a, b); c != 0 {
				if o.desc {
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

func byDay(a, b *row) int    { return cmp.Compare(a.day, b.day) }
func byHour(a, b *row) int   { return cmp.Compare(a.hour, b.hour) }
func byAd(a, b *row) int     { return cmp.Compare(a.adID(), b.adID()) }
func byObject(a, b *row) int { return cmp.Compare(a.object, b.object) }

func byMetric(m metric) func(a, b *row) int {
	return func(a, b *row) int { return cmp.Compare(a.figures[m], b.figures[m]) }
}

func byRatio(of func(*figures) float64) func(a, b *row) int {
	return func(a, b *row) int { return cmp.Compare(of(&a.figures), of(&b.figures)) }
}

// ratio is a/b, and 0 where there is nothing to divide by, as the platforms show it.
func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// each is what one of b costs, in whole fen, rounded.
func each(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return (a + b/2) / b
}
