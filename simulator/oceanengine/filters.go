package oceanengine

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"adsync/simulator/platform"
	"adsync/simulator/world"
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
	numbers   []int64 // for a metric: the values in its unit
}

func reportFilters(c *platform.Call, q *oceanQuery, dimensions []oceanDimension) *platform.Failure {
	found, err := decode(c, "filters", &q.filters)
	if err != nil {
		return err
	}
	if !found {
		return platform.Failf(40000, "filters is missing: send [] for none")
	}
	for i := range q.filters {
		if err := q.filters[i].resolve(c, q, dimensions); err != nil {
			return err
		}
	}
	return nil
}

// resolve finds the dimension or metric of a condition: any of the topic, requested or not.
func (f *oceanFilter) resolve(c *platform.Call, q *oceanQuery, dimensions []oceanDimension) *platform.Failure {
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
		return platform.Failf(40000, "filters: %q is not a dimension or metric of the topic", f.Field)
	case f.dimension != nil && f.Field == "stat_time_hour" && !q.by.Hour:
		return platform.Failf(40000, "filters: stat_time_hour is only for hourly reports")
	case f.Type < 1 || f.Type > 3:
		return platform.Failf(40000, "filters: type %d", f.Type)
	case !slices.Contains(allowed, f.Operator):
		return platform.Failf(40000, "filters: operator %d of %s", f.Operator, f.Field)
	case len(f.Values) == 0 || (f.Operator != oceanAnyOf && len(f.Values) != values):
		return platform.Failf(40000, "filters: values of %s", f.Field)
	}
	if f.metric == nil {
		return nil
	}
	for _, text := range f.Values {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return platform.Failf(40000, "filters: %q is not a number", text)
		}
		if f.metric.kind == 'y' {
			n *= 100
		}
		f.numbers = append(f.numbers, int64(math.Round(n)))
	}
	return nil
}

func (f *oceanFilter) fits(q *oceanQuery, r *world.Row) bool {
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
	value := f.metric.value(&r.Figures)
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

// reportConfig lists the dimensions and metrics of custom reports. All combinations are allowed here.
func (o *oceanEngine) reportConfig(c *platform.Call, l *world.Login) *platform.Failure {
	if _, err := o.advertiser(c, l); err != nil {
		return err
	}
	var topics []string
	found, err := decode(c, "data_topics", &topics)
	if err != nil {
		return err
	}
	if !found || len(topics) == 0 {
		return platform.Failf(40000, "data_topics is a list of topics")
	}
	for _, topic := range topics {
		if !slices.Contains(oceanTopics, topic) {
			return platform.Failf(40000, "data_topics: %q", topic)
		}
	}
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("list")
	for _, topic := range topics {
		writeTopic(&w, topic)
	}
	w.Close(']')
	w.Close('}')
	o.end(c, &w)
	return nil
}

func writeTopic(w *platform.Writer, topic string) {
	w.Open('{')
	w.TextField("data_topic", topic)
	w.OpenArray("dimensions")
	dimensions := oceanDimensionsOf(topic)
	for i := range dimensions {
		writeDimension(w, &dimensions[i])
	}
	w.Close(']')
	w.OpenArray("metrics")
	for i := range oceanMetrics {
		m := &oceanMetrics[i]
		w.Open('{')
		w.TextField("field", m.name)
		w.TextField("name", m.about)
		w.TextField("description", m.about)
		w.OpenArray("exclusion_dims")
		w.Close(']')
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
}

// oceanModes holds the kinds of materials that conditions name.
var oceanModes = [][2]string{
	{"横版视频", oceanModeVideo}, {"竖版视频", oceanModeVideoVertical}, {"小图", oceanModeSmall}, {"大图横图", oceanModeLarge},
	{"大图竖图", oceanModeLargeVertical}, {"标题", oceanModeTitle},
}

func writeDimension(w *platform.Writer, d *oceanDimension) {
	isMode := d.name == "image_mode"
	w.Open('{')
	w.TextField("field", d.name)
	w.TextField("name", d.about)
	w.TextField("description", d.about)
	w.Key("sort_able")
	w.Flag(d.isSortable)
	w.Key("filter_able")
	w.Flag(true)
	w.OpenObject("filter_config")
	if isMode {
		w.NumberField("type", 1)
	} else {
		w.NumberField("type", 2)
	}
	w.NumberField("operator", oceanAnyOf)
	w.NumberField("value_limit", 100)
	w.OpenArray("range_value")
	if isMode {
		for _, mode := range oceanModes {
			w.Open('{')
			w.TextField("label", mode[0])
			w.TextField("value", mode[1])
			w.Close('}')
		}
	}
	w.Close(']')
	w.Close('}')
	w.OpenArray("exclusion_dims")
	w.Close(']')
	w.OpenArray("exclusion_metrics")
	w.Close(']')
	w.Close('}')
}

// oceanMetricOf returns a metric of a report that a call requests; nil if it does not exist.
func oceanMetricOf(c *platform.Call, name string) *oceanMetric {
	switch c.Sim.Faults.Field(c, name) {
	case platform.FieldRetired:
		return nil
	case platform.FieldAdded:
		added := oceanCount(name, name, world.Clicks)
		return &added
	}
	return oceanMetricByName[name]
}
