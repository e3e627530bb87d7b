package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// getOverview tells what the first page shows. It is answered with what is known also while a database is away: troubles says so.
func (a *api) getOverview(c *gin.Context) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	c.JSON(http.StatusOK, a.Overview(c.Request.Context()))
	return nil
}
