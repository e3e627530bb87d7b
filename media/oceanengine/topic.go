package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/media"
	"adsync/media/wire"
)

const topicsEndpoint = "v3.0/report/custom/config/get/"

// The platform's description of its topics is requested once per topicsKept, and again after topicsRest if it is
// refused or lacks a topic.
const (
	topicsKept = 24 * time.Hour
	topicsRest = 10 * time.Minute
)

// topics holds the platform's description of the custom report's topics (document 1755261744248832): the dimensions
// to sort by, and how a report of materials is restricted to some kinds. It is the same for all accounts.
type topics struct {
	lock  chan struct{} // holds one item while a caller requests or reads the topics
	last  map[string]topic
	asked time.Time
	kept  time.Duration // since then
}

func newTopics() *topics { return &topics{lock: make(chan struct{}, 1), last: map[string]topic{}} }

// topic is the description of one topic.
type topic struct {
	// sortable are the dimensions that the platform sorts by.
	sortable map[string]bool
	shown    condition
}

// condition is one of a report's filters (document 1741387668314126).
type condition struct {
	Field    string   `json:"field"`
	Type     int64    `json:"type"`
	Operator int64    `json:"operator"`
	Values   []string `json:"values"`
}

const (
	dimensionMode = "image_mode"
	fixedValues   = 1  // the type of a condition with fixed values
	anyOf         = 10 // the operator for several values
)

// documented returns the description that applies without an answer of the platform: the kinds of videos and images
// of its documents (1741028841006095). The materials of a promotion also include titles (MATERIAL_IMAGE_MODE_TITLE),
// which repeat the figures of the same impressions.
func documented() topic {
	return topic{shown: condition{Field: dimensionMode, Type: fixedValues, Operator: anyOf, Values: []string{
		"CREATIVE_IMAGE_MODE_VIDEO", "CREATIVE_IMAGE_MODE_VIDEO_VERTICAL", "CREATIVE_IMAGE_MODE_UNION_SPLASH_VIDEO",
		"CREATIVE_IMAGE_MODE_SMALL", "CREATIVE_IMAGE_MODE_LARGE", "CREATIVE_IMAGE_MODE_LARGE_VERTICAL",
		"CREATIVE_IMAGE_MODE_GROUP",
		"CREATIVE_IMAGE_MODE_GIF", "CREATIVE_IMAGE_MODE_UNION_SPLASH", "TOUTIAO_SEARCH_AD_IMAGE", "SEARCH_AD_SMALL_IMAGE",
	}}}
}

// sorting returns the order of a query: the sortable dimensions, so that rows do not move between pages. The platform
// requires an order, refuses a dimension that it does not sort by, and accepts any metric: the documents' own
// examples use stat_cost.
func (t topic) sorting(dimensions, metrics []string) (by []order) {
	for _, d := range dimensions {
		if t.sortable[d] {
			by = append(by, order{Field: d, Type: "ASC"})
		}
	}
	if len(by) == 0 && len(metrics) > 0 {
		by = append(by, order{Field: metrics[0], Type: "DESC"})
	}
	return by
}

// about returns the description of a topic. If the platform refuses it or its answer is unreadable, about returns the
// last description, or otherwise the documented one.
func (t *topics) about(ctx context.Context, api media.API, name string) (topic, error) {
	if t == nil {
		return documented(), nil
	}
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return topic{}, ctx.Err()
	}
	if clock.Since(t.asked) >= t.kept {
		read, err := askTopics(ctx, api)
		e, isRefusal := errors.AsType[*media.Error](err)
		// An error of this account proves nothing about the topics.
		isRefusal = isRefusal && (e.Class == media.Invalid || e.Class == media.Bug) && e.Parks == ""
		switch {
		case err != nil && !isRefusal:
			return topic{}, err
		case len(read) < len(topicsAsked):
			t.asked, t.kept = clock.Mark(), topicsRest
		default:
			t.asked, t.kept = clock.Mark(), topicsKept
		}
		maps.Copy(t.last, read)
	}
	if known, ok := t.last[name]; ok {
		return known, nil
	}
	return documented(), nil
}

// topicsAsked are the topics of the reports.
var topicsAsked = []string{topicBasic, topicMaterial}

func askTopics(ctx context.Context, api media.API) (map[string]topic, error) {
	data, err := api.Get(ctx, topicsEndpoint, url.Values{
		"advertiser_id": {api.Account().ExternalID},
		"data_topics":   {asJSON(topicsAsked)},
	})
	if err != nil {
		return nil, err
	}
	return readTopics(data), nil
}

// readTopics reads the topics of an answer, and leaves out a topic without a readable dimension.
func readTopics(data json.RawMessage) map[string]topic {
	read := map[string]topic{}
	for _, raw := range wire.Open(data).List("list") {
		r, known := wire.Open(raw), documented()
		known.sortable = map[string]bool{}
		for _, raw := range r.List("dimensions") {
			d := wire.Open(raw)
			field := d.Text("field")
			if field == "" {
				continue
			}
			known.sortable[field] = d.Bool("sort_able")
			if field == dimensionMode {
				restrict(&known.shown, d.In("filter_config"))
			}
		}
		if name := r.Text("data_topic"); slices.Contains(topicsAsked, name) && len(known.sortable) > 0 {
			read[name] = known
		}
	}
	return read
}

// restrict sets a condition to the kinds of materials that are shown, with the platform's own names. filter describes
// the conditions that a dimension accepts.
func restrict(c *condition, filter *wire.Row) {
	var values []string
	for _, raw := range filter.List("range_value") {
		choice := wire.Open(raw).Fields()
		value := wire.String(choice["value"])
		if value != "" && isShown(wire.String(choice["label"])+" "+value) {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return
	}
	c.Values = values
	if of := filter.Int("type"); of.Set {
		c.Type = of.Value
	}
	// An operator that takes a single value cannot name several kinds.
	if operator := filter.Int("operator"); operator.Set && (operator.Value != 1 || len(values) == 1) {
		c.Operator = operator.Value
	}
}

// isShown reports whether an impression shows one material of this kind, mainly a video or an image. Texts are shown
// in addition to it.
func isShown(kind string) bool {
	has := func(word string) bool { return strings.Contains(strings.ToUpper(kind), word) }
	return !slices.ContainsFunc([]string{"标题", "文案", "摘要", "卖点", "TITLE", "TEXT"}, has) &&
		slices.ContainsFunc([]string{"视频", "图", "直播", "试玩", "直玩", "VIDEO", "IMAGE", "LIVE", "PLAY"}, has)
}
