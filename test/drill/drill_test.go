// Package drill injects the faults that an operator meets into a running deployment, and fixes them by following the
// boards, the first page and the API.
package drill

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/money"
	"adsync/base/redis/redistest"
	"adsync/base/store/storetest"
	"adsync/client"
	"adsync/test/compose"
	"adsync/test/rig"
)

const (
	root = "../.."
	// patience is how long anything may take, of what takes two minutes at most: what waits for a login looks again
	// every two minutes.
	patience = 4 * time.Minute
)

// ground is the deployment of the drill.
type ground struct {
	*compose.Deployment
	t    *testing.T
	page *http.Client
}

func setup(t *testing.T) *ground {
	t.Helper()
	o := compose.Options{
		Root: root, Dir: t.TempDir(), Name: "drill-" + strings.ToLower(rand.Text()[:8]), Accounts: 40, Say: t.Logf,
		Kafka: os.Getenv("ADSYNC_TEST_KAFKA"), MySQL: os.Getenv(storetest.ServerEnv), Redis: os.Getenv(redistest.Env),
		Prometheus: os.Getenv("PROMETHEUS"),
		// Figures that are updated each minute come sooner; the summaries may take this long.
		Environ: map[string]string{"ADSYNC_PRODUCER_FIGURES_INTERVAL": "5s", "ADSYNC_PRODUCER_RELOAD_INTERVAL": "5s"},
		Hurry:   map[string]string{"adsync_summary_oldest_change_seconds > 600": "adsync_summary_oldest_change_seconds > 65"},
	}
	if o.Kafka == "" || o.MySQL == "" || o.Redis == "" || o.Prometheus == "" {
		t.Skip("a drill needs Kafka, a MySQL, Redis and Prometheus: make drill")
	}
	var err error
	o.Program, err = rig.Build(t.Context(), o.Dir, "timetzdata")
	require.NoError(t, err)
	d, err := compose.Up(t.Context(), o)
	t.Cleanup(func() {
		require.NoError(t, d.Close())
		if logs, _ := filepath.Glob(o.Dir + "/*.log"); t.Failed() {
			for _, log := range logs {
				text, _ := os.ReadFile(log)
				t.Logf("%s:\n%s", filepath.Base(log), text[max(0, len(text)-500):])
			}
		}
	})
	require.NoError(t, err)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &ground{Deployment: d, t: t, page: &http.Client{Jar: jar, Timeout: 15 * time.Second}}
}

// eventually waits for a condition; its last error is part of the failure.
func (g *ground) eventually(what string, is func(context.Context) (bool, error)) {
	g.t.Helper()
	began := time.Now()
	var last error // that is of what is waited for, and not of the waiting's end
	err := rig.Await(g.t.Context(), patience, what, func(ctx context.Context) (bool, error) {
		if err := g.Alive(); err != nil {
			return false, err
		}
		ok, err := is(ctx)
		if ctx.Err() == nil {
			last = err
		}
		return ok, err
	})
	require.NoError(g.t, err, "%v", last)
	g.t.Logf("after %3.0f s: %s", time.Since(began).Seconds(), what)
}

// adsync runs a command as an operator does, and returns its output.
func (g *ground) adsync(command string) string {
	g.t.Helper()
	words := strings.Fields(command)
	require.Equal(g.t, "adsync", words[0], command)
	output, err := g.Adsync(g.t.Context(), words[1:]...)
	require.NoError(g.t, err)
	g.t.Logf("$ %s\n%s", command, output)
	return output
}

func (g *ground) platform(method, path string, order, into any) {
	g.t.Helper()
	require.NoError(g.t, g.Ask(g.t.Context(), method, g.World+"/_sim/"+path, order, into))
}

// order orders a run by the API and does not wait for it.
func (g *ground) order(task string, order client.OrderRequest) {
	g.t.Helper()
	_, _, err := g.API().OrderRun(g.t.Context(), task, order)
	require.NoError(g.t, err)
}

func (g *ground) config(statement string, args ...any) {
	g.t.Helper()
	result, err := g.Config.ExecContext(g.t.Context(), statement, args...)
	require.NoError(g.t, err)
	n, err := result.RowsAffected()
	require.NoError(g.t, err)
	require.Positive(g.t, n, statement)
}

// attention returns the items of a kind that the API reports for a platform.
func (g *ground) attention(ctx context.Context, kind, media string) ([]client.Attention, error) {
	o, err := g.API().GetOverview(ctx)
	if err != nil {
		return nil, err
	}
	if len(o.Troubles) > 0 {
		return nil, fmt.Errorf("the overview has troubles: %v", o.Troubles)
	}
	var found []client.Attention
	for i := range o.Attention {
		if o.Attention[i].Kind == kind && o.Attention[i].Media == media {
			found = append(found, o.Attention[i])
		}
	}
	return found, nil
}

