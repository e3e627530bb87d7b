package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/day"
	"adsync/base/store"
)

// loginJSON is a login that reaches an account.
type loginJSON struct {
	ID     string `json:"id"`
	AppID  string `json:"app_id"`
	Login  string `json:"login"`
	Name   string `json:"name,omitempty"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Chosen is the one to pull with while it can be used, InUse the one that the account is pulled with.
	Chosen bool `json:"chosen,omitempty"`
	InUse  bool `json:"in_use,omitempty"`
	// Gone tells that the login's last list lacked the account.
	Gone   bool      `json:"gone,omitempty"`
	SeenAt time.Time `json:"seen_at"`
}

// bindingJSON says to what an account belongs on some days, both included.
type bindingJSON struct {
	From day.Day `json:"from"`
	To   day.Day `json:"to,omitempty"` // left out for one without an end
	Game string  `json:"game"`
	OS   string  `json:"os"`
}

func (a *api) getAccount(c *gin.Context) error {
	_, account, err := a.account(c)
	if err != nil {
		return err
	}
	if _, err := queryOf(c); err != nil {
		return err
	}
	logins, err := a.Store.AccountLogins(c.Request.Context(), account.ID)
	if err != nil {
		return err
	}
	bindings, err := a.Store.AccountBindings(c.Request.Context(), account.ID)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, gin.H{"account": describeAccount(account), "logins": describeLogins(logins), "bindings": describeBindings(bindings)})
	return nil
}

func describeLogins(logins []store.AccountLogin) []loginJSON {
	shown := make([]loginJSON, len(logins))
	for i := range logins {
		l := &logins[i]
		shown[i] = loginJSON{
			ID: formatID(l.ID), AppID: l.AppID, Login: l.Login.Login, Name: l.Name, State: l.State, Reason: l.StateReason,
			Chosen: l.Chosen, InUse: l.InUse, Gone: l.Gone, SeenAt: l.SeenAt,
		}
	}
	return shown
}

func describeBindings(bindings []store.Binding) []bindingJSON {
	shown := make([]bindingJSON, len(bindings))
	for i, b := range bindings {
		shown[i] = bindingJSON{From: b.From, To: b.To, Game: b.Game, OS: b.OS}
		if b.To == store.LastDay {
			shown[i].To = ""
		}
	}
	return shown
}
