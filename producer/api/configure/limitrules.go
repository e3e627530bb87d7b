package configure

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/ratelimit/grant"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
)

// Where a rule comes from.
const (
	ruleOfRow      = "row"
	ruleOfPlatform = "platform" // no row overrides it
)

// LimitStore is what LimitRules needs of the store.
type LimitStore interface {
	RateLimits(ctx context.Context) ([]settings.LimitRow, error)
	PutRateLimit(ctx context.Context, e settings.Editor, row settings.LimitRow,
		check func(rows []settings.LimitRow, id int64) error) error
	DeleteRateLimit(ctx context.Context, e settings.Editor, id int64) (settings.LimitRow, error)
}

// LimitRules shows and changes the rows of rate_limit, and shows the platforms' own limits that no row overrides.
type LimitRules struct {
	Store     LimitStore
	Platforms []media.Platform
}

// List answers with the rows, and with the platforms' own limits.
func (h *LimitRules) List(c *gin.Context, params *client.ListLimitRulesParams) (any, error) {
	of := params.Media
	if err := h.checkPlatform(of); of != "" && err != nil {
		return nil, err
	}
	rows, err := h.Store.RateLimits(c.Request.Context())
	if err != nil {
		return nil, err
	}
	rules := []client.LimitRule{}
	for _, r := range h.rules(rows) {
		if of == "" || r.Media == of {
			rules = append(rules, r)
		}
	}
	return client.LimitRuleList{Rules: rules}, nil
}

// Get answers with one row.
func (h *LimitRules) Get(c *gin.Context) (any, error) {
	rows, err := h.Store.RateLimits(c.Request.Context())
	if err != nil {
		return nil, err
	}
	rules := h.rules(rows)
	at := slices.IndexFunc(rules, func(r client.LimitRule) bool { return r.ID == c.Param("id") && r.ID != "" })
	if at < 0 {
		return nil, noRule(c.Param("id"))
	}
	return rules[at], nil
}

// checkPlatform refuses an unknown platform.
func (h *LimitRules) checkPlatform(name string) error {
	names := make([]string, len(h.Platforms))
	for i, p := range h.Platforms {
		names[i] = p.Name()
	}
	switch want := strings.Join(names, " or "); {
	case name == "":
		return httpapi.Refused("media", "is missing: want %s", want)
	case !slices.Contains(names, name):
		return httpapi.Refused("media", "%q is refused: want %s", name, want)
	}
	return nil
}

func noRule(id string) error {
	return httpapi.NewProblem(http.StatusNotFound,
		"There is no limit %q: want the id of one in the list of limits.", id)
}