// firstPage returns the text of the first page, without tags.
func (g *ground) firstPage(ctx context.Context) (string, error) {
	form := url.Values{"token": {g.Token}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.Producers[1]+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := g.page.Do(req) // It is sent on to the page.
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the first page answers %s", resp.Status)
	}
	return html.UnescapeString(tags.ReplaceAllString(string(text), "")), nil
}

var tags = regexp.MustCompile(`<[^>]*>`)

// fault is one that is drilled.
type fault struct {
	name        string
	kind, media string // of the attention
	alert       string
	labels      map[string]string // of the alert, in addition to its media
	accounts    func(int64) bool
	cause       string // what the cause must match
	command     string // and the command
	items       int    // how many items report it
}

// isTold waits until the API, the first page and an alert each name cause, accounts, money and remedy, and returns the
// API's item.
func (g *ground) isTold(f fault) []client.Attention {
	g.t.Helper()
	var told []client.Attention
	g.eventually(f.name+": the API tells it", func(ctx context.Context) (bool, error) {
		var err error
		if told, err = g.attention(ctx, f.kind, f.media); err != nil || len(told) < max(f.items, 1) {
			return false, errors.Join(err, fmt.Errorf("%d items", len(told)))
		}
		for i := range told {
			a := &told[i]
			if !regexp.MustCompile(f.cause).MatchString(a.Cause) || !regexp.MustCompile(f.command).MatchString(a.Command) ||
				!f.accounts(a.Accounts) || len(a.Examples) == 0 || a.Remedy == "" || len(a.Money) == 0 {
				return false, fmt.Errorf("it is reported, but not completely: %+v", *a)
			}
		}
		return true, nil
	})
	a := told[0]
	g.t.Logf("%s\n  title    %s\n  cause    %s\n  accounts %d, such as %s\n  money    %v %s\n  remedy   %s\n  command  %s",
		f.name, a.Title, a.Cause, a.Accounts, a.Examples, a.Money, a.MoneyOf, a.Remedy, a.Command)
	g.eventually(f.name+": the first page tells it", func(ctx context.Context) (bool, error) {
		page, err := g.firstPage(ctx)
		if err != nil {
			return false, err
		}
		now, err := g.attention(ctx, f.kind, f.media)
		if err != nil || len(now) == 0 {
			return false, err
		}
		spent := money.Format(now[0].Money[0].Micros, now[0].Money[0].Currency)
		for _, part := range []string{now[0].Title, now[0].Remedy, now[0].Command, spent} {
			if !strings.Contains(page, part) {
				return false, fmt.Errorf("it does not say %q", part)
			}
		}
		return true, nil
	})
	g.eventually(f.name+": "+f.alert+" fires and says how many accounts and how much money",
		func(ctx context.Context) (bool, error) {
			alert, err := g.firing(ctx, f)
			if err != nil || alert == nil {
				return false, err
			}
			if !concerned.MatchString(alert.Annotations["concerned"]) || alert.Annotations["summary"] == "" ||
				alert.Annotations["description"] == "" {
				return false, fmt.Errorf("it says %v", alert.Annotations)
			}
			g.t.Logf("%s\n  %s\n  %s\n  Concerned: %s\n  %s", f.alert, alert.Annotations["summary"],
				alert.Annotations["description"], alert.Annotations["concerned"], alert.Annotations["runbook_url"])
			return true, nil
		})
	return told
}

// concerned matches the number of accounts and the money that an alert names.
var concerned = regexp.MustCompile(`^[1-9]\d* accounts?, (CNY|USD) \d+\.\d\d`)

func (g *ground) firing(ctx context.Context, f fault) (*compose.Alert, error) {
	alerts, err := g.Alerts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range alerts {
		a := &alerts[i]
		same := a.Labels["alertname"] == f.alert && a.Labels["media"] == f.media
		for name, value := range f.labels {
			same = same && a.Labels[name] == value
		}
		if same {
			return a, nil
		}
	}
	return nil, nil
}

// isGone waits until no place still reports the fault.
func (g *ground) isGone(f fault) {
	g.t.Helper()
	g.eventually(f.name+": it is gone", func(ctx context.Context) (bool, error) {
		told, err := g.attention(ctx, f.kind, f.media)
		if err != nil {
			return false, err
		}
		if len(told) > 0 {
			return false, fmt.Errorf("the API tells %+v", told)
		}
		alert, err := g.firing(ctx, f)
		if err != nil {
			return false, err
		}
		if alert != nil {
			return false, fmt.Errorf("it fires: %+v", *alert)
		}
		return true, nil
	})
}
