package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"adsync/media"
)

// WithinDefault is how long before its end an access token is refreshed by the task: long enough that a platform's bad
// half day leaves every login usable.
const WithinDefault = 12 * time.Hour

type refreshParams struct {
	// Within is how long before its end an access token is refreshed: "12h".
	Within string `json:"within"`
}

func parseWithin(raw json.RawMessage) (time.Duration, error) {
	params := refreshParams{}
	if err := media.CheckParams(raw, &params); err != nil {
		return 0, err
	}
	if params.Within == "" {
		return WithinDefault, nil
	}
	within, err := time.ParseDuration(params.Within)
	if err != nil || within < 0 {
		return 0, fmt.Errorf("params.within: %q is refused: want a duration such as %q", params.Within, "12h")
	}
	return within, nil
}

// Handler returns "<media>.token_refresh": it refreshes the logins whose access token ends soon. A login that waits
// for a person is left alone: it was alerted when it was parked. Accounts that belong to a login that works, and are
// pulled with another, come back to it.
func (k *Keeper) Handler() media.Handler {
	return media.Handler{
		Name:   k.Platform.Name() + ".token_refresh",
		Target: media.Logins,
		Check: func(raw json.RawMessage) error {
			_, err := parseWithin(raw)
			return err
		},
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			within, err := parseWithin(work.Params)
			if err != nil {
				return media.Result{}, &media.Error{Class: media.Invalid, Message: err.Error()}
			}
			id, err := LoginOf(work.Part)
			if err != nil {
				return media.Result{}, err
			}
			if err := k.refreshWithin(ctx, id, within); err != nil {
				return media.Result{}, err
			}
			return media.Result{}, k.Store.RouteLogin(ctx, id)
		},
	}
}

func (k *Keeper) refreshWithin(ctx context.Context, id int64, within time.Duration) error {
	// The table and not this process's memory: another process may have refreshed it an hour ago.
	login, _, err := k.read(ctx, id)
	if _, parked := errors.AsType[*parkedError](err); parked {
		return nil
	}
	if err != nil {
		return err
	}
	if k.Clock.Now().Add(within).Before(login.Expires) {
		return nil
	}
	_, err = k.Renew(ctx, id, login.Generation, nil)
	if parked, ok := errors.AsType[*parkedError](err); ok {
		// This subtask has nothing to wait for: it stays as the record of what happened.
		return &media.Error{Class: media.Invalid, Message: parked.Error()}
	}
	return err
}

const loginPart = "login:"

// LoginOf returns the login that the part "login:<id>" names.
func LoginOf(part string) (int64, error) {
	text, ok := strings.CutPrefix(part, loginPart)
	id, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return 0, &media.Error{Class: media.Bug, Message: fmt.Sprintf("part %q names no login", part)}
	}
	return id, nil
}
