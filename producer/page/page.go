// Package page is the first page: the state of the deployment for people with a browser. The server renders it, and it
// refreshes itself.
package page

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/telemetry"
	"adsync/producer/overview"
)

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// New returns the page that shows what get returns.
func New(get func(ctx context.Context) overview.Overview) (httpapi.Page, error) {
	html, err := httpapi.NewHTML(pageTemplate, pageStyle, pageScript, template.FuncMap{"pieces": pieces})
	if err != nil {
		return httpapi.Page{}, fmt.Errorf("make the first page: %w", err)
	}
	version := telemetry.ReadBuild().Version
	return httpapi.Page{Path: "/", Role: httpapi.Viewer, Handler: func(c *gin.Context) error {
		shown := viewOf(get(c.Request.Context()))
		shown.Version, shown.Caller, shown.LogOut = version, httpapi.CallerOf(c).Name, httpapi.HasSession(c)
		return html.Write(c, http.StatusOK, shown)
	}}, nil
}
