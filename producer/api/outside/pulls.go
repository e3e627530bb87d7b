package outside

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/schedule"
	"adsync/base/store/results"
	"adsync/base/strictjson"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
	"adsync/media/external"
	"adsync/media/pull"
)

// rowsMax is how many rows a pull may have: they are in memory when they are written.
const rowsMax = 200_000

// Pulls takes the rows that outside workers have pulled, under the fence of coverage.
type Pulls struct {
	finder
	writer *pull.Outside
	clock  clock.Clock
	ended  *prometheus.CounterVec
}

// NewPulls returns the routes of pulls. The clock is that of business days. log and reg may be nil.
func NewPulls(store Store, platforms []media.Platform, c clock.Clock, log *slog.Logger,
	reg prometheus.Registerer) *Pulls {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	return &Pulls{
		finder: finder{store, platforms}, clock: c,
		writer: pull.NewOutside(platforms, pull.Deps{Store: store, Clock: c, Logger: log, Registerer: reg}),
		ended: media.Register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_outside_pulls_total",
			Help: "Pulls of outside workers that ended, by their end: complete, partial, suspect, or fenced."},
			[]string{"media", "report", "end"})),
	}
}

// Begin claims a day of a report.
func (p *Pulls) Begin(c *gin.Context, request *client.PullRequest) (any, error) {
	ctx := c.Request.Context()
	platform, account, err := p.account(ctx, request.Media, request.Account)
	if err != nil {
		return nil, err
	}
	if _, err := reportOf(platform, request.Report, request.Level); err != nil {
		return nil, err
	}
	zone, err := schedule.Zone(account.Timezone)
	if err != nil {
		return nil, httpapi.Refused("account", "%q is refused: its time zone %q is unknown: correct it in media_account",
			request.Account, account.Timezone)
	}
	on := day.Day(request.Day)
	if today := day.Of(p.clock.Now(), zone); on > today {
		return nil, httpapi.Refused("day", "%s is refused: want a day up to %s, today in the account's zone", on, today)
	}
	runID := int64(0)
	if request.RunID != "" {
		if runID, err = httpapi.ParseID(request.RunID); err != nil {
			return nil, httpapi.Refused("run_id", "%q is refused: want the id of a run", request.RunID)
		}
	}
	claim, _, err := p.store.BeginPull(ctx, results.Scope{AccountID: account.ID, Media: account.Media,
		Report: request.Report, Level: request.Level, Days: []day.Day{on}},
		strconv.FormatInt(account.ID, 10)+"-"+uuid.NewString(), runID)
	if err != nil {
		return nil, err
	}
	if claim.RunID == 0 { // A day is settled by a run that was made after it had settled.
		claim.RunID = task.NewRunID(p.clock.Now())
	}
	version, err := p.store.AddOutsidePull(ctx, results.OutsidePull{AccountID: account.ID, ID: claim.PullID,
		Media: account.Media, Report: claim.Report, Level: claim.Level, Day: on, Version: claim.Version, RunID: claim.RunID})
	if err != nil {
		return nil, err
	}
	c.Status(http.StatusCreated)
	return client.Pull{ID: claim.PullID, Version: version}, nil
}

// reportOf returns a report of a platform.
func reportOf(platform media.Platform, name, level string) (media.Report, error) {
	var levels []string
	for _, r := range platform.Reports() {
		switch {
		case r.Name == name && r.Level == level:
			return r, nil
		case r.Name == name:
			levels = append(levels, r.Level)
		}
	}
	return media.Report{}, httpapi.Refused("level", "%q is refused: %s of %s has %s", level, name, platform.Name(),
		strings.Join(levels, " or "))
}

// open returns the pull in the path.
func (p *Pulls) open(ctx context.Context, id string) (results.OutsidePull, error) {
	account, _, _ := strings.Cut(id, "-")
	accountID, err := strconv.ParseInt(account, 10, 64)
	if err != nil {
		return results.OutsidePull{}, noPull(id)
	}
	found, err := p.store.OutsidePull(ctx, accountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return found, noPull(id)
	}
	return found, err
}

func noPull(id string) error {
	return httpapi.NewProblem(http.StatusNotFound,
		"There is no pull %q: want the id of one that was begun within the last day.", id)
}