// Put writes a row.
func (h *LimitRules) Put(c *gin.Context, request *client.LimitRuleRequest) (any, error) {
	if err := h.checkPlatform(request.Media); err != nil {
		return nil, err
	}
	row := rowOf(request)
	if err := checkRule(row.Rule); err != nil {
		return nil, err
	}
	var written client.LimitRule
	err := h.Store.PutRateLimit(c.Request.Context(), editor(c, "limit.put"), row,
		func(rows []settings.LimitRow, id int64) error {
			rules := h.rules(rows)
			written = rules[slices.IndexFunc(rules,
				func(r client.LimitRule) bool { return r.ID == strconv.FormatInt(id, 10) })]
			if written.Error != "" {
				return httpapi.NewProblem(http.StatusConflict,
					"The limit cannot be used: %s. Change the other one, or delete it first.", written.Error)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return written, nil
}

// Delete deletes a row.
func (h *LimitRules) Delete(c *gin.Context) (any, error) {
	id, err := httpapi.ParseID(c.Param("id"))
	if err != nil {
		return nil, noRule(c.Param("id"))
	}
	ctx := c.Request.Context()
	row, err := h.Store.DeleteRateLimit(ctx, editor(c, "limit.delete"), id)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, noRule(c.Param("id"))
	}
	if err != nil {
		return nil, err
	}
	rows, err := h.Store.RateLimits(ctx)
	if err != nil {
		return nil, err
	}
	answer := client.DeletedLimitRule{Deleted: ruleOf(row.Rule, row.Enabled, ""), InForce: []client.LimitRule{}}
	for _, r := range h.rules(rows) {
		if r.Source == ruleOfPlatform && r.Media == row.Media && r.Scope == string(row.Scope) &&
			r.Endpoint == grant.PlainEndpoint(row.Endpoint) &&
			r.PeriodMs == row.Period.Milliseconds() {
			answer.InForce = append(answer.InForce, r)
		}
	}
	return answer, nil
}

// rules returns the rows, and after them the platforms' own limits that no usable row overrides.
func (h *LimitRules) rules(rows []settings.LimitRow) (rules []client.LimitRule) {
	var defaults []grant.Rule
	for _, p := range h.Platforms {
		defaults = append(defaults, p.Limits()...)
	}
	inForce := settings.LimitsInForce(rows, defaults)
	wrong := map[int64]string{}
	for _, r := range rows {
		if e, is := errors.AsType[*grant.RuleError](r.Validate()); is {
			wrong[r.ID] = e.Reason
		}
	}
	if all, some := grant.NewRules().Set(inForce).(interface{ Unwrap() []error }); some {
		for _, err := range all.Unwrap() {
			if e, is := errors.AsType[*grant.RuleError](err); is {
				wrong[e.Rule.ID] = e.Reason
			}
		}
	}
	for _, r := range rows {
		rules = append(rules, ruleOf(r.Rule, r.Enabled, wrong[r.ID]))
	}
	for _, r := range inForce {
		if r.ID == 0 {
			rules = append(rules, ruleOf(r, true, ""))
		}
	}
	return rules
}

func ruleOf(r grant.Rule, enabled bool, fault string) client.LimitRule {
	shown := client.LimitRule{
		Source: ruleOfPlatform, Media: r.Media, Endpoint: r.Endpoint, EachEndpoint: r.Each,
		Scope: string(r.Scope), PeriodMs: r.Period.Milliseconds(),
		Unit: string(cmp.Or(r.Unit, grant.UnitCalls)), Calls: int64(r.Limit), CallsMax: int64(r.LimitMax),
		Share: cmp.Or(r.Share, grant.ShareDefault),
		Cost:  int64(max(1, r.Cost)), Costs: r.Costs, CalendarZone: r.Calendar, PenaltyMs: r.Penalty.Milliseconds(),
		Enabled: enabled, Error: fault,
	}
	if r.ID != 0 {
		shown.ID, shown.Source = strconv.FormatInt(r.ID, 10), ruleOfRow
	}
	return shown
}

func rowOf(r *client.LimitRuleRequest) settings.LimitRow {
	return settings.LimitRow{Enabled: r.Enabled == nil || *r.Enabled, Rule: grant.Rule{
		Media: r.Media, Endpoint: grant.PlainEndpoint(r.Endpoint), Each: r.EachEndpoint, Scope: grant.Scope(r.Scope),
		Period: milliseconds(r.PeriodMs), Unit: grant.Unit(r.Unit), Limit: int(r.Calls), LimitMax: int(r.CallsMax),
		Share: r.Share,
		Cost:  int(r.Cost), Costs: r.Costs, Calendar: r.CalendarZone, Penalty: milliseconds(r.PenaltyMs),
	}}
}

// milliseconds returns a duration of n milliseconds. It caps n at a year, which is still too long for a rule.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, -1), int64(365*24*time.Hour/time.Millisecond))) * time.Millisecond
}

// checkRule refuses a rule that the processes that load the table would refuse.
func checkRule(rule grant.Rule) error {
	var errs httpapi.Refusals
	for _, f := range rule.Faults() {
		errs.Refuse(f.Column, "%s", strings.TrimPrefix(f.Detail, f.Column+" "))
	}
	return errs.Err()
}
