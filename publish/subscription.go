package publish

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"adsync/base/config"
	"adsync/base/schedule"
	"adsync/base/store/publishing"
	"adsync/base/strictjson"
	"adsync/base/task"
	"adsync/publish/format"
	"adsync/publish/place"
	"adsync/publish/query"
)

// RowsMaxDefault is how many rows a file may have if its subscription sets no limit.
const RowsMaxDefault = 100_000_000

// What a subscription does with a period without rows.
const (
	emptySend = "send" // the file has a header and no rows
	emptySkip = "skip" // no file
	emptyFail = "fail" // no file, and an alert
)

// What it does when there is a file of its name.
const (
	existsReplace = "replace"
	existsVersion = "version" // the new one is called NAME-2, NAME-3, …
	existsRefuse  = "refuse"
)

// How what was uploaded is compared before it gets its name.
const (
	verifySize     = "size"
	verifyReadback = "readback"
)

// Source is where the rows of a file come from: one of both.
type Source struct {
	Query string      `json:"query,omitempty"` // one SELECT
	Files *FileSource `json:"files,omitempty"`
}

// params are the parameters that queries may use.
var params = []string{"customer", "day", "from", "game", "period", "to"}

var (
	subscriptionName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,47}$`)
	laneName         = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
)

// Subscription is a row of subscription that was read and checked.
type Subscription struct {
	publishing.Subscription
	Format   format.Options
	Query    *query.Query // nil for a source of files
	files    *fileSource  // nil for a query
	schedule schedule.Schedule
	zone     *time.Location
	rule     rule
	path     template
	scope    query.Scope
	needs    needs // of the query

	completeness Completeness
	corrections  Corrections
}

// Check reads a row. Its error joins a *config.FieldError for each field that cannot be used. sequence and revision of
// others' files are not compared here: see Clash.
func Check(row publishing.Subscription) (*Subscription, error) {
	s := &Subscription{Subscription: row}
	var errs []error
	refuse := func(key, value, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: value, Want: want})
	}
	if !subscriptionName.MatchString(row.Name) {
		refuse("name", row.Name, "up to 48 lower-case letters, digits, dashes and underscores, a letter first")
	}
	if row.Lane != "" && !laneName.MatchString(row.Lane) {
		refuse("lane", row.Lane, "the name of a lane, such as "+Lane+", or nothing: the size of a file decides")
	}
	if row.Destination == "" {
		refuse("destination", "", "the name of a destination")
	}
	if !task.IsApplication(row.Application) {
		refuse("application", row.Application, task.WantApplication)
	}
	if row.RowsMax < 0 {
		refuse("rows_max", fmt.Sprint(row.RowsMax), "0 (at most 100 million rows) or more")
	}
	for _, f := range []struct {
		key, value string
		words      []string
	}{
		{"on_empty", row.OnEmpty, []string{emptySend, emptySkip, emptyFail}},
		{"on_exists", row.OnExists, []string{existsReplace, existsVersion, existsRefuse}},
		{"verify", row.Verify, []string{verifySize, verifyReadback}},
	} {
		if !slices.Contains(f.words, f.value) {
			refuse(f.key, f.value, "one of "+strings.Join(f.words, ", "))
		}
	}
	var err error
	if s.rule, err = parseRule(row.Period); err != nil {
		refuse("period", row.Period, wantPeriod)
	}
	if s.schedule, err = schedule.Parse(row.Cron, row.Timezone, row.Name); err != nil {
		errs = append(errs, err)
	} else if s.zone, err = schedule.Zone(row.Timezone); err != nil {
		errs = append(errs, err)
	}
	form, scope := s.readFormat(), s.readScope()
	path := s.readPath()
	errs = append(errs, form, scope, s.readSource(), path, s.readCompleteness(),
		checkWebhook(&row))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Subscription) readFormat() error {
	if err := strictjson.Unmarshal([]byte(s.Subscription.Format), &s.Format); err != nil {
		return within("format", s.Subscription.Format, err)
	}
	if err := s.Format.Validate(); err != nil {
		return prefixed("format", err)
	}
	return nil
}

func (s *Subscription) readScope() error {
	if s.Scope == "" {
		return nil
	}
	if err := strictjson.Unmarshal([]byte(s.Scope), &s.scope); err != nil {
		return within("scope", s.Scope, err)
	}
	return nil
}

// readSource reads the column source. It comes after the readers of the format, the scope and the path.
func (s *Subscription) readSource() error {
	var source Source
	if err := strictjson.Unmarshal([]byte(s.Source), &source); err != nil {
		return within("source", s.Source, err)
	}
	switch {
	case source.Files != nil && source.Query != "":
		return &config.FieldError{Key: "source", Want: "a query or files, and not both"}
	case source.Files != nil:
		return s.readFiles(source.Files)
	}
	var err error
	if s.Query, err = query.Check(source.Query, Views(), s.scope); err != nil {
		return &config.FieldError{Key: "source.query", Want: "a query that can be published: " + err.Error()}
	}
	s.needs = needsOf(s.Query.Views())
	for _, name := range s.Query.Params() {
		switch {
		case !slices.Contains(params, name):
			return &config.FieldError{Key: "source.query", Value: ":" + name,
				Want: "only the parameters :" + strings.Join(params, ", :")}
		case name == "game" && s.game() == "":
			return &config.FieldError{Key: "scope.games", Want: "exactly one game, since the query uses :game"}
		}
	}
	return nil
}

func (s *Subscription) readPath() error {
	refuse := func(why string) error {
		return &config.FieldError{Key: "path", Value: s.Path, Want: wantPath + " (" + why + ")"}
	}
	var err error
	if s.path, err = parseTemplate(s.Path); err != nil {
		return refuse(err.Error())
	}
	switch {
	case s.path.of("game") && s.game() == "":
		return &config.FieldError{Key: "scope.games", Want: "exactly one game, since the path uses {game}"}
	case s.path.of("customer") && s.Customer == "":
		return &config.FieldError{Key: "customer", Want: "a customer, since the path uses {customer}"}
	}
	if !utf8.ValidString(s.Path) || !utf8.ValidString(s.Customer) {
		return refuse("it is not valid UTF-8")
	}
	sample := publishing.Publication{FromDay: "2026-11-15", ToDay: "2026-11-21", Revision: 99, Sequence: 999_999}
	if name := s.path.name(s, &sample); len(name) > nameMax {
		return refuse(fmt.Sprintf("such as %q it has %d bytes", name[:60]+"…", len(name)))
	} else if err := place.CheckName(name); err != nil {
		return refuse(err.Error())
	} else if err := place.CheckName(s.longest(name)); err != nil {
		return refuse("with what is added for its manifest, or a version: " + err.Error())
	}
	dated := slices.ContainsFunc(
		[]string{"day", "from", "to", "period", "sequence", "day:compact", "from:compact", "to:compact"}, s.path.of)
	if !dated && s.OnExists == existsRefuse {
		return refuse("all its files have the same name, and on_exists is refuse")
	}
	return nil
}

// longest returns a name with all that is added to it.
func (s *Subscription) longest(name string) string {
	if s.OnExists == existsVersion {
		name += fmt.Sprintf("-%d", versionsMax)
	}
	if s.Manifest {
		name += manifestSuffix
	}
	return name
}

// game returns the game of a scope that has exactly one, and "" otherwise.
func (s *Subscription) game() string {
	if len(s.scope.Games) == 1 {
		return s.scope.Games[0]
	}
	return ""
}

// SourceDestination returns the name of the destination that the rows are read from; "" for a query.
func (s *Subscription) SourceDestination() string {
	if s.files == nil {
		return ""
	}
	return s.files.Destination
}

// Clash returns the name of another subscription that could write a file of the same name to the same destination; ""
// if there is none. Rows that cannot be read write none.
func (s *Subscription) Clash(others []publishing.Subscription) string {
	mine := s.path.symbols(s)
	for _, row := range others {
		if row.Destination != s.Destination || row.Name == s.Name {
			continue
		}
		if o, err := Check(row); err == nil && overlap(mine, o.path.symbols(o)) {
			return row.Name
		}
	}
	return ""
}

// values returns the parameters of the query for a file.
func (s *Subscription) values(p *publishing.Publication) map[string]any {
	return map[string]any{
		"day": string(p.ToDay), "from": string(p.FromDay), "to": string(p.ToDay),
		"period": publishing.Period(p.FromDay, p.ToDay), "game": s.game(), "customer": s.Customer,
	}
}

// within makes the error of a JSON text one of a field.
func within(key, text string, err error) error {
	if wrong, ok := errors.AsType[*strictjson.Error](err); ok && wrong.Field != "" {
		key += "." + wrong.Field
	}
	if !json.Valid([]byte(text)) {
		return &config.FieldError{Key: key, Value: text, Want: "JSON"}
	}
	return &config.FieldError{Key: key, Want: "another value: " + err.Error()}
}

// prefixed puts a key before those of joined field errors.
func prefixed(key string, err error) error {
	var all []error
	for _, e := range config.Flatten(err) {
		if f, ok := errors.AsType[*config.FieldError](e); ok {
			e = &config.FieldError{Key: key + "." + f.Key, Value: f.Value, Want: f.Want}
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}
