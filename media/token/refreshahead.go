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

// WithinDefault is how long before its end the task refreshes an access token: long enough that every login stays
// usable when a platform fails for half a day.
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

// Handler returns "<media>.token_refresh". It refreshes the logins whose access token ends soon. It skips a login
// that waits for a person, which was alerted when it was parked. Accounts whose chosen login works, and that are
// pulled with another one, return to the chosen login.
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
	// It reads the table, not memory: another process may have refreshed the token an hour ago.
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
		// This subtask does not wait: it ends as a record of the failure.
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
		return 0, &media.Error{Class: media.Bug, Message: fmt.Sprintf("part %q does not name a login", part)}
	}
	return id, nil
}
