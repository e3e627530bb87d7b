package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
	"adsync/media"
)

func (w *world) work(params string) media.Work {
	return media.Work{Key: task.Key{RunID: 1, Part: fmt.Sprintf("login:%d", w.id)}, Params: json.RawMessage(params)}
}

func TestHandler_RefreshesTokensThatEndSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8*time.Hour)
	h := w.keeper(t).Handler()
	require.Equal(t, "fake.token_refresh", h.Name)
	require.Equal(t, media.Logins, h.Target)
	_, err := h.Run(t.Context(), w.work(`{"within":"7h"}`))
	require.NoError(t, err)
	require.Zero(t, w.platform.refreshes.Load())
	_, err = h.Run(t.Context(), w.work(""))
	require.NoError(t, err)
	require.EqualValues(t, 1, w.platform.refreshes.Load(), "12 hours by default")
	_, err = h.Run(t.Context(), w.work(""))
	require.NoError(t, err)
	require.EqualValues(t, 1, w.platform.refreshes.Load(), "the new token lasts a day")
}

func TestHandler_SkipsAParkedLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{},
			&media.Error{Class: media.Auth}
	}
	h := w.keeper(t).Handler()
	_, err := h.Run(t.Context(), w.work(""))
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, media.Invalid, e.Class, "the subtask that found it stays as a record")
	_, err = h.Run(t.Context(), w.work(""))
	require.NoError(t, err)
	require.EqualValues(t, 1, w.platform.refreshes.Load())
}

func TestHandler_RefusesParamsAndParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	h := w.keeper(t).Handler()
	require.NoError(t, h.Check(nil))
	require.NoError(t, h.Check([]byte(`{"within":"90m"}`)))
	require.ErrorContains(t, h.Check([]byte(`{"within":"soon"}`)), "params.within")
	require.ErrorContains(t, h.Check([]byte(`{"within":"-1h"}`)), "params.within")
	require.ErrorContains(t, h.Check([]byte(`{"wihtin":"1h"}`)), "wihtin")
	for _, part := range []string{"", "login:", "login:x", "2026-11-21"} {
		_, err := h.Run(t.Context(), media.Work{Key: task.Key{Part: part}})
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, part)
		require.Equal(t, media.Bug, e.Class, part)
	}
}
