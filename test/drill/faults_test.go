package drill

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/client"
	"adsync/test/compose"
)

const (
	tencent     = "tencent"
	oceanengine = "oceanengine"
)

// spender is an account that spends today and spent yesterday.
type spender struct {
	id           int64
	external     string
	game, system string
	zone         *time.Location
}

// spenders are accounts of Tencent that spend, in China's time, those that spend most first.
func (g *ground) spenders() []spender {
	g.t.Helper()
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(g.t, err)
	today := day.Of(time.Now(), zone)
	rows, err := g.Data.QueryContext(g.t.Context(),
		"SELECT y.account_id FROM report_daily y JOIN report_daily t ON t.account_id = y.account_id AND t.level = "+
			"'account' AND t.day = ? AND t.cost > 0"+
			" WHERE y.media = 'tencent' AND y.level = 'account' AND y.day = ? AND y.cost > 0 AND y.currency = 'CNY' ORDER BY "+
			"y.cost DESC", today.String(), today.Add(-1).String())
	require.NoError(g.t, err)
	defer rows.Close()
	var all []spender
	for rows.Next() {
		s := spender{zone: zone}
		require.NoError(g.t, rows.Scan(&s.id))
		all = append(all, s)
	}
	require.NoError(g.t, rows.Err())
	for i := range all {
		s := &all[i]
		require.NoError(g.t, g.Config.QueryRowContext(g.t.Context(),
			"SELECT a.external_id, b.game, b.os FROM media_account a JOIN account_binding b ON b.account_id = a.id WHERE a.id "+
				"= ?", s.id).Scan(&s.external, &s.game, &s.system))
	}
	return all
}

// bindAll gives each account a game that has none: the simulated world leaves some without.
func (g *ground) bindAll() {
	g.t.Helper()
	rows, err := g.Config.QueryContext(g.t.Context(),
		"SELECT media, external_id FROM media_account a WHERE NOT EXISTS (SELECT 1 FROM account_binding b WHERE "+
			"b.account_id = a.id)")
	require.NoError(g.t, err)
	defer rows.Close()
	var bare []string
	for rows.Next() {
		var media, external string
		require.NoError(g.t, rows.Scan(&media, &external))
		bare = append(bare, media+"/"+external)
	}
	require.NoError(g.t, rows.Err())
	for _, account := range bare {
		_, err := g.Adsync(g.t.Context(), "bind", "account", account, "--game", "starfall", "--os", "ios")
		require.NoError(g.t, err)
	}
}

func one(n int64) bool { return n == 1 }

func some(n int64) bool { return n > 1 }

// authorise follows `adsync bind … --wait`: a person opens the printed address, agrees, and is redirected to the
// producer.
func (g *ground) authorise(command string) {
	g.t.Helper()
	command = strings.Replace(command, "https://HOST", g.Producers[0], 1)
	cmd := exec.CommandContext(g.t.Context(), g.Program, strings.Fields(command)[1:]...)
	cmd.Env = compose.List(g.Environment())
	out, err := cmd.StdoutPipe()
	require.NoError(g.t, err)
	var failure strings.Builder
	cmd.Stderr = &failure
	require.NoError(g.t, cmd.Start())
	said, opened := "", false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if address := page.FindString(lines.Text()); address != "" && !opened {
			opened = true
			req, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, address, http.NoBody)
			require.NoError(g.t, err)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(g.t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			require.NoError(g.t, resp.Body.Close())
			require.Equal(g.t, http.StatusOK, resp.StatusCode)
		}
	}
	require.NoError(g.t, cmd.Wait(), "%s\n%s%s", command, said, failure.String())
	g.t.Logf("$ %s\n%s", command, said)
}

// page returns the address at which a person authorises a login.
var page = regexp.MustCompile(`http://\S+/audit/oauth\.html\S*`)

