package simulator

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Operators of a report's conditions.
const (
	oceanEqual       = 1
	oceanLess        = 2
	oceanLessEqual   = 3
	oceanMore        = 4
	oceanMoreEqual   = 5
	oceanNotEqual    = 6
	oceanContains    = 7
	oceanContainsNot = 8
	oceanRange       = 9
	oceanAnyOf       = 10
)

// oceanFilter is a condition of a custom report, on one of its dimensions or metrics.
type oceanFilter struct {
	Field    string   `json:"field"`
	Type     int      `json:"type"`
	Operator int      `json:"operator"`
	Values   []string `json:"values"`

	dimension *oceanDimension
	metric    *oceanMetric
	numbers   []int64 // of a metric's values, in the unit of the metric
}

func (o *oceanEngine) reportFilters(c *call, q *oceanQuery, dimensions []oceanDimension) *apiError {
	found, err := o.decode(c, "filters", &q.filters)
	if err != nil {
		return err
	}
	if !found {
		return failure(40000, "filters is missing: send [] for none")
	}
	for i := range q.filters {
		if err := q.filters[i].resolve(c, q, dimensions); err != nil {
			return err
		}
	}
	return nil
}

// resolve finds what a condition is about: any dimension or metric of the topic, chosen or not.
func (f *oceanFilter) resolve(c *call, q *oceanQuery, dimensions []oceanDimension) *apiError {
	if i := slices.IndexFunc(dimensions, func(d oceanDimension) bool { return d.name == f.Field }); i >= 0 {
		f.dimension = &dimensions[i]
	} else {
		f.metric = oceanMetricOf(c, f.Field)
	}
	allowed := []int{oceanEqual, oceanNotEqual, oceanContains, oceanContainsNot, oceanAnyOf}
	values := 1
	if f.metric != nil {
		allowed = []int{oceanEqual, oceanLess, oceanLessEqual, oceanMore, oceanMoreEqual, oceanNotEqual, oceanRange}
		if f.Operator == oceanRange {
			values = 2
		}
	}
	switch {
	case f.dimension == nil && f.metric == nil:
		return failure(40000, "filters: %q is no dimension or metric of the topic", f.Field)
	case f.dimension != nil && f.Field == "stat_time_hour" && !q.by.hour:
		return failure(40000, "filters: stat_time_hour is of reports by the hour")
	case f.Type < 1 || f.Type > 3:
		return failure(40000, "filters: type %d", f.Type)
	case !slices.Contains(allowed, f.Operator):
		return failure(40000, "filters: operator %d of %s", f.Operator, f.Field)
	case len(f.Values) == 0 || (f.Operator != oceanAnyOf && len(f.Values) != values):
		return failure(40000, "filters: values of %s", f.Field)
	}
	if f.metric == nil {
		return nil
	}
	for _, text := range f.Values {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return failure(40000, "filters: %q is no number", text)
		}
		if f.metric.kind == 'y' {
			n *= 100
		}
		f.numbers = append(f.numbers, int64(math.Round(n)))
	}
	return nil
}

func (f *oceanFilter) fits(q *oceanQuery, r *row) bool {
	if f.dimension != nil {
		value := f.dimension.value(q, r)
		switch f.Operator {
		case oceanEqual:
			return value == f.Values[0]
		case oceanNotEqual:
			return value != f.Values[0]
		case oceanContains:
			return strings.Contains(value, f.Values[0])
		case oceanContainsNot:
			return !strings.Contains(value, f.Values[0])
		default:
			return slices.Contains(f.Values, value)
		}
	}
	value := f.metric.value(&r.figures)
	switch f.Operator {
	case oceanEqual:
		return value == f.numbers[0]
	case oceanLess:
		return value < f.numbers[0]
	case oceanLessEqual:
		return value <= f.numbers[0]
	case oceanMore:
		return value > f.numbers[0]
	case oceanMoreEqual:
		return value >= f.numbers[0]
	case oceanNotEqual:
		return value != f.numbers[0]
	default:
		return f.numbers[0] <= value && value <= f.numbers[1]
	}
}

// reportConfig lists the dimensions and metrics of custom reports, all of which go together here.
func (o *oceanEngine) reportConfig(c *call, l *login) *apiError {
	if _, err := o.advertiser(c, l); err != nil {
		return err
	}
	var topics []string
	found, err := o.decode(c, "data_topics", &topics)
	if err != nil {
		return err
	}
	if !found || len(topics) == 0 {
		return failure(40000, "data_topics is a list of topics")
	}
	for _, topic := range topics {
		if !slices.Contains(oceanTopics, topic) {
			return failure(40000, "data_topics: %q", topic)
		}
	}
	w := o.begin(c)
	w.open('{')
	w.openArray("list")
	for _, topic := range topics {
		writeTopic(&w, topic)
	}
	w.close(']')
	w.close('}')
	o.end(c, &w)
	return nil
}

func writeTopic(w *jsonWriter, topic string) {
	w.open('{')
	w.textField("data_topic", topic)
	w.openArray("dimensions")
	dimensions := oceanDimensionsOf(topic)
	for i := range dimensions {
		writeDimension(w, &dimensions[i])
	}
	w.close(']')
	w.openArray("metrics")
	for i := range oceanMetrics {
		m := &oceanMetrics[i]
		w.open('{')
		w.textField("field", m.name)
		w.textField("name", m.about)
		w.textField("description", m.about)
		w.openArray("exclusion_dims")
		w.close(']')
		w.close('}')
	}
	w.close(']')
	w.close('}')
}

// oceanModes are the kinds of materials that conditions name.
var oceanModes = [][2]string{
	{"横版视频", oceanModeVideo}, {"竖版视频", oceanModeVideoVertical}, {"小图", oceanModeSmall}, {"大图横图", oceanModeLarge},
	{"大图竖图", oceanModeLargeVertical}, {"标题", oceanModeTitle},
}

func writeDimension(w *jsonWriter, d *oceanDimension) {
	isMode := d.name == "image_mode"
	w.open('{')
	w.textField("field", d.name)
	w.textField("name", d.about)
	w.textField("description", d.about)
	w.key("sort_able")
	w.flag(d.isSortable)
	w.key("filter_able")
	w.flag(true)
	w.openObject("filter_config")
	if isMode {
		w.numberField("type", 1)
	} else {
		w.numberField("type", 2)
	}
	w.numberField("operator", oceanAnyOf)
	w.numberField("value_limit", 100)
	w.openArray("range_value")
	if isMode {
		for _, mode := range oceanModes {
			w.open('{')
			w.textField("label", mode[0])
			w.textField("value", mode[1])
			w.close('}')
		}
	}
	w.close(']')
	w.close('}')
	w.openArray("exclusion_dims")
	w.close(']')
	w.openArray("exclusion_metrics")
	w.close(']')
	w.close('}')
}

// oceanMetricOf finds a metric of a report that a call asks for; nil if there is none.
func oceanMetricOf(c *call, name string) *oceanMetric {
	switch c.sim.faults.Field(c, name) {
	case fieldRetired:
		return nil
	case fieldAdded:
		added := oceanCount(name, name, clicks)
		return &added
	}
	return oceanMetricByName[name]
}
