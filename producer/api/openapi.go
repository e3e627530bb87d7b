package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/docs"
)

// openAPIRoutes are the description of the routes for programs.
type openAPIRoutes struct{}

func (*openAPIRoutes) routes() []httpapi.Route {
	return []httpapi.Route{{Method: http.MethodGet, Path: "/api/v1/openapi.yaml", Role: httpapi.Viewer, Handler: getOpenAPI}}
}

func getOpenAPI(c *gin.Context) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	c.Data(http.StatusOK, "application/yaml", docs.OpenAPI)
	return nil
}
