// Package chats tests, with Alertmanager's own code, the messages that its configuration produces for people.
package chats

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	amcommon "github.com/prometheus/alertmanager/config/common"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/notify/webhook"
	"github.com/prometheus/alertmanager/notify/wechat"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// chat replaces the chats' servers: it keeps the posted messages.
type chat struct {
	*httptest.Server
	posted []map[string]any
}

func newChat(t *testing.T) *chat {
	t.Helper()
	c := &chat{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "gettoken") {
			_, _ = io.WriteString(w, `{"errcode":0,"access_token":"token"}`)
			return
		}
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.posted = append(c.posted, body)
		_, _ = io.WriteString(w, `{"errcode":0}`)
	}))
	t.Cleanup(c.Close)
	return c
}

// at follows names and numbers into a posted message.
func at(t *testing.T, message any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			require.IsType(t, map[string]any{}, message, "%v", path)
			message = message.(map[string]any)[step]
		case int:
			require.Greater(t, len(message.([]any)), step)
			message = message.([]any)[step]
		}
	}
	return message
}

func TestAlertmanager_TellsEachChatInItsOwnWords(t *testing.T) {
	t.Parallel()
	conf, err := config.LoadFile("../../../configs/alertmanager/alertmanager.yml")
	require.NoError(t, err)
	templates, err := template.FromGlobs(conf.Templates)
	require.NoError(t, err)
	templates.ExternalURL = &url.URL{Scheme: "http", Host: "alertmanager"}

	chats := newChat(t)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(chats.URL), 0o600))
	quiet := slog.New(slog.DiscardHandler)

	// The places of a message's text and title, by receiver; "" means none.
	type place struct{ text, title []any }
	places := map[string]place{
		"wecom":       {text: []any{"markdown", "content"}},
		"wecom-robot": {text: []any{"markdown", "content"}},
		"feishu":      {text: []any{"card", "elements", 0, "content"}, title: []any{"card", "header", "title", "content"}},
		"dingtalk":    {text: []any{"markdown", "text"}, title: []any{"markdown", "title"}},
	}
	require.Len(t, conf.Receivers, len(places))
	now := time.Now()
	newAlert := func(lane, summary string, ended bool) *alert.Alert {
		a := &alert.Alert{Alert: model.Alert{
			Labels: model.LabelSet{"alertname": "AdsyncLaneBehind", "severity": "critical", "media": "tulip",
				"lane": model.LabelValue(lane)},
			// A text that YAML could take for something else.
			Annotations: model.LabelSet{"summary": model.LabelValue(summary),
				"description": "cause: slow\nremedy: [more consumers]",
				"runbook_url": "https://git.example.com/operations.md#adsynclanebehind"},
			StartsAt: now.Add(-time.Hour), EndsAt: now.Add(time.Hour),
		}}
		if ended {
			a.EndsAt = now.Add(-time.Minute)
		}
		return a
	}
	for _, receiver := range conf.Receivers {
		where, known := places[receiver.Name]
		require.True(t, known, receiver.Name)
		var notifier notify.Notifier
		switch {
		case len(receiver.WechatConfigs) == 1:
			c := receiver.WechatConfigs[0]
			require.True(t, c.SendResolved(), receiver.Name)
			address, err := url.Parse(chats.URL + "/")
			require.NoError(t, err)
			c.APIURL, c.APISecretFile = &amcommon.URL{URL: address}, secret
			notifier, err = wechat.New(c, templates, quiet)
			require.NoError(t, err)
		case len(receiver.WebhookConfigs) == 1:
			c := receiver.WebhookConfigs[0]
			require.True(t, c.SendResolved(), receiver.Name)
			require.NotEmpty(t, c.URLFile, "an address with a key in it is a secret")
			c.URLFile = secret
			notifier, err = webhook.New(c, templates, quiet)
			require.NoError(t, err)
		default:
			require.Fail(t, "a receiver with none or several ways", receiver.Name)
		}
		ctx := notify.WithReceiverName(notify.WithGroupKey(context.Background(), "key"), receiver.Name)
		ctx = notify.WithGroupLabels(ctx, model.LabelSet{"alertname": "AdsyncLaneBehind", "media": "tulip"})

		chats.posted = nil
		_, err = notifier.Notify(ctx, newAlert("important", "waits: 7m", false), newAlert("normal", "waits: 2h", false))
		require.NoError(t, err, receiver.Name)
		_, err = notifier.Notify(ctx, newAlert("important", "waits: 7m", true), newAlert("normal", "waits: 2h", true))
		require.NoError(t, err, receiver.Name)
		require.Len(t, chats.posted, 2, receiver.Name)

		text, ok := at(t, chats.posted[0], where.text...).(string)
		require.True(t, ok, "%s: %v", receiver.Name, chats.posted[0])
		for _, want := range []string{"adsync", "CRITICAL", "AdsyncLaneBehind on tulip", "waits: 7m", "waits: 2h",
			"remedy: [more consumers]", "operations.md#adsynclanebehind"} {
			require.Contains(t, text, want, receiver.Name)
		}
		ended, ok := at(t, chats.posted[1], where.text...).(string)
		require.True(t, ok, receiver.Name)
		require.Contains(t, ended, "ended", receiver.Name)
		require.NotContains(t, ended, "What to do", receiver.Name)
		if where.title != nil {
			require.Contains(t, at(t, chats.posted[0], where.title...), "adsync 🔥 CRITICAL", receiver.Name)
			require.Contains(t, at(t, chats.posted[1], where.title...), "adsync ✅ ended", receiver.Name)
		}
		if receiver.Name == "feishu" {
			require.Equal(t, "red", at(t, chats.posted[0], "card", "header", "template"))
			require.Equal(t, "green", at(t, chats.posted[1], "card", "header", "template"))
		}
	}
}