// TestDrill injects six faults. It checks that the API, the first page and an alert report each, follows the remedy,
// and checks that the fault is gone, also in the figures.
func TestDrill(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.bindAll()
	g.eventually("the figures of today and yesterday are there", func(ctx context.Context) (bool, error) {
		err := g.Pull(ctx)
		return err == nil, err
	})
	all := g.spenders()
	require.Greater(t, len(all), 4)
	revoked, suspect, ended, mistyped := all[0], all[1], all[2], all[3]
	yesterday := day.Of(time.Now(), suspect.zone).Add(-1).String()

	token := fault{name: "a dead token", kind: "login", media: oceanengine, alert: "AdsyncLoginDead", accounts: some,
		cause:   `.`,
		command: `^adsync bind oceanengine --app-id \d+ --redirect-uri https://HOST/oauth/oceanengine/callback --wait$`}
	account := fault{name: "a revoked account", kind: "parked", media: tencent, alert: "AdsyncAccountsParked",
		labels: map[string]string{"parked": "revoked"}, accounts: one, cause: `12201|permission`,
		command: `^adsync accounts list --media tencent --state parked$`}
	slow := fault{name: "a slow endpoint", kind: "slow", media: tencent, alert: "AdsyncEndpointSlow",
		labels: map[string]string{"endpoint": "funds/get"}, accounts: some,
		cause: `calls? of the last minutes took (8|9|1\d)\.\d s`, command: `.`}
	without := fault{name: "a binding that ended", kind: "unassigned", media: tencent, alert: "AdsyncSpendUnassigned",
		accounts: one, cause: `no binding`, command: `^adsync bind account tencent/ID --game GAME --os OS$`}
	wrong := fault{name: "a binding to a game that is none", kind: "unknown_game", media: tencent,
		alert: "AdsyncSpendUnassigned", accounts: one, cause: `starfal\b`,
		command: `^adsync bind account tencent/ID --game GAME --os OS --correct$`}
	doubtful := fault{name: "a suspect day", kind: "suspect", media: tencent, alert: "AdsyncSuspectDays", accounts: one,
		cause: `.`, items: 2, command: `^adsync tasks run tencent\.report_(daily|hourly)\.account --accounts ID --from ` +
			yesterday + ` --to ` + yesterday + ` --confirm$`}
	stuck := fault{name: "a stuck summary", kind: "summary", media: tencent, alert: "AdsyncSummaryStuck", accounts: some,
		cause: `switched off`, command: `^adsync tasks enable system\.summary$`}
	for _, f := range []fault{token, account, slow, without, wrong, doubtful, stuck} {
		told, err := g.attention(t.Context(), f.kind, f.media)
		require.NoError(t, err)
		require.Empty(t, told, "%s is reported before its fault", f.name)
	}

	g.platform(http.MethodPost, "faults", map[string]any{"kind": "token_death", "media": oceanengine, "token": "pair"},
		nil)
	g.order("oceanengine.report_hourly.account", client.OrderRequest{Scope: "all"})
	g.platform(http.MethodPost, "accounts", map[string]any{"media": tencent, "account": revoked.external,
		"state": "revoked"}, nil)
	g.order("tencent.report_hourly.account", client.OrderRequest{Accounts: []string{revoked.external}})
	var latency struct{ ID string }
	g.platform(http.MethodPost, "faults", map[string]any{"kind": "latency", "ms": 9500, "media": tencent,
		"endpoint": "funds/get"}, &latency)
	g.order("tencent.balance", client.OrderRequest{Scope: "all"})
	g.config("UPDATE account_binding SET to_day = ? WHERE account_id = ?", yesterday, ended.id)
	g.config("UPDATE account_binding SET game = 'starfal' WHERE account_id = ?", mistyped.id)
	g.platform(http.MethodPost, "truth/correct", map[string]any{"media": tencent, "account": suspect.external,
		"from": yesterday, "to": yesterday, "percent": -100}, nil)
	for _, report := range []string{"daily", "hourly"} {
		g.order("tencent.report_"+report+".account", client.OrderRequest{Accounts: []string{suspect.external},
			From: yesterday, To: yesterday})
	}

	login := g.isTold(token)[0]
	g.isTold(account)
	g.isTold(slow)
	days := g.isTold(doubtful)
	g.isTold(wrong)
	g.isTold(without)

	g.authorise(login.Command)
	g.adsync("adsync tasks run oceanengine.probe --all --wait")

	require.Contains(t, g.adsync("adsync accounts list --media tencent --state parked"), revoked.external)
	// Its owner shares it again.
	g.platform(http.MethodPost, "accounts", map[string]any{"media": tencent, "account": revoked.external, "state": "open"},
		nil)
	g.config("UPDATE media_account SET parked_until = UTC_TIMESTAMP(3) WHERE parked LIKE 'revoked:%'")
	g.adsync("adsync tasks run tencent.probe --all --wait")

	g.roomFor(tencent)
	g.platform(http.MethodDelete, "faults/"+latency.ID, nil, nil) // The platform fixes it.

	for _, a := range days { // The platform is right: a person has checked.
		g.adsync(strings.Replace(a.Command, "--accounts ID", "--accounts "+suspect.external, 1) + " --wait")
	}
	g.adsync(fmt.Sprintf("adsync bind account tencent/%s --game %s --os %s", ended.external, ended.game, ended.system))
	g.adsync(fmt.Sprintf("adsync bind account tencent/%s --game %s --os %s --correct", mistyped.external, mistyped.game,
		mistyped.system))

	for _, f := range []fault{account, doubtful, wrong, without, token} {
		g.isGone(f)
	}
	// The revoked account's subtasks have waited for it, and continue automatically. None died.
	g.eventually("what waited for the account is done", func(ctx context.Context) (bool, error) {
		var waiting int
		err := g.Data.QueryRowContext(ctx,
			"SELECT COUNT(*) FROM subtask_due WHERE account_id = ? AND waits_for LIKE 'account:%'", revoked.id).Scan(&waiting)
		return waiting == 0, err
	})
	dead, err := g.attention(t.Context(), "dead", tencent)
	require.NoError(t, err)
	require.Empty(t, dead)

	g.config("UPDATE cron_task SET enabled = 0 WHERE name = 'system.summary'")
	g.eventually("the summaries rest", func(ctx context.Context) (bool, error) {
		task, err := g.API().GetTask(ctx, "system.summary")
		return err == nil && !task.Enabled, err
	})
	today := day.Of(time.Now(), suspect.zone).String()
	for _, s := range all[:4] { // Figures move every three minutes: these do now.
		g.platform(http.MethodPost, "truth/correct", map[string]any{"media": tencent, "account": s.external, "from": today,
			"to": today, "percent": 5}, nil)
	}
	g.order("tencent.report_hourly.account", client.OrderRequest{Scope: "all"})
	g.adsync(g.isTold(stuck)[0].Command)
	g.isGone(stuck)
	g.isGone(slow)
	g.eventually("all accounts are pulled again", g.Whole)

	// The fixed faults are gone in the figures too.
	_, err = g.Freeze(t.Context(), true)
	require.NoError(t, err)
	require.NoError(t, g.Pull(t.Context()))
	g.adsync("adsync tasks run system.summary --all --wait")
	var figures []compose.Figure
	g.eventually("boards, first page, tables and platforms tell the same", func(ctx context.Context) (bool, error) {
		found, err := g.Figures(ctx)
		if err != nil {
			return false, err
		}
		figures = found
		for _, f := range figures {
			if !f.Agrees() {
				return false, fmt.Errorf("they differ:\n%s", compose.Text(figures))
			}
		}
		return true, nil
	})
	t.Logf("\n%s", compose.Text(figures))
}

// roomFor gives the lanes of a platform twice the slots while it lasts, and waits until consumers have them.
func (g *ground) roomFor(media string) {
	g.t.Helper()
	slots := func(ctx context.Context) (int64, error) {
		answer, err := g.API().ListConsumers(ctx)
		sum := int64(0)
		for _, c := range answer.Consumers {
			for _, p := range c.Pools {
				if p.Media == media {
					sum += p.Capacity
				}
			}
		}
		return sum, err
	}
	before, err := slots(g.t.Context())
	require.NoError(g.t, err)
	g.config("UPDATE lane SET pool_size = 2 * pool_size WHERE name = 'normal'")
	g.eventually("consumers have more slots", func(ctx context.Context) (bool, error) {
		now, err := slots(ctx)
		return now > before, err
	})
}
