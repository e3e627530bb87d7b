package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/client"
)

const boundTo = "/api/v1/accounts/tulip/9001/bindings"

// addFigures writes an account's daily figures: its cost in whole yuan, by day.
func (b *bench) addFigures(account int64, costs map[string]int64) {
	b.t.Helper()
	db := b.store.Data.Writer(b.t.Context())
	for day, cost := range costs {
		require.NoError(b.t,
			db.Exec(
				"INSERT INTO coverage (account_id, report, level, day, media, state) VALUES (?, 'report_daily', 'account', ?, "+
					"'tulip', 'complete')",
				account, day).Error)
		require.NoError(b.t,
			db.Exec(
				"INSERT INTO report_daily (day, account_id, level, object_id, media, currency, day_zone, cost, version, "+
					"updated_at)"+
					" VALUES (?, ?, 'account', '', 'tulip', 'CNY', 'Asia/Shanghai', ?, 1, '2026-11-21')", day, account,
				cost*1_000_000).Error)
	}
}

// setupBind adds an account with figures of three days that has no binding and is not pulled.
func setupBind(t *testing.T) *bench {
	t.Helper()
	b := setup(t, daily())
	account := b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET bound = 0").Error)
	b.addFigures(account, map[string]int64{"2026-11-18": 1, "2026-11-19": 2, "2026-11-20": 4})
	return b
}

func (b *bench) rebinding(method, path, body string) (r client.Rebinding) {
	b.t.Helper()
	w := b.call(method, path, body, adminToken)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body.String())
	decode(b.t, w.Body.String(), &r)
	return r
}

// sum returns the sums of a move of days in one currency.
func sum(days int64, first, last string, yuan int64) []client.DaySum {
	return []client.DaySum{{Currency: "CNY", Days: days, First: first, Last: last,
		Figures: map[string]int64{"cost": yuan * 1_000_000}}}
}

func TestBind_ADryRunShowsTheMovesAndTheOrderMakesThem(t *testing.T) {
	t.Parallel()
	b := setupBind(t)
	const order = `"game": "chess", "game_name": "Chess", "os": "ios"`
	whole := client.Rebinding{
		DryRun: true, Media: "tulip", ExternalID: "9001", Before: []client.Binding{},
		After: []client.Binding{{From: "2000-01-01", Game: "chess", OS: "ios"}}, Pulled: true,
		Moves: []client.BindingMove{{From: "2000-01-01", NewGame: "chess", NewOS: "ios",
			Sums: sum(3, "2026-11-18", "2026-11-20", 7)}},
	}
	require.Equal(t, whole, b.rebinding(http.MethodPost, boundTo, `{`+order+`, "dry_run": true}`))
	require.Empty(t, b.auditText(), "a dry run writes nothing")
	require.Equal(t, []int{0, 1}, []int{b.count(b.store.Config, "account_binding"), b.count(b.store.Config, "game")})
	require.Equal(t, 1, b.count(b.store.Config, "media_account WHERE bound = 0"))

	whole.DryRun = false
	require.Equal(t, whole, b.rebinding(http.MethodPost, boundTo, `{`+order+`}`))
	require.Equal(t, []string{
		`ada game.put game/chess  > {"name":"Chess"}`,
		`ada account.rebind account_binding/tulip/9001/2000-01-01  > {"media":"tulip","external_id":"9001",` +
			`"from_day":"2000-01-01","to_day":"9999-12-31","game":"chess","os":"ios"}`,
		`ada account.bind media_account/tulip/9001 {"bound":0} > {"bound":1}`,
	}, b.auditText())
	again := b.rebinding(http.MethodPost, boundTo, `{"game": "chess", "os": "ios", "from": "2026-11-18"}`)
	require.Empty(t, again.Moves, "nothing changes")
	require.Len(t, b.auditText(), 3)

	move := b.rebinding(http.MethodPost, boundTo,
		`{"game": "unassigned", "os": "pc", "from": "2026-11-19", "to": "2026-11-19"}`)
	require.Equal(t, []client.BindingMove{
		{From: "2026-11-19", To: "2026-11-19", OldGame: "chess", OldOS: "ios", NewGame: "unassigned", NewOS: "pc",
			Sums: sum(1, "2026-11-19", "2026-11-19", 2)},
	}, move.Moves)
	var shown client.AccountBindings
	decode(t, b.get(boundTo), &shown)
	require.Equal(t, client.AccountBindings{Media: "tulip", ExternalID: "9001", Bindings: []client.BoundDays{
		{From: "2000-01-01", To: "2026-11-18", Game: "chess", OS: "ios", Sums: sum(1, "2026-11-18", "2026-11-18", 1)},
		{From: "2026-11-19", To: "2026-11-19", Game: "unassigned", OS: "pc", Sums: sum(1, "2026-11-19", "2026-11-19", 2)},
		{From: "2026-11-20", Game: "chess", OS: "ios", Sums: sum(1, "2026-11-20", "2026-11-20", 4)},
	}}, shown)
}