// form returns the report of a pull, and the form of its rows.
func (p *Pulls) form(of *results.OutsidePull) (media.Report, external.Form, error) {
	for _, platform := range p.platforms {
		if platform.Name() == of.Media {
			report, err := reportOf(platform, of.Report, of.Level)
			return report, external.Form{Level: of.Level, Hourly: report.Hourly, Day: of.Day,
				Columns: len(report.Table.Columns)}, err
		}
	}
	return media.Report{}, external.Form{}, httpapi.NewProblem(http.StatusConflict,
		"The platform %s of the pull is no longer known.", of.Media)
}

// PutPart stages a part of a pull's rows.
func (p *Pulls) PutPart(c *gin.Context, request *client.PullPartRequest) (any, error) {
	ctx := c.Request.Context()
	part, err := strconv.Atoi(c.Param("n"))
	if err != nil || part < 1 || part > 1000 {
		return nil, httpapi.NewProblem(http.StatusNotFound, "There is no part %q: want 1 to 1000.", c.Param("n"))
	}
	of, err := p.open(ctx, c.Param("id"))
	if err != nil {
		return nil, err
	}
	_, form, err := p.form(&of)
	if err != nil {
		return nil, err
	}
	rows, lost, err := readRows(form, request.Rows)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(request.Rows)
	if err != nil {
		return nil, err
	}
	err = p.store.PutOutsidePart(ctx, of.AccountID, of.ID, results.OutsidePart{Part: part, Rows: string(text)})
	switch {
	case errors.Is(err, results.ErrOutsidePullEnded):
		return nil, httpapi.NewProblem(http.StatusConflict, "The pull has ended: begin another one.")
	case errors.Is(err, sql.ErrNoRows):
		return nil, noPull(of.ID)
	case err != nil:
		return nil, err
	}
	return client.PullPart{Part: int64(part), Rows: int64(len(request.Rows)), Unusable: unusable(rows, lost)}, nil
}

// readRows reads a worker's rows. It refuses the first one with another shape than the documented one.
func readRows(form external.Form, raw []json.RawMessage) (rows, lost []media.Row, err error) {
	for i, text := range raw {
		row, err := form.Read(text)
		if wrong, is := errors.AsType[*strictjson.Error](err); is {
			field := fmt.Sprintf("rows[%d]", i)
			if wrong.Field != "" {
				field += "." + wrong.Field
			}
			return nil, nil, httpapi.Invalid(httpapi.FieldError{Field: field, Detail: wrong.Detail})
		}
		if err != nil {
			return nil, nil, httpapi.Refused(fmt.Sprintf("rows[%d]", i), "is refused: %v", err)
		}
		if pull.Fit(&row); row.Lost {
			lost = append(lost, row)
		} else {
			rows = append(rows, row)
		}
	}
	return rows, lost, nil
}

// unusable counts the unusable values of rows by field, in the order in which they came.
func unusable(rows, lost []media.Row) []client.UnusableField {
	all, at := []client.UnusableField{}, map[string]int{}
	for _, some := range [][]media.Row{rows, lost} {
		for i := range some {
			for _, f := range some[i].Faults {
				n, known := at[f.Field]
				if !known {
					n = len(all)
					at[f.Field] = n
					all = append(all, client.UnusableField{Field: f.Field, Kind: string(f.Kind), Why: f.Why})
				}
				all[n].Number++
			}
		}
	}
	return all
}

// accountOf returns the account of a pull.
func (p *Pulls) accountOf(ctx context.Context, of *results.OutsidePull) (media.Account, error) {
	found, err := p.store.AccountsByID(ctx, []int64{of.AccountID})
	if err != nil {
		return media.Account{}, err
	}
	a, known := found[of.AccountID]
	if !known {
		return media.Account{}, noPull(of.ID)
	}
	zone, err := schedule.Zone(a.Timezone)
	if err != nil {
		return media.Account{}, httpapi.NewProblem(http.StatusConflict,
			"The time zone %q of the account is unknown: correct it in media_account.", a.Timezone)
	}
	return media.Account{ID: a.ID, Media: a.Media, ExternalID: a.ExternalID, Name: a.Name, TokenID: a.TokenID, Zone: zone,
		Currency: a.Currency}, nil
}
