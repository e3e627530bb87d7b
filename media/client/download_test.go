package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit"
	"adsync/media"
	"adsync/media/client"
)

func TestOpen_StreamsAFile(t *testing.T) {
	t.Parallel()
	const lines = 200_000
	s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("access_token") != "access-1" || r.URL.Query().Get("job") != "7" || r.URL.Path != "/file" {
			http.Error(w, r.URL.String(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/csv")
		for i := range lines {
			fmt.Fprintf(w, "%d,some text\n", i)
		}
	})
	api := s.client.For(account)
	file, err := api.Open(t.Context(), "file", url.Values{"job": {"7"}})
	require.NoError(t, err)
	require.Nil(t, file.Payload)
	text, err := io.ReadAll(file.Body)
	require.NoError(t, err)
	require.NoError(t, file.Body.Close())
	require.Equal(t, lines, strings.Count(string(text), "\n"))
	require.Equal(t, 1, api.Calls())
	require.Equal(t, "file", s.waiter.waited[0].Endpoint)
	require.InDelta(t, 1, s.calls(t, "ok"), 0)
}

func TestOpen_ReadsAnAnswerOfThePlatform(t *testing.T) {
	t.Parallel()
	s := connect(t, func(n int32, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if n == 1 {
			_, _ = io.WriteString(w, `{"code":2,"message":"expired"}`)
			return
		}
		ok(w)
	})
	file, err := s.client.For(account).Open(t.Context(), "file", nil)
	require.NoError(t, err)
	require.Nil(t, file.Body)
	require.JSONEq(t, `{"x":1}`, string(file.Payload))
	require.Equal(t, 1, s.tokens.renews)
}

func TestOpen_RefusalsAreThePlatforms(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answerCode(5)(1, w, r)
	})
	_, err := s.client.For(account).Open(t.Context(), "file", nil)
	require.Equal(t, media.Bug, requireType[*media.Error](t, err).Class)
	require.NotContains(t, err.Error(), "access-1")
}

func TestOpen_AFileThatEndsEarlyIsAnError(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "a,b\n1,2\n")
	})
	file, err := s.client.For(account).Open(t.Context(), "file", nil)
	require.NoError(t, err)
	defer file.Body.Close()
	_, err = io.ReadAll(file.Body)
	require.Equal(t, media.Transient, requireType[*media.Error](t, err).Class)
}

func TestOpen_AServerThatFallsSilentIsLeft(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"before the answer": "", "in the middle": "a,b\n1,2\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := make(chan struct{})
			s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
				if before != "" {
					_, _ = io.WriteString(w, before)
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
				close(left)
			}, func(o *client.Options) { o.Timeout = 200 * time.Millisecond })
			file, err := s.client.For(account).Open(t.Context(), "file", nil)
			if before != "" {
				require.NoError(t, err)
				_, err = io.ReadAll(file.Body)
				defer file.Body.Close()
			}
			require.ErrorContains(t, err, "no answer within 200ms")
			require.Equal(t, media.Transient, requireType[*media.Error](t, err).Class)
			<-left
		})
	}
}

func TestOpenAddress_SendsNoTokenAndShowsNoAddress(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "signature=s3cret" {
			status = http.StatusBadRequest
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "a,b\n1,2\n")
	})
	s.waiter.err = &ratelimit.WaitError{After: time.Minute}
	address := s.client.Transport.BaseURL() + "/bucket/file.csv?signature=s3cret"
	api := s.client.For(account)
	file, err := api.OpenAddress(t.Context(), address)
	require.NoError(t, err)
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, "a,b\n1,2\n", string(text))
	require.Zero(t, api.Calls(), "it is no call of the platform's API")

	for _, status = range []int{403, 404, 410, 500} {
		_, err = api.OpenAddress(t.Context(), address)
		require.ErrorContains(t, err, fmt.Sprint(status))
		require.NotContains(t, err.Error(), "s3cret")
		require.Equal(t, status != 500, errors.Is(err, media.ErrJobGone), status)
	}
	for _, wrong := range []string{"", "file:///etc/passwd", "ftp://host/s3cret", "http:///s3cret", "s3cret", ":s3cret"} {
		_, err = api.OpenAddress(t.Context(), wrong)
		require.ErrorContains(t, err, "is not an https address", wrong)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err = api.OpenAddress(t.Context(), "http://127.0.0.1:1/s3cret")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret")
}

func TestOpenAddress_IsEncryptedWhereThePlatformIs(t *testing.T) {
	t.Parallel()
	inner := client.NewHTTP()
	t.Cleanup(inner.CloseIdleConnections)
	s := connect(t, func(int32, http.ResponseWriter, *http.Request) {}, func(o *client.Options) {
		o.Transport = client.NewTransport(platform{}, "https://api.example", inner)
	})
	_, err := s.client.For(account).OpenAddress(t.Context(), "http://files.example/1")
	require.ErrorContains(t, err, "is not an https address")
}
