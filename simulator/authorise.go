package simulator

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"

	"adsync/simulator/world"
)

// authorisePage is the page on which a person chooses one of several logins.
var authorisePage = template.Must(template.New("authorise").Parse(`<!doctype html>
<meta charset="utf-8"><title>{{.Media}}, simulated</title>
<h1>{{.Media}}, simulated</h1>
{{if .Problem}}<p>{{.Problem}}</p>{{else}}
<p>The app {{.App}} requests the accounts of one of your logins. Which one agrees?</p>
<ul>{{range .Logins}}<li><a href="{{.Address}}">{{.Name}}</a> ({{.Accounts}} accounts)</li>{{end}}</ul>{{end}}
`))

type authoriseView struct {
	Media, App, Problem string
	Logins              []authoriseLogin
}

type authoriseLogin struct {
	Name     string
	Address  template.URL
	Accounts int
}

// serveAuthorise is the consent page. An app's only login agrees at once. Of several, one is chosen on the page, or
// by our own parameter login. It redirects the browser with a code and the state.
func (s *Simulator) serveAuthorise(w http.ResponseWriter, r *http.Request, p *world.Spec) {
	q := r.URL.Query()
	view := authoriseView{Media: p.Name, App: q.Get(p.AppParam)}
	refuse := func(problem string) {
		view.Problem = problem
		s.showAuthorise(w, http.StatusBadRequest, view)
	}
	app, known := s.sim.World.AppByID(p, view.App)
	redirect := cmp.Or(p.RedirectParam, "redirect_uri")
	target, err := url.Parse(q.Get(redirect))
	switch {
	case r.Method != http.MethodGet:
		refuse("This page takes GET.")
		return
	case !known:
		refuse("Unknown app: check " + p.AppParam + ".")
		return
	case err != nil || !target.IsAbs() || target.Host == "":
		refuse(redirect + " is not a URL.")
		return
	}
	var chosen *world.Login
	for _, l := range s.sim.Vault.Logins {
		if l.Platform != p || l.App() != app {
			continue
		}
		if q.Get("login") == l.Name() {
			chosen = l
		}
		with := r.URL.Query()
		with.Set("login", l.Name())
		address := template.URL("?" + with.Encode()) //nolint:gosec // The query is encoded.
		view.Logins = append(view.Logins, authoriseLogin{Name: l.Name(), Address: address, Accounts: l.Last - l.First})
		if chosen == nil && q.Get("login") == "" && s.sim.World.LoginsOf(p, app) == 1 {
			chosen = l
		}
	}
	if chosen == nil {
		s.showAuthorise(w, http.StatusOK, view)
		return
	}
	now := s.sim.Clock.Now().Unix()
	code, err := s.sim.Vault.Authorise(chosen, q.Get(redirect), now)
	if err != nil {
		s.sim.Logger.Error("cannot save a code", "err", err)
		refuse("The code cannot be saved.")
		return
	}
	back := target.Query()
	back.Set(p.CodeParam, code)
	back.Set("state", q.Get("state"))
	if p.Callback != nil {
		p.Callback(s.sim.World, chosen, now, back)
	}
	target.RawQuery = back.Encode()
	//nolint:gosec // The platforms redirect to the address of the app, and so must this.
	http.Redirect(w, r, target.String(), http.StatusFound)
}

func (s *Simulator) showAuthorise(w http.ResponseWriter, status int, view authoriseView) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if err := authorisePage.Execute(w, view); err != nil {
		s.sim.Logger.Debug("page not sent completely", "err", err)
	}
}
