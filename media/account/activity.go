package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/media"
)

// The reasons in media_account.tier_reason for an account's tier.
const (
	reasonFigures = "figures" // it had spend or impressions
	reasonChanges = "changes" // ads were created or changed
	reasonNew     = "new"     // it was never pulled
	reasonQuiet   = "quiet"   // none of these, on days that are known
	reasonLogin   = "login"   // its login is dead
	reasonParked  = "parked"  // it has been parked for too long
	reasonProbe   = "probe"   // a probe found figures of today
)

// Defaults of the activity check.
const (
	ActivityDaysDefault     = 7
	InvalidAfterDaysDefault = 30
)

const (
	activityDaysMax = 60
	activityBatch   = 200
	// clockError is the greatest lead of a platform's clock over ours.
	clockError = 10 * time.Minute
	// settleTime is how long a tier that was just raised is kept: until then its figures may not have been pulled yet.
	settleTime = 2 * time.Hour
)

// ActivityOptions holds what the activity check uses.
type ActivityOptions struct {
	Platform media.Platform
	Store    *store.Store
	Clock    clock.Clock
	Logger   *slog.Logger
	// Batch is how many accounts are judged at a time; 0 means the default. The outcome does not depend on it.
	Batch int
}

type activityParams struct {
	// Days is how many days count, the account's present day included.
	Days int `json:"days"`
	// InvalidAfterDays is how long an account may be parked before it is invalid.
	InvalidAfterDays int `json:"invalid_after_days"`
}

func parseActivity(raw json.RawMessage) (activityParams, error) {
	p := activityParams{Days: ActivityDaysDefault, InvalidAfterDays: InvalidAfterDaysDefault}
	if err := media.CheckParams(raw, &p); err != nil {
		return p, err
	}
	if p.Days < 1 || p.Days > activityDaysMax {
		return p, fmt.Errorf("params.days: %d is refused: want 1 to %d", p.Days, activityDaysMax)
	}
	if p.InvalidAfterDays < 1 {
		return p, fmt.Errorf("params.invalid_after_days: %d is refused: want 1 or more", p.InvalidAfterDays)
	}
	return p, nil
}

// ActivityHandler returns "<media>.activity". It sets each account's tier by the account's last days. A tier that an
// operator set stays. It only reads the tables and makes no API call.
func ActivityHandler(o ActivityOptions) media.Handler {
	return media.Handler{
		Name:   o.Platform.Name() + ".activity",
		Target: media.Once,
		Check: func(raw json.RawMessage) error {
			_, err := parseActivity(raw)
			return err
		},
		Parts: oncePart("activity"),
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			params, err := parseActivity(work.Params)
			if err != nil {
				return media.Result{}, &media.Error{Class: media.Invalid, Message: err.Error()}
			}
			changed, err := o.check(ctx, params)
			return media.Result{Rows: changed}, err
		},
	}
}

// oncePart returns a plan of one part, for work that belongs to no account and has no days.
func oncePart(name string) func(media.Plan) ([]string, error) {
	return func(plan media.Plan) ([]string, error) {
		if plan.From != "" {
			return nil, errors.New("from: this task has no days: remove from and to")
		}
		return []string{name}, nil
	}
}

// check judges all accounts, a batch at a time, and returns how many tiers have changed.
func (o ActivityOptions) check(ctx context.Context, params activityParams) (changed int, err error) {
	now := o.Clock.Now()
	limit := o.Batch
	if limit == 0 {
		limit = activityBatch
	}
	var lists []string
	for _, l := range o.Platform.Lists() {
		lists = append(lists, l.Name)
	}
	for after := int64(0); ; {
		accounts, err := o.Store.TierAccounts(ctx, o.Platform.Name(), after, limit)
		if err != nil {
			return changed, err
		}
		n, err := o.checkBatch(ctx, accounts, now, params, lists)
		changed += n
		if err != nil {
			return changed, err
		}
		if len(accounts) < limit {
			return changed, nil
		}
		after = accounts[len(accounts)-1].ID
	}
}

func (o ActivityOptions) checkBatch(ctx context.Context, accounts []settings.TierAccount, now time.Time,
	params activityParams, lists []string) (int, error) {
	windows := map[int64]window{}
	var ids []int64
	var days []day.Day
	since := now
	known := map[day.Day]bool{}
	for _, a := range accounts {
		w, err := windowOf(a.Timezone, now, params.Days)
		if err != nil {
			o.Logger.Warn("account keeps its tier: its time zone is invalid", "media", o.Platform.Name(), "account_id",
				a.ID, "err", err)
			continue
		}
		windows[a.ID] = w
		ids = append(ids, a.ID)
		if w.start.Before(since) {
			since = w.start
		}
		for _, d := range w.days {
			if !known[d] {
				known[d] = true
				days = append(days, d)
			}
		}
	}
	facts, err := o.Store.Activities(ctx, ids, days, since, now.Add(clockError), lists)
	if err != nil {
		return 0, err
	}
	var changes []settings.TierChange
	for _, a := range accounts {
		w, usable := windows[a.ID]
		if !usable || a.By != settings.TierAuto {
			continue
		}
		if tier, reason := judge(a, *facts[a.ID], w, now, params); tier != a.Tier {
			changes = append(changes, settings.TierChange{ID: a.ID, From: a.Tier, To: tier, Reason: reason})
		}
	}
	return o.Store.SetTiers(ctx, changes, now)
}

// window holds the days of an account that count, ascending, the present one last.
type window struct {
	days  []day.Day
	start time.Time // of the first day
}

func windowOf(zone string, now time.Time, days int) (window, error) {
	loc, err := schedule.Zone(zone)
	if err != nil {
		return window{}, err
	}
	today := day.Of(now, loc)
	first := today.Add(1 - days)
	return window{days: day.Between(first, today), start: first.Start(loc)}, nil
}

// judge returns the tier that an account should have, and the reason. An account is inactive only if its days are
// known to have been quiet: days that were not pulled, as in an outage of ours, do not count as quiet.
func judge(a settings.TierAccount, facts results.Activity, w window, now time.Time, params activityParams) (tier,
	reason string) {
	invalidAfter := time.Duration(params.InvalidAfterDays) * 24 * time.Hour
	switch {
	case a.LoginState != settings.TokenOK:
		return settings.TierInvalid, reasonLogin
	case a.Parked != "" && !a.ParkedSince.IsZero() && now.Sub(a.ParkedSince) >= invalidAfter:
		return settings.TierInvalid, reasonParked
	case a.Parked != "":
		return a.Tier, "" // The probe changes it.
	case facts.Figures != "" && facts.Figures >= w.days[0]:
		return settings.TierActive, reasonFigures
	case !facts.Changed.IsZero() && !facts.Changed.Before(w.start):
		return settings.TierActive, reasonChanges
	case !facts.Pulled:
		return settings.TierActive, reasonNew
	case a.Tier == settings.TierInvalid:
		return settings.TierActive, settings.ReasonReturned
	case a.Tier == settings.TierActive && now.Sub(a.Since) < settleTime:
		return a.Tier, ""
	}
	// The present day does not count: an account that is pulled only at night has no figures of it yet.
	for _, d := range w.days[:len(w.days)-1] {
		if !facts.Whole[d] {
			return a.Tier, ""
		}
	}
	return settings.TierInactive, reasonQuiet
}
