package configure

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/summaries"
	"adsync/client"
	"adsync/producer/binding"
)

// GameStore is what Games needs of the store.
type GameStore interface {
	GamesOn(ctx context.Context, on day.Day) ([]summaries.Game, error)
	GameAccounts(ctx context.Context, game string, after int64, limit int) (all []summaries.GameAccount, next int64,
		err error)
}

// Games shows the games, and the accounts whose days belong to them.
type Games struct {
	Store GameStore
	Clock clock.Clock
}

// List answers with all games.
func (g *Games) List(c *gin.Context) (any, error) {
	games, err := g.games(c)
	if err != nil {
		return nil, err
	}
	return client.GameList{Games: games}, nil
}

// Get answers with the accounts of one game.
func (g *Games) Get(c *gin.Context, params *client.GetGameParams) (any, error) {
	after, err := httpapi.IDAfter(params.After)
	if err != nil {
		return nil, err
	}
	games, err := g.games(c)
	if err != nil {
		return nil, err
	}
	code := c.Param("code")
	at := slices.IndexFunc(games, func(one client.Game) bool { return one.Code == code })
	if at < 0 {
		return nil, httpapi.NewProblem(http.StatusNotFound,
			"There is no game %q: want the code of one in the list of games.", code)
	}
	accounts, next, err := g.Store.GameAccounts(c.Request.Context(), code, after, int(params.Limit))
	if err != nil {
		return nil, err
	}
	shown := make([]client.GameAccount, len(accounts))
	for i := range accounts {
		of, b := accounts[i].Account, binding.Describe([]summaries.Binding{accounts[i].Binding})[0]
		shown[i] = client.GameAccount{Media: of.Media, ExternalID: of.ExternalID, Name: of.Name, Bound: of.Bound, OS: b.OS,
			From: b.From, To: b.To}
	}
	return client.GameDetail{Game: games[at], Accounts: shown, Next: idOrNone(next)}, nil
}

func (g *Games) games(c *gin.Context) ([]client.Game, error) {
	games, err := g.Store.GamesOn(c.Request.Context(), day.Of(g.Clock.Now(), time.UTC))
	if err != nil {
		return nil, err
	}
	shown := make([]client.Game, len(games))
	for i, one := range games {
		shown[i] = client.Game{Code: one.Code, Name: one.Name, Accounts: int64(one.Accounts)}
	}
	return shown, nil
}

// idOrNone writes an id as a text; 0 is empty.
func idOrNone(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
