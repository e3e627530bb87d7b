package api

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/secret"
	"adsync/base/store/settings"
	"adsync/media/oauth"
	"adsync/producer/login"
)

const callbackStyle = `body{font:16px/1.5 sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}` +
	`code,pre{background:#eee;padding:.1rem .3rem}td,th{text-align:left;padding-right:1.5rem}`

// callbackPage is the page for the person who has authorised a login. It shows no secrets.
var callbackPage = mustPage(httpapi.NewHTML(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>adsync: {{.Title}}</title>
<style>{{style}}</style>
</head><body>
<h1>{{.Title}}</h1>
{{if .Problem}}<p>{{.Problem}}</p>{{else}}
<p>{{.Media}} has given access to <b>{{.Name}}</b>, which reaches {{.Total}} accounts. {{.Note}}</p>
<table><tr><th>account</th><th>name</th><th></th></tr>
{{range .Accounts}}<tr><td>{{.ExternalID}}</td><td>{{.Name}}</td>`+
	`<td>{{if .Bound}}pulled{{else}}not pulled{{end}}</td></tr>
{{end}}</table>
{{if .More}}<p>and {{.More}} more.</p>{{end}}
<p>A new account is not pulled until it is bound to a game:</p>
<pre>adsync bind {{.Media}} --app-id {{.AppID}} --login {{.Login}} --accounts all --game CODE --os ios</pre>
<p>This binds all accounts that have no game yet. To bind only some, name them: <code>--accounts ID,ID</code>.</p>
{{end}}<p>You can close this page.</p>
</body></html>
`, callbackStyle, "", nil))

func mustPage(page *httpapi.HTML, err error) *httpapi.HTML {
	if err != nil {
		panic(err) // The template is part of the program.
	}
	return page
}

type callbackView struct {
	Title, Problem, Media, AppID, Login, Name, Note string
	Accounts                                        []settings.LoginAccount
	Total, More                                     int
}

// oauthRoutes serve the callback of authorisations.
type oauthRoutes struct {
	flows map[string]*oauth.Flow // by the names of their platforms
}

// oauthCallback serves the address to which a platform sends the browser of a person who has authorised a login. It
// needs no API token: the state identifies the authorisation.
func (a *oauthRoutes) oauthCallback(c *gin.Context) error {
	media := c.Param("media")
	flow, ok := a.flows[media]
	if !ok {
		return callbackProblem(c, http.StatusNotFound, "There is no media with this name.")
	}
	query := c.Request.URL.Query()
	for _, name := range []string{"state", flow.CodeParameter()} {
		if len(query[name]) > 1 {
			return callbackProblem(c, http.StatusBadRequest, "The address has "+name+
				" twice, so one of the two is not from the platform. Open the address that adsync bind printed again.")
		}
	}
	state, code := secret.NewText(query.Get("state")), flow.Code(query)
	switch {
	case state.IsZero():
		return callbackProblem(c, http.StatusBadRequest,
			"The address has no state: open the address that adsync bind prints instead.")
	case code.IsZero():
		return callbackProblem(c, http.StatusBadRequest,
			"The platform has sent no code: the authorisation was refused or not completed. To try again, open the address "+
				"that adsync bind printed.")
	}
	found, err := flow.Complete(c.Request.Context(), state, code)
	if refusal, ok := errors.AsType[*oauth.Refusal](err); ok {
		return callbackProblem(c, login.Status(refusal.Kind), refusal.Text)
	}
	if err != nil {
		return err
	}
	view := callbackView{
		Title: "Authorised", Media: media, AppID: found.AppID, Login: found.Login, Name: found.Name, Note: found.Note,
		Accounts: found.Accounts, Total: len(found.Accounts),
	}
	if view.Name == "" {
		view.Name = found.Login
	}
	if view.More = view.Total - login.AccountsMax; view.More > 0 {
		view.Accounts = view.Accounts[:login.AccountsMax]
	} else {
		view.More = 0
	}
	return callbackPage.Write(c, http.StatusOK, view)
}

func callbackProblem(c *gin.Context, status int, problem string) error {
	return callbackPage.Write(c, status, callbackView{Title: "Not authorised", Problem: problem})
}