func TestUnbind_ADryRunShowsTheMoves(t *testing.T) {
	t.Parallel()
	b := setupBind(t)
	b.rebinding(http.MethodPost, boundTo, `{"game": "chess", "game_name": "Chess", "os": "ios"}`)
	log := b.auditText()
	moves := []client.BindingMove{{From: "2026-11-20", OldGame: "chess", OldOS: "ios",
		Sums: sum(1, "2026-11-20", "2026-11-20", 4)}}
	plan := b.rebinding(http.MethodDelete, boundTo+"?from=2026-11-20&dry_run=true", "")
	require.True(t, plan.DryRun)
	require.False(t, plan.Pulled)
	require.Equal(t, moves, plan.Moves)
	require.Equal(t, log, b.auditText(), "a dry run writes nothing")
	done := b.rebinding(http.MethodDelete, boundTo+"?from=2026-11-20&dry_run=false", "")
	require.Equal(t, moves, done.Moves)
	require.Equal(t, []string{
		`ada account.unbind media_account/tulip/9001 {"bound":1} > {"bound":0}`,
		`ada account.rebind account_binding/tulip/9001/2000-01-01 {"to_day":"9999-12-31"} > {"to_day":"2026-11-19"}`,
	}, b.auditText()[len(log):])
}

func TestBind_ChoosesTheLogin(t *testing.T) {
	t.Parallel()
	b := setupBind(t)
	db := b.store.Config.Writer(t.Context())
	for i, login := range []string{"one", "two"} {
		require.NoError(t,
			db.Exec(
				"INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at, "+
					"refresh_expires_at) VALUES"+
					" (?, 'tulip', '1', ?, '', '', '2026-12-01', '2026-12-01')", i+1, login).Error)
		require.NoError(t,
			db.Exec("INSERT INTO account_login (account_id, token_id, chosen, gone, seen_at) VALUES (?, ?, ?, 0, '2026-11-21')",
				1, i+1, i == 0).Error)
	}
	require.Equal(t,
		[]fieldError{{Field: "login", Detail: `"three" is refused: want one of those that reach the account: one, two`}},
		b.refused(http.MethodPost, boundTo, `{"login": "three"}`))
	require.False(t, b.rebinding(http.MethodPost, boundTo, `{"login": "two", "dry_run": true}`).Pulled,
		"choosing a login does not bind the account")
	require.Empty(t, b.auditText())
	require.Equal(t, "two", b.rebinding(http.MethodPost, boundTo, `{"login": "two"}`).Login)
	require.Equal(t, []string{`ada account.choose_login media_account/tulip/9001  > {"login":"two"}`}, b.auditText())
	require.Equal(t, 1, b.count(b.store.Config, "media_account WHERE token_id = 2"))
	b.rebinding(http.MethodPost, boundTo, `{"login": "two"}`)
	require.Len(t, b.auditText(), 1, "nothing changes")
	require.True(t, b.rebinding(http.MethodPost, boundTo, `{}`).Pulled)
	require.Equal(t, 1, b.count(b.store.Config, "media_account WHERE bound = 1"))
}

