package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/docs"
)

func getOpenAPI(c *gin.Context) error {
	if err := httpapi.ReadQuery(c, nil, &none{}); err != nil {
		return err
	}
	c.Data(http.StatusOK, "application/yaml", docs.OpenAPI)
	return nil
}