func TestBind_RefusesWrongFields(t *testing.T) {
	t.Parallel()
	b := setupBind(t)
	for body, want := range map[string]fieldError{
		`{"game": "chess", "os": "ios"}`: {Field: "game",
			Detail: `"chess" is refused: want one of unassigned, or a new one with its name in game_name`},
		`{"game": "chess"}`: {Field: "os", Detail: "want ios, android or pc: game and os go together"},
		`{"os": "ios"}`: {Field: "game",
			Detail: "want the code of a game: an os, a name and days need one"},
		`{"from": "2026-11-20"}`: {Field: "game",
			Detail: "want the code of a game: an os, a name and days need one"},
		`{"game": "unassigned", "os": "iOS"}`: {Field: "os", Detail: `"iOS" is refused: want one of ios, android, pc`},
		`{"game": "unassigned ", "os": "pc"}`: {Field: "game",
			Detail: `"unassigned " is refused: want up to 64 characters, without blanks around them`},
		`{"game": "unassigned", "os": "pc", "from": "yesterday"}`: {
			Field: "from", Detail: `"yesterday" is refused: want a day such as 2026-11-21`,
		},
		`{"game": "unassigned", "os": "pc", "to": "2026-11-20"}`: {Field: "from",
			Detail: "want the first day in addition to the last one"},
		`{"game": "unassigned", "os": "pc", "from": "2026-11-20", "to": "2026-11-19"}`: {
			Field: "to", Detail: `"2026-11-19" is refused: want 2026-11-20 or later`,
		},
		`{"game": "unassigned", "os": "pc", "from": "2026-11-20", "correct": true}`: {
			Field: "correct", Detail: "want it without from and to: it rewrites the days of the present binding",
		},
		`{"login": "none"}`: {Field: "login", Detail: `"none" is refused: want nothing: no login reaches the account`},
	} {
		got := b.refused(http.MethodPost, boundTo, body)
		require.Len(t, got, 1, "%s: %v", body, got)
		require.Equal(t, want.Field, got[0].Field, body)
		require.Contains(t, got[0].Detail, want.Detail, body)
	}
	for query, field := range map[string]string{"from=yesterday": "from", "dry_run=yes": "dry_run",
		"dry_run=": "dry_run"} {
		require.Equal(t, field, b.refused(http.MethodDelete, boundTo+"?"+query, "")[0].Field)
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		body := map[string]string{http.MethodPost: "{}"}[method]
		require.Equal(t, http.StatusNotFound, b.call(method, "/api/v1/accounts/tulip/9009/bindings", body, adminToken).Code)
	}
	require.Empty(t, b.auditText())
}

func TestGames_ListTheirAccounts(t *testing.T) {
	t.Parallel()
	b := setupBind(t)
	b.rebinding(http.MethodPost, boundTo, `{"game": "chess", "game_name": "Chess", "os": "ios"}`)
	require.JSONEq(t,
		`{"games": [{"code": "chess", "name": "Chess", "accounts": 1},
		  {"code": "unassigned", "name": "accounts without a binding", "accounts": 0}]}`,
		b.get("/api/v1/games"))
	require.JSONEq(t, `{"game": {"code": "chess", "name": "Chess", "accounts": 1}, "next": "",
	  "accounts": [{"media": "tulip", "external_id": "9001", "name": "account 9001", "bound": true, "os": "ios",
	    "from": "2000-01-01"}]}`, b.get("/api/v1/games/chess"))
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, "/api/v1/games/Chess", "", viewerToken).Code)
}
